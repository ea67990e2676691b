"""The rows of `dump --layout` as text: a line per 16 bytes, with their field and what they say.

    batch header
    00000061  8  base_offset  00 00 00 00 00 00 00 2a  42  offset of the first record as written

Positions are in decimal, as everywhere in kcli; `+` before one says that it counts in the decompressed
records. Lines that repeat the bytes of the line before are one `*`.
"""

import os
from collections.abc import Iterable, Iterator

from kcli.output.values import one_line
from kcli.rows import Item
from kcli.rows.dump import DumpFileRow, DumpLayoutRow

BYTES_PER_LINE = 16
POSITION = 8
SIZE = 6
FIELD = 24
HEX = 3 * BYTES_PER_LINE - 1
NOT_SHOWN = ".."
REPEATED = "*"
CHUNK = 1 << 16


def layout_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of rows of `dump --layout`: files and structures where they change, and fields.

    Of a file without a layout its name, what it is and its size.
    """
    source = structure = None
    for row in rows:
        assert isinstance(row, (DumpLayoutRow, DumpFileRow))
        if row.source != source:
            if source is not None:
                yield ""
            source, structure = row.source, None
            yield one_line(os.path.join(source.where.dir, source.file))
        if isinstance(row, DumpFileRow):
            yield one_line(row.kind if row.size_bytes is None else f"{row.kind}  {row.size_bytes}")
            continue
        if row.structure != structure:
            structure = row.structure
            yield one_line(structure)
        yield from _field(row)


def _field(row: DumpLayoutRow) -> Iterator[str]:
    start, sign = (row.stream_position or 0, "+") if row.position is None else (row.position, "")
    data = row.bytes or b""
    words = "" if data and _is_hex_of(row.value, data) else row.value
    last = (len(data) - 1) // BYTES_PER_LINE
    chunks = _hex(data) if data else iter([NOT_SHOWN if row.bytes is None else ""])
    before = next(chunks)
    yield _line(f"{sign}{start:0{POSITION}d}", str(row.size), row.field, before, words, row.meaning)
    repeated = False
    for number, chunk in enumerate(chunks, 1):
        if before == chunk and number < last:
            if not repeated:
                yield REPEATED
            repeated = True
            continue
        repeated, before = False, chunk
        yield _line(f"{sign}{start + number * BYTES_PER_LINE:0{POSITION}d}", "", "", chunk, None, None)


def _hex(data: bytes) -> Iterator[str]:
    return (data[at : at + BYTES_PER_LINE].hex(" ") for at in range(0, len(data), BYTES_PER_LINE))


def _is_hex_of(value: str | None, data: bytes) -> bool:
    """Whether a value says no more than the bytes beside it do."""
    if value is None or len(value) != 2 + 2 * len(data) or not value.startswith("0x"):
        return False
    return all(value.startswith(data[at : at + CHUNK].hex(), 2 + 2 * at) for at in range(0, len(data), CHUNK))


def _line(  # noqa: PLR0917
    position: str, size: str, field: str, chunk: str, value: str | None, meaning: str | None
) -> str:
    start = f"{position:>{POSITION + 1}}  {size:>{SIZE}}  {one_line(field):<{FIELD}}  {chunk:<{HEX}}"
    return "  ".join([start, *(one_line(word) for word in (value, meaning) if word)]).rstrip()


__all__ = ["layout_lines"]
