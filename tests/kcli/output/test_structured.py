"""Output for programs: json, ndjson, csv and tsv."""

import io
import json

import pytest

from kcli.output.structured import write_csv, write_json, write_ndjson, write_tsv
from kcli.rows.partitions import PartitionRow, Where
from kcli.rows.remote_metadata import RlmmSnapshotRow

from .writing import FAILURE, FINDING, lookup_row, view_of, write

AT = lookup_row()


def test_a_json_document():
    empty = {"command": "lookup timestamp", "version": 1, "rows": [], "findings": [], "errors": []}
    assert json.loads(write(write_json, [])) == empty
    of_dir = FINDING._replace(path=None)
    document = json.loads(write(write_json, [AT, AT], found=([FINDING, of_dir], [FAILURE])))

    assert len(document["rows"]) == 2
    assert (document["rows"][0]["dir"], document["rows"][0]["timestamp"]) == ("d\n0", 1_700_000_000_000)
    finding = {"code": "LOG-001", "severity": "warning", "message": "short", "dir": "d", "file": "0.log"}
    finding |= {"path": "d/0.log", "position": 100, "expected": "61 bytes", "found": 12}
    assert document["findings"] == [finding, {**finding, "path": "d", "file": None}]
    error = {"path": "x", "error": "corrupt", "position": 5, "field": "crc", "message": "byte 5: crc"}
    assert document["errors"] == [error]


def test_rows_of_several_types_carry_their_type():
    snapshot = RlmmSnapshotRow("d", "g", 1, 4, 90, 2)

    document = json.loads(write(write_json, [snapshot], "rlmm dump"))
    assert next(iter(document["rows"][0].items())) == ("type", "rlmm_snapshot")
    assert json.loads(write(write_ndjson, [snapshot], "rlmm dump"))["type"] == "rlmm_snapshot"
    lines = write(write_tsv, [snapshot], "rlmm dump", only="rlmm_snapshot").splitlines()
    assert lines[1] == "d\tg\t1\t4\t90\t2"


class Flushed(io.StringIO):
    flushes = 0

    def flush(self):
        self.flushes += 1


def test_ndjson_flushes_every_row_before_the_next_is_pulled():
    out, seen = Flushed(), []

    def rows():
        for number in range(3):
            seen.append((out.flushes, out.getvalue().count("\n")))
            yield PartitionRow(
                Where(f"d{number}", None, None, None, None), *[None] * len(PartitionRow._fields[1:])
            )

    write_ndjson(rows(), view_of("ndjson", "ls", columns="dir"), out, lambda: ([], []))

    assert seen == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize("writer", [write_tsv, write_csv])
def test_header_is_written_without_rows_unless_there_are_errors(writer):
    assert len(write(writer, []).splitlines()) == 1
    assert write(writer, [], headers=False) == ""
    assert write(writer, [], found=([], [FAILURE])) == ""
    assert len(write(writer, [AT], found=([], [FAILURE])).splitlines()) >= 2
