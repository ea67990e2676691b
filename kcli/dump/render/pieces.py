"""Lines made of columns: the pieces that stand side by side in many lines at once, as text.

A column with one value throughout becomes part of the words around it.
"""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPEATS = 4
"""Numbers that occur so often each are looked up."""

Piece: TypeAlias = str | list[str]
"""What stands at one place of every line: the same words, or one text per line."""


def side_by_side(count: int, pieces: list[Piece]) -> str:
    """Return the lines that the pieces make side by side."""
    columns: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and columns and isinstance(columns[-1], str):
            columns[-1] += piece
        else:
            columns.append(piece)
    flat = [""] * (count * len(columns))
    for at, piece in enumerate(columns):
        flat[at :: len(columns)] = [piece] * count if isinstance(piece, str) else piece
    return "".join(flat)


def numerals(column: "NDArray[np.integer]") -> Piece:
    """Return numbers as text."""
    if is_constant(column):
        return str(column[0])
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for bulk pays for it

    least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if (most - least) * REPEATS < len(column):
        # few different ones, sizes mostly: each is made text once
        texts = np.array([str(number) for number in range(least, most + 1)], object)
        found: list[str] = texts[column.astype(np.int64) - least].tolist()
        return found
    return [f"{number}" for number in column.tolist()]


def either(column: "NDArray[np.bool_]", yes: str, no: str) -> Piece:
    """Return one text where a column is true, another where it is not."""
    if is_constant(column):
        return yes if column[0] else no
    return [yes if value else no for value in column.tolist()]


def is_constant(column: "NDArray[np.generic]") -> bool:
    """Whether all of a column, which is not empty, is the same."""
    return bool(len(column)) and bool((column == column[0]).all())
