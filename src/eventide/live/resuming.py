"""A stream goes on from its dump, in another process or another year."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.api import Query, pushed_events, query
from eventide.errors import BindError, DataError
from eventide.opening.queries import ONLY
from eventide.query_sets import Queries, queries
from eventide.runtime.streams.live.saved import QUERIES, QUERY, STATEMENT, Saved
from eventide.statements import Statement, statement

if TYPE_CHECKING:
    from eventide.runtime.streams.live.saved import Recipe
    from eventide.runtime.streams.live.stream import Live

OF_KINDS = {QUERY: Query, QUERIES: Queries, STATEMENT: Statement}


def resume(state: bytes, asked: Query | Queries | Statement | None = None, /) -> Live:
    """Go on from what `live.dump` returned, with the queries and the settings that the stream was opened with.

    A query that is given may differ from that of the dump where the state stays valid: in the names, the order and the choice of
    the columns it shows, of those that the state holds. Any other change is refused, and named.

    >>> pairs = query("SELECT a.ts AS a, b.ts AS b WHERE A AS a ; B AS b WITHIN 9")
    >>> live = pairs.open({"ts": int, "kind": str}, time="ts", type="kind")
    >>> _ = live.push([{"ts": 1, "kind": "A"}])
    >>> resume(live.dump(), pairs).push([{"ts": 2, "kind": "B"}]).to_pylist()
    [{'a': 1, 'b': 2}]
    """
    saved = Saved.unpack(state)
    recipe = saved.recipe
    if asked is None:
        asked = _read_again(recipe)
    _refuse_others(asked, recipe)
    live = _opened(asked, recipe)
    live.go_on_from(saved)
    return live


def _read_again(recipe: Recipe) -> Query | Queries | Statement:
    for name, (text, _) in recipe.texts.items():
        if not text:
            raise BindError(
                "QUERY_NOT_WRITTEN",
                f"The query {name} was built in Python, and no language can write it.",
                hint="Give it: et.resume(state, q).",
            )
    if recipe.kind == STATEMENT:
        return statement(recipe.texts[ONLY][0])
    read = {name: query(text, language) for name, (text, language) in recipe.texts.items()}
    return queries(read) if recipe.kind == QUERIES else read[ONLY]


def _refuse_others(asked: Query | Queries | Statement, recipe: Recipe) -> None:
    """Refuse a dump of other queries than those given."""
    if type(asked) is not OF_KINDS[recipe.kind]:
        raise _changed(f"it belongs to {OF_KINDS[recipe.kind].__name__}, and {type(asked).__name__} was given")
    names = list(asked.by_name) if isinstance(asked, Queries) else [ONLY]
    if set(names) != set(recipe.names):
        raise _changed(f"its queries are {', '.join(recipe.names)}, those given {', '.join(names)}")


def _changed(what: str) -> DataError:
    return DataError(
        "QUERY_CHANGED",
        f"The state was written by another query: {what}.",
        hint="Give the query that the state belongs to, or open a stream anew.",
    )


def _opened(asked: Query | Queries | Statement, recipe: Recipe) -> Live:
    """Open the stream as it was opened before."""
    settings = {name: value for name, value in recipe.settings.items() if not (name == "timeouts" and recipe.kind == QUERIES)}
    if isinstance(asked, Statement):
        return asked.open(**recipe.schemas, **settings)
    if isinstance(asked, Queries):
        settings.pop("matcher")
    given: dict[str, Any] = {
        name: pushed_events(name, schema, **recipe.roles[name]) for name, schema in recipe.schemas.items()
    }
    if len(given) > 1:
        return asked.open(**given, **settings)
    [only] = given.values()
    return asked.open(only, **settings)
