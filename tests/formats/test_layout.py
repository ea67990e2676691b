"""Every Layout of the package is one truth: Construct, the readers derived from it and numpy agree."""

import importlib
import pkgutil
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from construct import StreamError
from hypothesis import given
from hypothesis import strategies as st

import formats
from formats.errors import TruncatedError
from formats.layout import INT32, Layout
from tests.formats.recorded import batches
from tests.seeds import examples

BITS = {"b": 8, "h": 16, "i": 32, "l": 32, "q": 64}


def discovered():
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(formats.__path__, "formats.")
    ]
    found = {
        id(value): (f"{module.__name__}.{name}", value)
        for module in reversed(modules)
        for name, value in vars(module).items()
        if isinstance(value, Layout)
    }
    return dict(sorted(found.values()))


LAYOUTS = discovered()


def values(field):
    bits = BITS.get(field.letter.lower())
    if bits is None:
        return st.binary(min_size=field.size, max_size=field.size)
    return (
        st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        if field.letter.islower()
        else st.integers(0, (1 << bits) - 1)
    )


def rows(layout):
    return st.tuples(*[values(field) for field in layout.fields]).map(lambda row: layout.row(*row))


def test_the_known_layouts_are_found():
    assert {"formats.batch.BATCH", "formats.legacy.MESSAGE_V1", "formats.control.CONTROL_KEY"} <= set(LAYOUTS)


@pytest.mark.parametrize("name", LAYOUTS)
@examples(25)
@given(data=st.data())
def test_twins(name, data):
    layout = LAYOUTS[name]
    row = data.draw(rows(layout))
    names = [field.name for field in layout.fields]
    packed = layout.pack(row)
    assert len(packed) == layout.size == layout.declaration.sizeof()
    assert layout.declaration.build(dict(zip(names, row, strict=True))) == packed
    assert layout.read(b"???" + packed + b"!", 3) == row
    assert list(layout.rows(packed * 2 + packed[:-1])) == [row, row]
    parsed = layout.declaration.parse(packed)
    array = np.frombuffer(packed, layout.dtype)
    assert layout.dtype.itemsize == layout.size
    for field, value in zip(layout.fields, row, strict=True):
        start, end = layout.span(field.name)
        assert (start, end) == (field.offset, field.offset + field.size)
        assert parsed[field.name] == value
        assert array[field.name].tobytes() == packed[start:end]
        assert array[field.name].tolist() == [value]
        assert layout.column(b"??" + packed, field.name).tolist()[2:] == [value]
        assert layout.column(packed[:-1], field.name).tolist() == []
    expected = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    partial = layout.only(*expected)
    assert partial.size == max(layout.span(field)[1] for field in expected)
    assert partial.unpack_from(packed) == tuple(
        value for field, value in zip(names, row, strict=True) if field in expected
    )


@pytest.mark.parametrize("name", LAYOUTS)
def test_short_buffers_are_truncated_for_both_readers(name):
    layout = LAYOUTS[name]
    whole = bytes(layout.size)
    for size in range(layout.size):
        with pytest.raises(TruncatedError) as caught:
            layout.read(b"??" + whole[:size], 2)
        assert (caught.value.position, caught.value.field, caught.value.found) == (2, layout.name, size)
        with pytest.raises(StreamError):
            layout.declaration.parse(whole[:size])
    with pytest.raises(TruncatedError):
        layout.read(whole, -1)
    with pytest.raises(TruncatedError):
        layout.read(whole, layout.size + 5)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_field_says_what_it_is(name):
    assert [field.name for field in LAYOUTS[name].fields if not field.doc] == []


def test_real_headers_read_the_same_four_ways():
    layout = LAYOUTS["formats.batch.BATCH"]
    for _, batch in batches("txn.log"):
        row = layout.read(batch)
        assert layout.pack(row) == batch[: layout.size]
        assert tuple(layout.declaration.parse(batch)[field.name] for field in layout.fields) == tuple(row)
        assert np.frombuffer(batch, layout.dtype, 1)[0].item() == tuple(row)


class TwoFields(NamedTuple):
    a: Annotated[int, INT32, "a number"]
    b: Annotated[bytes, "2s"]


def test_a_field_without_a_width_cannot_be_laid_out():
    assert [(field.offset, field.size, field.doc) for field in Layout(TwoFields, "two").fields] == [
        (0, 4, "a number"),
        (4, 2, ""),
    ]
    for annotation in (int, Annotated[int, 4]):
        with pytest.raises(TypeError, match="b: no fixed layout"):
            Layout(NamedTuple("Wrong", [("a", Annotated[int, INT32]), ("b", annotation)]), "wrong")


def test_unknown_names_are_refused():
    layout = Layout(TwoFields, "two fields")
    with pytest.raises(KeyError):
        layout.only("c")
    with pytest.raises(KeyError):
        layout.span("c")
