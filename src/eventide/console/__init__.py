"""The command line below its commands: reading what was typed, running, showing.

Loaded by name: `eventide --help` needs none of it, and a command only its part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.loading import load_later

if TYPE_CHECKING:
    from eventide.console.demo import run_demo
    from eventide.console.doctor import examine
    from eventide.console.files import write_table
    from eventide.console.follow.command import SqlInputs, follow_query, follow_sql
    from eventide.console.follow.demo import run_stream_demo
    from eventide.console.follow.options import FollowOptions, refuse_batch_options
    from eventide.console.inputs import Source, UsageMistakeError, as_arguments, load, read_query, split_setting
    from eventide.console.kernels import build_kernels, clean_kernels, list_kernels
    from eventide.console.report import UNEXPECTED, counting, exit_code, say, show_error, show_warning, working
    from eventide.console.results import Output, deliver, show_delivered, show_schema
    from eventide.console.spark import data_errors_named, start_session
    from eventide.console.sql import is_sql, load_tables, refuse_event_options, refuse_sql_options, tables_named

__all__ = [
    "UNEXPECTED",
    "FollowOptions",
    "Output",
    "Source",
    "SqlInputs",
    "UsageMistakeError",
    "as_arguments",
    "build_kernels",
    "clean_kernels",
    "counting",
    "data_errors_named",
    "deliver",
    "examine",
    "exit_code",
    "follow_query",
    "follow_sql",
    "is_sql",
    "list_kernels",
    "load",
    "load_tables",
    "read_query",
    "refuse_batch_options",
    "refuse_event_options",
    "refuse_sql_options",
    "run_demo",
    "run_stream_demo",
    "say",
    "show_delivered",
    "show_error",
    "show_schema",
    "show_warning",
    "split_setting",
    "start_session",
    "tables_named",
    "working",
    "write_table",
]

__getattr__ = load_later(
    __name__,
    {
        "eventide.console.demo": ("run_demo",),
        "eventide.console.doctor": ("examine",),
        "eventide.console.files": ("write_table",),
        "eventide.console.follow.command": ("SqlInputs", "follow_query", "follow_sql"),
        "eventide.console.follow.demo": ("run_stream_demo",),
        "eventide.console.follow.options": ("FollowOptions", "refuse_batch_options"),
        "eventide.console.inputs": ("Source", "UsageMistakeError", "as_arguments", "load", "read_query", "split_setting"),
        "eventide.console.kernels": ("build_kernels", "clean_kernels", "list_kernels"),
        "eventide.console.report": ("UNEXPECTED", "counting", "exit_code", "say", "show_error", "show_warning", "working"),
        "eventide.console.results": ("Output", "deliver", "show_delivered", "show_schema"),
        "eventide.console.spark": ("data_errors_named", "start_session"),
        "eventide.console.sql": ("is_sql", "load_tables", "refuse_event_options", "refuse_sql_options", "tables_named"),
    },
)
