"""Files of rows: the bytes of stdout, Parquet that is read back, and nothing where something went wrong."""

import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from kcli.output import files, parquet
from kcli.output.files import IncompleteError, in_batches, new_file, nothing, write_rows
from kcli.rows import row_types
from kcli.rows.declare import values_of
from kcli.rows.remote_metadata import RlmmCommittedOffsetRow, RlmmPartitionRow, RlmmSnapshotRow
from tests.kcli.output.writing import FILE_FORMATS, ROWS, file_view, on_stdout, read_parquet

pytestmark = pytest.mark.slow


STRANGE = [RlmmPartitionRow("\udc80", 1, 2)]
MIXED = [RlmmSnapshotRow("d", "f", 0, 1, 2, 3), RlmmCommittedOffsetRow("d", "f", 4, 5)]
SOME = {"columns": "metadata_partition,topic_id", "sort": "-partition", "limit": 2}


@pytest.mark.parametrize(
    ("rows", "more", "expected"),
    [
        (STRANGE, {}, [("\\udc80", 1, 2)]),
        (MIXED, {"command": "rlmm dump", "only": "rlmm_committed_offset"}, [("d", "f", 4, 5)]),
        (ROWS, SOME, [(28, "topic,4"), (21, "topic,3")]),
        (ROWS, {}, [values_of(row) for row in ROWS]),
        (ROWS, {"headers": False}, [values_of(row) for row in ROWS]),
        ([], {}, []),
    ],
)
def test_every_format_has_the_rows_that_the_view_shows(tmp_path, rows, more, expected):
    for output in FILE_FORMATS:
        view = file_view(output, **more)
        assert write_rows(str(tmp_path / output), iter(rows), view, nothing) == len(expected)
        assert output == "parquet" or (tmp_path / output).read_bytes() == on_stdout(rows, view)
    made = pq.ParquetFile(tmp_path / "parquet")
    assert read_parquet(tmp_path / "parquet") == expected
    assert more or made.schema_arrow.names == list(row_types("rlmm partition")[0].names)
    assert {made.metadata.row_group(n).column(0).compression for n in range(made.num_row_groups)} <= {"ZSTD"}


@pytest.mark.parametrize(
    ("bound", "most", "groups"), [("ROWS_A_GROUP", 40, [40, 40, 20]), ("BYTES_A_GROUP", 1000, [20] * 5)]
)
def test_row_groups_are_bounded(tmp_path, monkeypatch, bound, most, groups):
    monkeypatch.setattr(parquet, bound, most)
    monkeypatch.setattr(files, "ROWS_A_BATCH", 10)
    rows = [RlmmPartitionRow("t" * 50, n, 1) for n in range(100)]
    write_rows(str(tmp_path / "out"), iter(rows), file_view("parquet"), nothing)
    made = pq.ParquetFile(tmp_path / "out").metadata

    assert [made.row_group(n).num_rows for n in range(made.num_row_groups)] == groups
    assert read_parquet(tmp_path / "out") == [values_of(row) for row in rows]


def test_batches_are_bounded_by_rows_and_by_bytes(monkeypatch):
    monkeypatch.setattr(files, "BYTES_A_BATCH", 1000)
    large = [RlmmPartitionRow([{"value": b"x" * 400}], None, None) for _ in range(7)]
    many = [RlmmPartitionRow(1, 2, 3) for _ in range(4001)]

    assert list(map(len, in_batches(large))) == [2, 2, 2, 1]
    monkeypatch.setattr(files, "BYTES_A_BATCH", 1 << 20)
    assert list(map(len, in_batches(many))) == [2000, 2000, 1]
    assert list(in_batches([])) == []


@pytest.mark.parametrize("output", FILE_FORMATS)
@pytest.mark.parametrize("error", [None, IncompleteError, KeyboardInterrupt, OSError])
@pytest.mark.parametrize("where", ["rows", "tail"])
def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path, output, error, where):
    path = tmp_path / "out"
    path.write_text("before")

    def tail():
        if error is not None:
            raise error
        return [], []

    def rows():
        yield from ROWS * 1000
        assert path.read_text() == "before" and len(os.listdir(tmp_path)) == 2
        if where == "rows":
            tail()

    if error is None:
        write_rows(str(path), rows(), file_view(output), tail)
    else:
        with pytest.raises(error):
            write_rows(str(path), rows(), file_view(output), tail)
    assert (path.read_bytes() == b"before") == (error is not None)
    assert os.listdir(tmp_path) == ["out"]


def test_lines_of_text_and_a_name_as_long_as_any(tmp_path):
    def lines(rows):
        return (f"{row.partition}\udcff" for row in rows)

    count = write_rows(str(tmp_path / ("n" * 255)), ROWS, file_view("ndjson"), nothing, lines)

    assert (count, os.listdir(tmp_path)) == (5, ["n" * 255])
    assert (tmp_path / ("n" * 255)).read_text() == "".join(f"{n}\\udcff\n" for n in range(5))
    with new_file(str(tmp_path / "x")) as file:
        file.write(b"x")
    assert (tmp_path / "x").read_bytes() == b"x"


PEAK = """
import resource, sys
from kcli.output.files import nothing, write_rows
from tests.kcli.output.writing import file_view
from kcli.rows.remote_metadata import RlmmPartitionRow
count, output, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rows = (RlmmPartitionRow(f"{n:0100}", n, 1) for n in range(count))
assert write_rows(path, rows, file_view(output), nothing) == count
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.parametrize("output", ["parquet", "ndjson"])
def test_memory_is_flat(tmp_path, output):
    few, many = (
        int(subprocess.check_output([sys.executable, "-c", PEAK, str(count), output, tmp_path / "out"]))
        for count in (50_000, 150_000)
    )
    assert many - few < 24, "MiB more for three times the rows"
