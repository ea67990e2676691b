"""Arrow arrays made of numpy's, from their buffers.

`pyarrow.array` and `pyarrow.scalar` import pandas where it is installed, to know its types: a third of a second and
50 MB for a process that has none of them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from kcli.columns import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Array: TypeAlias = Any
DataType: TypeAlias = Any


def integers(values: "NDArray[np.integer[Any]]", missing: "NDArray[np.bool_] | None" = None) -> Array:
    """Return numbers as int64, null where they are missing."""
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for columns pays for it
    import pyarrow as pa  # noqa: PLC0415

    data = pa.py_buffer(np.ascontiguousarray(values, np.int64))
    present = None if missing is None or not missing.any() else _bits(~missing)
    return pa.Array.from_buffers(pa.int64(), len(values), [present, data])


def booleans(values: "NDArray[np.bool_]") -> Array:
    """Return truth values as bool."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def words(named: Sequence[str], which: "NDArray[np.integer[Any]]") -> Array:
    """Return the words that numbers stand for."""
    return _texts(named).take(integers(which))


def repeated(value: Value, kind: DataType, count: int) -> Array:
    """Return a text, a number or null, `count` times."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    if value is None:
        return pa.nulls(count, kind)
    if isinstance(value, str):
        return words([value], np.zeros(count, np.int64)).cast(kind)
    if type(value) is int:
        return integers(np.full(count, value, np.int64)).cast(kind)
    return pa.repeat(pa.scalar(value, kind), count)


def _texts(named: Sequence[str]) -> Array:
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    encoded = [word.encode() for word in named]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(named), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def _bits(values: "NDArray[np.bool_]") -> Any:
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    return pa.py_buffer(np.packbits(values, bitorder="little"))
