"""Arrays made of buffers are what pyarrow makes of values, and pandas is left alone."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.rows.arrow_arrays import booleans, column, integers, texts_at
from tests.builders import put_record, put_records
from tests.partitions import segment

pytestmark = pytest.mark.slow

NUMBERS = [0, 1, -1, (1 << 63) - 1, -(1 << 63), *range(60)]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, len(NUMBERS)])
def test_numbers(count):
    values = np.array(NUMBERS[:count], np.int64)
    missing = np.arange(count) % 3 == 1

    assert integers(values) == pa.array(NUMBERS[:count], pa.int64())
    assert integers(values, missing) == pa.array(values, mask=missing)
    assert integers(values, missing).null_count == missing.sum()
    assert integers(values[::2]) == pa.array(NUMBERS[:count:2], pa.int64())
    assert booleans(missing) == pa.array(missing.tolist(), pa.bool_())


def test_words():
    assert texts_at(["none", "", "grün"], np.array([2, 0, 1, 2])) == pa.array(["grün", "none", "", "grün"])
    assert texts_at(["create", "append"], np.array([True, False])) == pa.array(["append", "create"])


NESTED = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
VALUES = {
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(),
    pa.binary(): st.binary(),
    NESTED: st.fixed_dictionaries({"key": st.none() | st.text(), "value": st.none() | st.binary()}),
    pa.struct([pa.field("size", pa.int64(), nullable=False)]): st.fixed_dictionaries(
        {"size": st.integers(0, 9)}
    ),
    pa.list_(NESTED): st.lists(
        st.fixed_dictionaries({"key": st.text(), "value": st.none() | st.binary()}), max_size=3
    ),
    pa.list_(pa.int64()): st.lists(st.none() | st.integers(0, 9), max_size=3),
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
def test_values_of_python(kind, data):
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=12) | st.lists(VALUES[kind], max_size=12))
    found = column(values, kind)

    found.validate(full=True)
    pa.parquet.write_table(pa.table({"column": found}), pa.BufferOutputStream())
    assert (found.type, found.null_count) == (kind, values.count(None))
    assert found.to_pylist() == values
    assert found == pa.array(values, kind)


def test_text_that_is_not_unicode_and_too_large_numbers_are_errors():
    with pytest.raises(OverflowError):
        column([1 << 63], pa.int64())
    with pytest.raises(UnicodeEncodeError):
        column(["\ud800"], pa.string())


WRITTEN = """
import importlib.util, sys
from kcli.__main__ import main
log, *files = sys.argv[1:]
asked = ["--records"], [], ["--records", "--offsets", "0..1"], ["-o", "text", "--print-data-log"]
for file, words in zip(files, asked, strict=True):
    sys.argv = ["kcli", "dump", *words, "--out", file, log]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (words, end.code)
    assert not {name for name in sys.modules if name.split(".")[0] == "pandas"}, words
assert importlib.util.find_spec("pandas")
"""


def test_parquet_and_text_are_written_without_pandas(tmp_path):
    segment(tmp_path / "data" / "orders-0", 0, put_records([put_record(value=b"v")] * 3))
    files = [*(tmp_path / f"{number}.parquet" for number in range(3)), tmp_path / "3.txt"]
    subprocess.run(
        [sys.executable, "-c", WRITTEN, tmp_path / "data" / "orders-0" / f"{0:020}.log", *files], check=True
    )
    assert all(file.stat().st_size for file in files)
