"""The table driver: prepared rows go through a stage to the end, on every engine and for every kind of pattern."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.plan.plan import Plan
from eventide.records import record
from eventide.runtime.stage.expecting import expectation, first_rows, may_explode
from eventide.runtime.waiting import waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from eventide.runtime.prepare.preparation import Finish, Preparation
    from eventide.runtime.relational.adapter import Adapter, Relation
    from eventide.runtime.stage.assembly import TableStage


@record
class TableWork:
    """The run of a plan over the rows of a table."""

    engine: Adapter
    rows: Relation
    preparation: Preparation
    stage: Callable[[pa.Schema], TableStage]
    """The stage of each task, given the columns of the prepared rows."""
    finishing: Finish

    def prepare(self) -> Relation:
        """Return the prepared rows."""
        with waiting("Eventide prepares the events"):
            return self.preparation.of(self.engine, self.rows)

    def match(self, prepared: Relation) -> Relation:
        """Return what the stage makes of the prepared rows."""
        # Tasks that see a part of the events each would choose differently.
        stage = replace(self.stage(self.engine.schema(prepared)), sampled=self.engine.in_process)
        with waiting("Eventide looks for matches"):
            return self.engine.through(prepared, stage.run, stage.schema)

    def finish(self, found: Relation) -> Relation:
        """Return the rows of the result."""
        with waiting("Eventide puts the matches together"):
            return self.finishing.of(self.engine, found)

    def expectation(self) -> str | None:
        """Return how many matches the first events let expect, where they are many and one process sees them."""
        stage = self.stage(self.engine.schema(prepared := self.prepare()))
        if not self.engine.in_process or not isinstance(stage.plan, Plan) or not may_explode(stage.plan):
            return None
        first = self.engine.result(self.engine.through(prepared, first_rows, stage.prepared))
        return expectation(stage.plan, stage.layout, first)

    def explained(self) -> str:
        """Return the engine's plan: of Prepare alone where matching would run at once."""
        prepared = self.prepare()
        return self.engine.explained(prepared if self.engine.in_process else self.finish(self.match(prepared)))
