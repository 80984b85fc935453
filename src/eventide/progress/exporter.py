"""Metrics of streams over HTTP, for Prometheus to fetch."""

from __future__ import annotations

import copy
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Self

from pyspark.sql.streaming.listener import StreamingQueryListener

from eventide.errors import EventideError
from eventide.progress.exposition import CONTENT_TYPE, exposition
from eventide.progress.metrics import Watched, families
from eventide.progress.tally import Tally, read_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

DEFAULT_PORT = 9464
PLACE = "/metrics"
# Ended queries are still told about, so that their last numbers can be fetched, but not without end.
ENDED_QUERIES_KEPT = 100


class PrometheusExporter(StreamingQueryListener):
    """Serves the counters and gauges of all queries of a session in the text format of Prometheus.

    A thread of its own answers, on this machine alone unless `host` says otherwise; port 0 takes a free one. The listener only
    notes numbers, so it never keeps a query waiting.

    >>> with PrometheusExporter(port=0) as exporter:
    ...     exporter.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, port: int = DEFAULT_PORT, host: str = "127.0.0.1") -> None:
        self._lock = Lock()
        self._tallies: dict[str, Tally] = {}
        self._names: dict[str, str] = {}
        self._ended: dict[str, None] = {}
        try:
            self._server = _Server((host, port), self.text)
        except (OSError, OverflowError) as error:
            raise EventideError(
                "PORT_NOT_FREE",
                f"The port {port} of {host} cannot be served: {error}.",
                hint="Choose another port; port=0 takes a free one.",
            ) from error
        self._thread = Thread(target=self._server.serve_forever, name="eventide-metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that is served."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Where the metrics are."""
        return f"http://{self._server.server_address[0]!s}:{self.port}{PLACE}"

    def text(self) -> str:
        """Return the metrics as they are now."""
        with self._lock:
            watched = [
                Watched({"query": self._names[query_id], "id": query_id}, copy.deepcopy(tally), query_id not in self._ended)
                for query_id, tally in self._tallies.items()
            ]
        return exposition(families(watched))

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - the name that Spark calls
        """Tell about a query from its start; one that starts again goes on with its counters."""
        query_id = str(event.id)
        with self._lock:
            self._tallies.setdefault(query_id, Tally())
            self._names[query_id] = event.name or ""
            self._ended.pop(query_id, None)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Add what a batch did."""
        batch = read_progress(event.progress)
        with self._lock:
            self._names.setdefault(batch.query_id, batch.query_name or "")
            self._tallies.setdefault(batch.query_id, Tally()).add(batch)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Do nothing: nothing happened."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Note that a query has ended."""
        query_id = str(event.id)
        with self._lock:
            if query_id in self._tallies:
                self._ended[query_id] = None
            while len(self._ended) > ENDED_QUERIES_KEPT:
                oldest = next(iter(self._ended))
                del self._ended[oldest], self._tallies[oldest], self._names[oldest]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], text: Callable[[], str]) -> None:
        self.text = text
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    # A client that sends nothing must not keep a thread for ever.
    timeout = 10

    def do_GET(self) -> None:
        if self.path.partition("?")[0] == PLACE:
            self._answer(HTTPStatus.OK, CONTENT_TYPE, self.server.text())
        elif self.path == "/":
            self._answer(HTTPStatus.OK, "text/plain; charset=utf-8", f"Eventide: the metrics are at {PLACE}\n")
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", f"There is only {PLACE} here.\n")

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, status: HTTPStatus, content_type: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent: the terminal belongs to the user's program."""
