"""Short ways to write clauses and rows for the tests of the oracle of MATCH_RECOGNIZE."""

from __future__ import annotations

import re

from eventide.language.sql.match_recognize import parse_match_recognize
from eventide_reference import recognize


def parsed(clause):
    return parse_match_recognize(clause, 0, clause)


def run(clause, rows, **options):
    """The result columns and rows of a clause."""
    return recognize(parsed(clause), rows, list(rows[0]), **options)


def result(clause, rows):
    """The result rows of a clause."""
    return run(clause, rows)[1]


def marked(text):
    """One row for each word: `ab` may be mapped to A and to B, `-` to neither; `i` counts the rows."""
    return [{"i": i, **{name: name in word for name in "abc"}} for i, word in enumerate(text.split())]


MARKS = "DEFINE A AS a, B AS b, C AS c"


def defined(pattern):
    """The DEFINE clause for rows of `marked`."""
    names = [name for name in "ABC" if re.search(rf"\b{name}\b", pattern)]
    return "DEFINE " + ", ".join(f"{name} AS {name.lower()}" for name in names) if names else ""


def xs(*values):
    return [{"x": value} for value in values]


def measured(expressions, clause, rows):
    """For each row of the result a list of the values of the expressions."""
    listed = ", ".join(f"{text} AS m{number}" for number, text in enumerate(expressions))
    columns, found = run(f"MEASURES {listed} {clause}", rows)
    return [[row[columns.index(f"m{number}")] for number in range(len(expressions))] for row in found]
