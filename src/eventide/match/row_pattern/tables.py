"""What the row pattern kernels know of a query, in flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ACCEPT = -1
ACCEPT_AT_END = -2
WORD = 64


class RowTables(NamedTuple):
    """The automaton: states are the positions, then the start, then the start at the first row of a partition."""

    first: npt.NDArray[np.int32]
    """[state + 1]: where its moves begin."""
    move: npt.NDArray[np.int32]
    """Positions, ACCEPT or ACCEPT_AT_END, the preferred move first."""
    bit: npt.NDArray[np.int64]
    """[position]: the bit of the symbol mask that its row must have; 0 when any row will do."""
    program: npt.NDArray[np.int32]
    """[position]: the condition on the match so far, or -1."""
    variable: npt.NDArray[np.int16]
    excluded: npt.NDArray[np.uint8]
    before: npt.NDArray[np.uint64]
    """[position, word]: the states that can move there, as bits."""
    ends: npt.NDArray[np.uint64]
    """[word]: the states in which a match may end anywhere."""
    ends_last: npt.NDArray[np.uint64]
    """[word]: the states in which a match may end behind the last row."""
