"""Directories of parts: their names and order, directories by type, and nothing where something failed."""

import os
import pickle
from pathlib import Path

import pytest

from kcli.output import parts
from kcli.output.files import IncompleteError, nothing
from kcli.output.parts import Parts, keep_parts, new_directory
from kcli.rows.declare import values_of
from kcli.rows.remote_metadata import RlmmCommittedOffsetRow, RlmmSnapshotRow
from tests.kcli.output.row_files import FAILURE, FINDING, FORMATS, ROWS, on_stdout, read, view_of

pytestmark = pytest.mark.slow


def written(parts, *groups):
    """Return the receipts of parts, one for each group of rows."""
    receipts = []
    for rows in groups:
        with parts() as part:
            for row in rows:
                part.write([row])
        receipts.append(part.receipt and part.receipt[0])
    return receipts


@pytest.mark.parametrize("output", FORMATS)
def test_parts_become_a_directory_in_their_order(tmp_path, output):
    path = tmp_path / "out"
    with new_directory(str(path)) as hidden:
        parts = pickle.loads(pickle.dumps(Parts(hidden, view_of(output))))
        receipts = written(parts, ROWS[:2], [], ROWS[2:])
        assert receipts[1] is None
        again = written(parts, ROWS[:2])  # an attempt that does not count
        assert len({receipt.path for receipt in receipts + again if receipt}) == 3
        count = keep_parts(str(path), parts, [receipts[0], receipts[2]], nothing)

    names = sorted(os.listdir(path))
    assert count == 5
    assert [name[:11] for name in names] == ["_SUCCESS", "part-00000-", "part-00001-"]
    assert {name.rpartition(".")[2] for name in names[1:]} == {output}
    assert os.listdir(tmp_path) == ["out"]
    if output == "parquet":
        assert [row for name in names[1:] for row in read(path / name)] == [values_of(row) for row in ROWS]
    else:
        assert [(path / name).read_bytes() for name in names[1:]] == [
            on_stdout(rows, view_of(output)) for rows in (ROWS[:2], ROWS[2:])
        ]


def test_names_of_many_parts_sort_in_the_order_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "DIGITS", 1)
    with new_directory(str(tmp_path / "out")) as hidden:
        sink = Parts(hidden, view_of("csv"))
        keep_parts(str(tmp_path / "out"), sink, written(sink, *(ROWS[:1] for _ in range(12))), nothing)

    numbers = [
        name.split("-")[1] for name in sorted(os.listdir(tmp_path / "out")) if name.startswith("part-")
    ]
    assert numbers == [f"{number:02}" for number in range(12)]


@pytest.mark.parametrize("output", FORMATS)
def test_an_attempt_that_fails_leaves_no_part(tmp_path, output):
    def attempt():
        with Parts(str(tmp_path), view_of(output))() as part:
            part.write(ROWS)
            assert len(os.listdir(tmp_path)) == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        attempt()

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("output", FORMATS)
def test_no_rows_are_one_empty_part(tmp_path, output):
    path = tmp_path / "out"
    with new_directory(str(path)) as hidden:
        assert keep_parts(str(path), Parts(hidden, view_of(output)), [], nothing) == 0
    (name,) = set(os.listdir(path)) - {"_SUCCESS"}

    if output == "parquet":
        assert read(path / name) == []
    else:
        assert (path / name).read_bytes() == on_stdout([], view_of(output))


def test_findings_and_errors_of_ndjson_are_the_last_part(tmp_path):
    path = tmp_path / "out"
    view = view_of("ndjson")

    def tail():
        return [FINDING], [FAILURE]

    with new_directory(str(path)) as hidden:
        parts = Parts(hidden, view)
        keep_parts(str(path), parts, written(parts, ROWS), tail)

    assert b"".join(part.read_bytes() for part in sorted(path.glob("part-*"))) == on_stdout(ROWS, view, tail)


def test_a_missing_part_is_an_error_and_no_directory_is_kept(tmp_path):
    path = str(tmp_path / "out")

    def attempt():
        with new_directory(path) as hidden:
            parts = Parts(hidden, view_of("csv"))
            receipts = written(parts, ROWS)
            os.unlink(os.path.join(hidden, receipts[0].path))
            keep_parts(path, parts, receipts, nothing)

    with pytest.raises(FileNotFoundError, match="are not there"):
        attempt()

    assert os.listdir(tmp_path) == []


def test_an_incomplete_directory_is_gone(tmp_path):
    path = str(tmp_path / "out")

    def tail():
        raise IncompleteError

    def attempt():
        with new_directory(path) as hidden:
            parts = Parts(hidden, view_of("csv"))
            keep_parts(path, parts, written(parts, ROWS), tail)

    with pytest.raises(IncompleteError):
        attempt()

    assert os.listdir(tmp_path) == []


def tree(path):
    """Return the directories below one, and the rows of the files in each, of csv without headers."""
    return {
        os.path.relpath(place, path): [
            line for name in sorted(names) for line in Path(place, name).read_text().splitlines()
        ]
        for place, _, names in os.walk(path)
        if names
    }


def test_each_type_has_a_directory(tmp_path):
    rows = [RlmmSnapshotRow("d", "f", 0, 1, 2, 3), RlmmCommittedOffsetRow("d", "g", 4, 5)]
    path = tmp_path / "out"
    with new_directory(str(path)) as hidden:
        sink = Parts(hidden, view_of("csv", "rlmm dump", headers=False, to_run=True), by_type=True)
        with sink() as part:
            part.write([*rows, rows[0]])
        keep_parts(str(path), sink, part.receipt, nothing)

    assert tree(path) == {
        ".": [],
        "type=rlmm_snapshot": ["d,f,0,1,2,3"] * 2,
        "type=rlmm_committed_offset": ["d,g,4,5"],
    }
