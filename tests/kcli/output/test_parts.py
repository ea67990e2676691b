"""Directories of parts: their names and order, directories by type, and nothing where something failed."""

import os
import pickle

import pytest

from kcli.output import parts
from kcli.output.files import IncompleteError, nothing
from kcli.output.parts import Parts, keep_parts, new_directory
from kcli.rows.declare import values_of
from kcli.rows.remote_metadata import RlmmCommittedOffsetRow, RlmmSnapshotRow
from tests.kcli.output.writing import FAILURE, FILE_FORMATS, FINDING, ROWS, file_view, on_stdout, read_parquet

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


def check_parts(paths, output, *groups):
    """Check that files have the rows of each group."""
    if output == "parquet":
        assert [read_parquet(path) for path in paths] == [list(map(values_of, rows)) for rows in groups]
    else:
        assert [path.read_bytes() for path in paths] == [
            on_stdout(rows, file_view(output)) for rows in groups
        ]


@pytest.mark.parametrize("output", FILE_FORMATS)
def test_parts_become_a_directory_in_their_order(tmp_path, output):
    path = tmp_path / "out"
    with new_directory(str(path)) as hidden:
        sink = pickle.loads(pickle.dumps(Parts(hidden, file_view(output))))
        receipts = written(sink, ROWS[:2], [], ROWS[2:])
        assert receipts[1] is None
        again = written(sink, ROWS[:2])  # an attempt that does not count
        assert len({receipt.path for receipt in receipts + again if receipt}) == 3
        assert keep_parts(str(path), sink, [receipts[0], receipts[2]], nothing) == 5

    names = sorted(os.listdir(path))
    assert [name[:11] for name in names] == ["_SUCCESS", "part-00000-", "part-00001-"]
    assert {name.rpartition(".")[2] for name in names[1:]} == {output}
    assert os.listdir(tmp_path) == ["out"]
    check_parts(sorted(path.glob("part-*")), output, ROWS[:2], ROWS[2:])


def test_names_of_many_parts_sort_in_the_order_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "DIGITS", 1)
    with new_directory(str(tmp_path / "out")) as hidden:
        sink = Parts(hidden, file_view("csv"))
        keep_parts(str(tmp_path / "out"), sink, written(sink, *(ROWS[:1] for _ in range(12))), nothing)

    names = sorted(path.name for path in (tmp_path / "out").glob("part-*"))
    assert [name.split("-")[1] for name in names] == [f"{number:02}" for number in range(12)]


@pytest.mark.parametrize("output", FILE_FORMATS)
def test_an_attempt_that_fails_leaves_no_part_and_no_rows_are_one_empty_part(tmp_path, output):
    def attempt():
        with Parts(str(tmp_path), file_view(output))() as part:
            part.write(ROWS)
            assert len(os.listdir(tmp_path)) == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        attempt()
    assert os.listdir(tmp_path) == []

    path = tmp_path / "out"
    with new_directory(str(path)) as hidden:
        assert keep_parts(str(path), Parts(hidden, file_view(output)), [], nothing) == 0
    check_parts(path.glob("part-*"), output, [])


def test_findings_and_errors_of_ndjson_are_the_last_part(tmp_path):
    path, view = tmp_path / "out", file_view("ndjson")
    found = [FINDING], [FAILURE]
    with new_directory(str(path)) as hidden:
        sink = Parts(hidden, view)
        keep_parts(str(path), sink, written(sink, ROWS), lambda: found)

    whole = on_stdout(ROWS, view, lambda: found)
    assert b"".join(part.read_bytes() for part in sorted(path.glob("part-*"))) == whole


@pytest.mark.parametrize("error", [FileNotFoundError, IncompleteError])
def test_a_directory_that_is_not_complete_is_gone(tmp_path, error):
    path = str(tmp_path / "out")

    def tail():
        if error is IncompleteError:
            raise error
        return [], []

    def attempt():
        with new_directory(path) as hidden:
            sink = Parts(hidden, file_view("csv"))
            receipts = written(sink, ROWS)
            if error is FileNotFoundError:
                os.unlink(os.path.join(hidden, receipts[0].path))
            keep_parts(path, sink, receipts, tail)

    with pytest.raises(error, match="are not there" if error is FileNotFoundError else None):
        attempt()
    assert os.listdir(tmp_path) == []


def test_each_type_has_a_directory(tmp_path):
    rows = [RlmmSnapshotRow("d", "f", 0, 1, 2, 3), RlmmCommittedOffsetRow("d", "g", 4, 5)]
    path = tmp_path / "out"
    with new_directory(str(path)) as hidden:
        sink = Parts(hidden, file_view("csv", "rlmm dump", headers=False, to_run=True), by_type=True)
        with sink() as part:
            part.write([*rows, rows[0]])
        keep_parts(str(path), sink, part.receipt, nothing)

    assert {file.parent.name: file.read_text().split() for file in path.glob("*/part-*")} == {
        "type=rlmm_snapshot": ["d,f,0,1,2,3"] * 2,
        "type=rlmm_committed_offset": ["d,g,4,5"],
    }
