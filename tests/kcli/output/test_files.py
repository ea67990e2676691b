"""Files of rows: the bytes of stdout, Parquet that is read back, and nothing at all where something went
wrong."""

import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from kcli.output import files, parquet
from kcli.output.files import (
    IncompleteError,
    in_batches,
    new_file,
    nothing,
    write_rows,
)
from kcli.rows import row_types
from kcli.rows.declare import values_of
from kcli.rows.remote_metadata import RlmmCommittedOffsetRow, RlmmPartitionRow, RlmmSnapshotRow
from tests.kcli.output.row_files import FAILURE, FINDING, FORMATS, ROWS, on_stdout, read, view_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("output", ["csv", "ndjson"])
@pytest.mark.parametrize("rows", [[], ROWS])
@pytest.mark.parametrize("found", [((), ()), ((FINDING,), ()), ((FINDING,), (FAILURE,))])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"headers": False},
        {"columns": "metadata_partition,topic_id", "sort": "-metadata_partition", "limit": 3},
        {"limit": 0},
    ],
)
def test_the_bytes_are_those_of_stdout(tmp_path, output, rows, found, more):
    view = view_of(output, **more)

    def tail():
        return list(found[0]), list(found[1])

    count = write_rows(str(tmp_path / "out"), iter(rows), view, tail)

    assert (tmp_path / "out").read_bytes() == on_stdout(rows, view, tail)
    assert count == len(rows[: more.get("limit")])
    assert os.listdir(tmp_path) == ["out"]


def test_text_that_is_not_unicode_is_escaped_as_on_stdout(tmp_path):
    strange = [RlmmPartitionRow("\udc80", 1, 2)]
    for output in ("csv", "ndjson"):
        write_rows(str(tmp_path / output), strange, view_of(output), nothing)

        assert (tmp_path / output).read_bytes() == on_stdout(strange, view_of(output))
    write_rows(str(tmp_path / "parquet"), strange, view_of("parquet"), nothing)
    assert read(tmp_path / "parquet") == [("\\udc80", 1, 2)]


def test_only_rows_of_the_type_asked_for(tmp_path):
    rows = [RlmmSnapshotRow("d", "f", 0, 1, 2, 3), RlmmCommittedOffsetRow("d", "f", 4, 5)]
    for output in ("csv", "ndjson"):
        view = view_of(output, "rlmm dump", only="rlmm_committed_offset")
        assert write_rows(str(tmp_path / "out"), rows, view, nothing) == 1
        assert (tmp_path / "out").read_bytes() == on_stdout(rows, view)
    write_rows(
        str(tmp_path / "out"), rows, view_of("parquet", "rlmm dump", only="rlmm_committed_offset"), nothing
    )
    assert read(tmp_path / "out") == [("d", "f", 4, 5)]


@pytest.mark.parametrize("rows", [[], ROWS])
def test_parquet_is_read_back(tmp_path, rows):
    write_rows(str(tmp_path / "out"), iter(rows), view_of("parquet"), nothing)
    made = pq.ParquetFile(tmp_path / "out")

    assert read(tmp_path / "out") == [values_of(row) for row in rows]
    assert made.schema_arrow.names == list(row_types("rlmm partition")[0].names)
    assert {made.metadata.row_group(n).column(0).compression for n in range(made.num_row_groups)} <= {"ZSTD"}


def test_parquet_of_some_columns(tmp_path):
    view = view_of("parquet", columns="metadata_partition,topic_id", sort="-partition", limit=2)

    assert write_rows(str(tmp_path / "out"), iter(ROWS), view, nothing) == 2
    assert read(tmp_path / "out") == [(28, "topic,4"), (21, "topic,3")]


@pytest.mark.parametrize(("bound", "most"), [("ROWS_A_GROUP", 40), ("BYTES_A_GROUP", 1000)])
def test_row_groups_are_bounded(tmp_path, monkeypatch, bound, most):
    monkeypatch.setattr(parquet, bound, most)
    monkeypatch.setattr(files, "ROWS_A_BATCH", 10)
    rows = [RlmmPartitionRow("t" * 50, n, 1) for n in range(100)]
    write_rows(str(tmp_path / "out"), iter(rows), view_of("parquet"), nothing)
    groups = pq.ParquetFile(tmp_path / "out").metadata

    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == {
        40: [40, 40, 20],
        1000: [20] * 5,
    }[most]
    assert read(tmp_path / "out") == [values_of(row) for row in rows]


def test_batches_are_bounded_by_rows_and_by_bytes(monkeypatch):
    monkeypatch.setattr(files, "BYTES_A_BATCH", 1000)
    large = [RlmmPartitionRow([{"value": b"x" * 400}], None, None) for _ in range(7)]
    many = [RlmmPartitionRow(1, 2, 3) for _ in range(4001)]

    assert list(map(len, in_batches(large))) == [2, 2, 2, 1]
    monkeypatch.setattr(files, "BYTES_A_BATCH", 1 << 20)
    assert list(map(len, in_batches(many))) == [2000, 2000, 1]
    assert list(in_batches([])) == []


@pytest.mark.parametrize("output", FORMATS)
def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path, output):
    path = tmp_path / "out"
    path.write_text("before")

    def rows():
        yield from ROWS
        assert path.read_text() == "before"
        assert len(os.listdir(tmp_path)) == 2

    write_rows(str(path), rows(), view_of(output), nothing)

    assert path.read_bytes() != b"before"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("error", [IncompleteError, KeyboardInterrupt, OSError])
@pytest.mark.parametrize("where", ["rows", "tail"])
def test_an_error_leaves_the_old_file_and_no_other(tmp_path, output, error, where):
    path = tmp_path / "out"
    path.write_text("before")

    def fail():
        raise error

    def rows():
        yield from ROWS * 1000
        if where == "rows":
            fail()

    with pytest.raises(error):
        write_rows(str(path), rows(), view_of(output), fail)

    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]


def test_lines_of_text(tmp_path):
    view = view_of("ndjson")
    count = write_rows(
        str(tmp_path / "out"), ROWS, view, nothing, lambda rows: (f"{row.partition}\udcff" for row in rows)
    )

    assert (count, (tmp_path / "out").read_text()) == (5, "".join(f"{n}\\udcff\n" for n in range(5)))


def test_the_name_of_a_file_may_be_as_long_as_any(tmp_path):
    with new_file(str(tmp_path / ("n" * 255))) as file:
        file.write(b"x")

    assert os.listdir(tmp_path) == ["n" * 255]


PEAK = """
import resource, sys
from kcli.output.files import nothing, write_rows
from tests.kcli.output.row_files import view_of
from kcli.rows.remote_metadata import RlmmPartitionRow
count, output, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rows = (RlmmPartitionRow(f"{n:0100}", n, 1) for n in range(count))
assert write_rows(path, rows, view_of(output), nothing) == count
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.parametrize("output", ["parquet", "ndjson"])
def test_memory_is_flat(tmp_path, output):
    peaks = [
        int(
            subprocess.run(
                [sys.executable, "-c", PEAK, str(count), output, tmp_path / "out"],
                capture_output=True,
                check=True,
            ).stdout
        )
        for count in (50_000, 150_000)
    ]

    assert peaks[1] - peaks[0] < 24, "MiB more for three times the rows"
