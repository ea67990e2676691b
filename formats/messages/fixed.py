"""Runs of fields of fixed width in a declared message: one read where a reader has a step for each field."""

import struct
from collections.abc import Iterator, Sequence

from formats.layout import UINT8, struct_of
from formats.messages.declare import Field
from formats.messages.reader import FIXED

ONE_BYTE = 0x80
"""An unsigned varint below it is one byte: as such a run has counts of elements (plus one) and of tags."""


def fixed_run(fields: Sequence[Field], after: str | None = None) -> struct.Struct:
    """Return what reads the fields of a flexible struct from one after a field on, to the next of any width.

    None: from the first field on. A nested struct ends with its count of tags; the count of an array ends the
    run. ValueError without a field of fixed width.
    """
    found: list[str] = []
    is_in_it = after is None
    for name, kind in _parts(fields):
        if is_in_it:
            if kind is None:
                break
            found.append(kind)
        is_in_it = is_in_it or name == after
    if not found:
        raise ValueError(f"no fields of fixed width after {after}")
    return struct_of(found)


def _parts(fields: Sequence[Field]) -> Iterator[tuple[str, str | None]]:
    """Yield the name of each field in order, and its letter; None for one of any width."""
    for field in fields:
        if field.array:
            yield field.name, UINT8
            yield field.name, None
        elif field.struct is not None:
            yield from _parts(field.struct)
            yield field.name, UINT8
        else:
            yield field.name, FIXED[field.type][0] if field.type in FIXED else None
