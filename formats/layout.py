"""One declaration, many readers.

A row of fixed-width fields is a `NamedTuple` whose annotations say how each field lies in bytes:

    class OffsetIndexEntry(NamedTuple):
        relative_offset: Annotated[RelativeOffset, INT32, "last offset less the base offset"]

A `Layout` derives every reader from it: a checked single read, whole-file rows, partial readers that skip the
unwanted fields as pad bytes, a numpy dtype, `pack`, the field table for documents, the fields with their
places for annotated hexdumps, and the Construct `Struct` that tests hold all of them against.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from formats.errors import TruncatedError
from formats.types import Buffer

R = TypeVar("R", bound=tuple[Any, ...])

INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64 = "b", "B", "h", "H", "i", "I", "q", "d"
"""Fixed-width types, big-endian, by their letters for `struct`; `16s` is that many bytes."""


class FixedField(NamedTuple):
    """One fixed-width field: where it lies and what it means."""

    name: str
    letter: str
    offset: int
    size: int
    doc: str


class FieldSpan(NamedTuple):
    """One field as it lies: first byte, byte after the last, what Kafka reads there, and what it means."""

    structure: str
    field: str
    start: int
    end: int
    value: Any
    doc: str = ""


def struct_of(letters: Iterable[str]) -> struct.Struct:
    """Return a `struct.Struct` over fields that follow one another."""
    return struct.Struct(">" + "".join(letters))


def fixed_fields(row: Callable[..., Any]) -> tuple[FixedField, ...]:
    """Return the fields that a row declares; TypeError for one without a fixed width."""
    fields: list[FixedField] = []
    offset = 0
    for name, annotation in row.__annotations__.items():
        letter, doc = (*getattr(annotation, "__metadata__", ()), None, "")[:2]
        if not isinstance(letter, str):
            raise TypeError(f"{name}: no fixed layout")
        size = struct.calcsize(f">{letter}")
        fields.append(FixedField(name, letter, offset, size, doc or ""))
        offset += size
    return tuple(fields)


class Layout(Generic[R]):
    """Readers and a writer derived from the row that declares the fields."""

    def __init__(self, row: Callable[..., R], name: str) -> None:
        self.row = row
        self.name = name
        self.fields = fixed_fields(row)
        self._struct = struct_of(field.letter for field in self.fields)
        self.size: int = self._struct.size

    @cached_property
    def declaration(self) -> Any:
        """The fields as a Construct `Struct`, for whoever reads with Construct: it is slow to import."""
        from construct import Bytes, FormatField, Renamed, Struct

        def reader(letter: str, size: int) -> Any:
            if letter.endswith("s"):
                return Bytes(size)
            return FormatField(">", {INT32: "l", UINT32: "L"}.get(letter, letter))  # Construct's letters

        return Struct(*(Renamed(reader(f.letter, f.size), f.name, f.doc) for f in self.fields))

    def read(self, buffer: Buffer, position: int = 0) -> R:
        """Return the row at `position`; TruncatedError if the buffer ends inside it."""
        return self.row(*self.values(buffer, position))

    def values(self, buffer: Buffer, position: int = 0) -> tuple[Any, ...]:
        """Return the values of the row at `position`, without their names; errors as `read`."""
        remaining_bytes = len(buffer) - position
        if remaining_bytes < self.size or position < 0:
            raise TruncatedError(position, self.name, f"{self.size} bytes", max(remaining_bytes, 0))
        return self._struct.unpack_from(buffer, position)

    def parts(self, buffer: Buffer, position: int = 0, structure: str = "") -> tuple[FieldSpan, ...]:
        """Return every field of the row at `position` with its place, without gaps; errors as `read`."""
        values: Any = self.read(buffer, position)
        owner = structure or self.name
        starts = (position + field.offset for field in self.fields)
        return tuple(
            FieldSpan(owner, field.name, start, start + field.size, value, field.doc)
            for field, start, value in zip(self.fields, starts, values, strict=True)
        )

    def rows(self, buffer: Buffer) -> Iterator[R]:
        """Yield every whole row of the buffer; the remainder is `len(buffer) % size`, never hidden."""
        whole_size = len(buffer) - len(buffer) % self.size
        for values in self.all_values(memoryview(buffer)[:whole_size]):
            yield self.row(*values)

    def all_values(self, buffer: Buffer) -> Iterator[tuple[Any, ...]]:
        """Return the values of every row of a buffer of whole rows, without their names."""
        return self._struct.iter_unpack(buffer)

    def only(self, *names: str) -> struct.Struct:
        """Return a `struct.Struct` over the named fields, others as pad bytes, up to the last of them."""
        unknown = set(names) - {field.name for field in self.fields}
        if unknown:
            raise KeyError(f"{self.name} has no {sorted(unknown)}")
        letters, skip = ">", 0
        for field in self.fields:
            if field.name in names:
                letters += (f"{skip}x" if skip else "") + field.letter
                skip = 0
            else:
                skip += field.size
        return struct.Struct(letters)

    def pack(self, row: R) -> bytes:
        """Return the bytes of a row: the inverse of `read`."""
        return self._struct.pack(*row)

    def span(self, name: str) -> tuple[int, int]:
        """Return (first byte, byte after the last) of a field inside the structure."""
        for field in self.fields:
            if field.name == name:
                return field.offset, field.offset + field.size
        raise KeyError(f"{self.name} has no {name}")

    @cached_property
    def dtype(self) -> Any:
        """The numpy dtype of a row (numpy is imported here, not before)."""
        import numpy as np

        return np.dtype(
            [(f.name, f"V{f.size}" if f.letter.endswith("s") else f">{f.letter}") for f in self.fields]
        )

    def column(self, buffer: Buffer, name: str) -> Any:
        """Return a numpy view of one field: element n is of a row that begins at byte n of the buffer."""
        import numpy as np

        start, _ = self.span(name)
        return np.ndarray((max(len(buffer) - self.size + 1, 0),), self.dtype[name], buffer, start, (1,))
