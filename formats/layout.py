"""One Construct declaration, many readers.

A `Layout` walks a Construct `Struct` of fixed-width fields once, binds it to the `NamedTuple` that says the
same names to the type checker, and derives every reader from it: a checked single read, whole-file rows,
partial readers that skip the unwanted fields as pad bytes, a numpy dtype, `pack`, the field table for
documents, and the fields with their places for annotated hexdumps. Only this module knows Construct's inside.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from construct import Bytes, FormatField, Renamed, Struct

from formats.errors import TruncatedError
from formats.types import Buffer

R = TypeVar("R", bound=tuple[Any, ...])


class FixedField(NamedTuple):
    """One fixed-width field: where it lies and what it means."""

    name: str
    letter: str
    offset: int
    size: int
    doc: str


class FieldSpan(NamedTuple):
    """One field as it lies in bytes.

    First byte, byte after the last, what Kafka reads there, and what it means.
    """

    structure: str
    field: str
    start: int
    end: int
    value: Any
    doc: str = ""


def struct_of(fields: Iterable[FixedField]) -> struct.Struct:
    """Return a `struct.Struct` over fields that follow one another."""
    return struct.Struct(">" + "".join(field.letter for field in fields))


def fixed_fields(declaration: Struct) -> tuple[FixedField, ...]:
    """Return the fields of a declaration; TypeError unless all have a fixed width."""
    found: list[FixedField] = []
    offset = 0
    for subcon in declaration.subcons:
        name, doc, core = subcon.name, "", subcon
        while isinstance(core, Renamed):
            doc = doc or str(core.docs or "").strip()
            core = core.subcon
        if isinstance(core, FormatField):
            if core.fmtstr[0] != ">":
                raise TypeError(f"{name}: Kafka's integers are big-endian")
            letter, size = core.fmtstr[1:], core.length
        elif isinstance(core, Bytes) and isinstance(core.length, int):
            letter, size = f"{core.length}s", core.length
        else:
            raise TypeError(f"{name}: no fixed layout")
        found.append(FixedField(str(name), letter, offset, size, doc))
        offset += size
    return tuple(found)


class Layout(Generic[R]):
    """Readers and a writer derived from one declaration; refuses to exist if names differ."""

    def __init__(self, declaration: Struct, row: Callable[..., R], name: str) -> None:
        self.declaration = declaration
        self.row = row
        self.name = name
        self.fields = fixed_fields(declaration)
        names = tuple(field.name for field in self.fields)
        if names != getattr(row, "_fields", None):
            raise TypeError(f"{name}: the declaration says {names}, the row {getattr(row, '_fields', None)}")
        self._struct = struct_of(self.fields)
        self.size: int = self._struct.size
        if self.size != declaration.sizeof():
            raise TypeError(f"{name}: {self.size} bytes derived, {declaration.sizeof()} declared")
        self._dtype: Any = None

    def read(self, buffer: Buffer, position: int = 0) -> R:
        """Return the row at `position`; TruncatedError if the buffer ends inside it."""
        return self.row(*self.values(buffer, position))

    def values(self, buffer: Buffer, position: int = 0) -> tuple[Any, ...]:
        """Return the values of the row at `position`, without their names; errors as `read`."""
        left = len(buffer) - position
        if left < self.size or position < 0:
            raise TruncatedError(position, self.name, f"{self.size} bytes", max(left, 0))
        return self._struct.unpack_from(buffer, position)

    def parts(self, buffer: Buffer, position: int = 0, structure: str = "") -> tuple[FieldSpan, ...]:
        """Return every field of the row at `position` with its place, in order and without gaps.

        Errors as `read`.
        """
        values: Any = self.read(buffer, position)
        return tuple(
            FieldSpan(
                structure or self.name,
                field.name,
                position + field.offset,
                position + field.offset + field.size,
                value,
                field.doc,
            )
            for field, value in zip(self.fields, values, strict=True)
        )

    def rows(self, buffer: Buffer) -> Iterator[R]:
        """Yield every whole row of the buffer; the remainder is `len(buffer) % size`, never hidden."""
        whole = len(buffer) - len(buffer) % self.size
        for values in self.all_values(memoryview(buffer)[:whole]):
            yield self.row(*values)

    def all_values(self, buffer: Buffer) -> Iterator[tuple[Any, ...]]:
        """Return the values of every row of a buffer of whole rows, without their names."""
        return self._struct.iter_unpack(buffer)

    def only(self, *names: str) -> struct.Struct:
        """Return a `struct.Struct` over the named fields alone, in file order, the rest skipped as pad bytes.

        It ends at the last named field: `unpack_from` needs no bytes beyond it.
        """
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

    def dtype(self) -> Any:
        """Return the numpy dtype of a row (numpy is imported here, not before)."""
        if self._dtype is not None:
            return self._dtype
        import numpy as np

        kinds = {
            "b": ">i1",
            "B": ">u1",
            "h": ">i2",
            "H": ">u2",
            "i": ">i4",
            "I": ">u4",
            "l": ">i4",
            "L": ">u4",
            "q": ">i8",
            "Q": ">u8",
        }
        self._dtype = np.dtype([(f.name, kinds.get(f.letter, f"V{f.size}")) for f in self.fields])
        return self._dtype

    def column(self, buffer: Buffer, name: str) -> Any:
        """Return a numpy view of one field.

        Element n is that of a row which begins at byte n of the buffer.
        """
        import numpy as np

        start, _ = self.span(name)
        return np.ndarray((max(len(buffer) - self.size + 1, 0),), self.dtype()[name], buffer, start, (1,))
