"""`dump --layout`: every byte of a file is part of one field, whatever the file holds."""

import base64
import gzip
import itertools
import json
from dataclasses import replace

import pytest

from formats.batch import BATCH, HEADER_SIZE
from formats.names import LOG, OFFSET_INDEX, TIME_INDEX, parse_file
from kcli.dump.job import LOG_KINDS, Dump
from kcli.dump.options import DumpOptions, RecordFilter
from kcli.dump.render import layout as dump_layout
from kcli.dump.render.layout import LAYOUT_KINDS, attributes_text, layout_lines
from kcli.engine.contract import Unit
from kcli.engine.inline import mapped
from kcli.logdir.find import file_target
from kcli.rows.dump import DumpFileRow, DumpLayoutRow
from kcli.rows.partitions import FromFile, Where
from tests.builders import put_record, put_records
from tests.formats import files, recorded
from tests.formats.message_sets import BENT, REFUSED
from tests.kcli.dump.plain import codes_of, errors_of, scanned
from tests.kcli.dump.random_logs import FILES, damaged, flipped, small_log
from tests.messages import put_message, put_wrapper
from tests.partitions import put_range
from tests.recordings import pack
from tests.rows import named

pytestmark = pytest.mark.slow

NAME = "00000000000000000000.log"
RECORDS = DumpOptions(records=True, decode_by_name=True)


def run(path, options=RECORDS):
    """Return the rows of a file as dicts, the codes of findings, and the error."""
    rows, outcomes = scanned(path, replace(options, layout=True))
    list(layout_lines(rows))
    return [named(row) for row in rows], codes_of(outcomes), errors_of(outcomes)


def stored(row):
    """Return the bytes of a row; those that it only counts are zeros, or stand for themselves."""
    if row["bytes"] is None:
        assert row["field"] == "zeros" or row["value"].endswith("bytes more")
        return bytes(row["size"])
    assert len(row["bytes"]) == row["size"]
    return row["bytes"]


def check_no_gap(rows, data):
    """Check that the rows in the file, and in each decompressed stream, adjoin and hold all bytes."""
    end = stream_end = 0
    for row in rows:
        if row["position"] is None:
            assert row["stream_position"] == stream_end
            stream_end += row["size"]
        else:
            assert (row["stream_position"], row["position"]) == (None, end)
            end, stream_end = end + row["size"], 0
    assert b"".join(stored(row) for row in rows if row["position"] is not None) == data


def written(tmp_path, data, name=NAME, topic=None):
    folder = tmp_path / f"{topic}-0" if topic else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


# Every byte of real files


@pytest.mark.parametrize("name", pack.NAMES)
def test_every_byte_of_the_recordings(name, tmp_path):
    kinds = set()
    for path in sorted(pack.unpack(name, tmp_path).rglob("*")):
        kind = parse_file(path.name).kind
        if path.is_file() and kind in {*LAYOUT_KINDS, *LOG_KINDS}:
            rows, codes, errors = run(path)
            check_no_gap(rows, path.read_bytes())
            assert (errors, set(codes) - {"IDX-003"}) == ([], set()), path
            assert not [row for row in rows if row["field"] in {"unreadable", "trailing"}]
            kinds.add(kind)
    assert kinds >= {LOG, OFFSET_INDEX, TIME_INDEX}


@pytest.mark.parametrize("name", [*recorded.LOGS, *recorded.LEGACY, *BENT])
def test_every_byte_of_the_logs_by_kafka(name, tmp_path):
    data = recorded.stored(f"{name}.log")
    rows, codes, errors = run(
        written(tmp_path, data, topic="__cluster_metadata" if name == "metadata" else None)
    )
    check_no_gap(rows, data)
    assert errors == []
    refused = name in BENT or name == REFUSED
    assert refused or codes == []
    assert refused or not [row for row in rows if row["field"] == "unreadable"]


@pytest.mark.parametrize("name", recorded.LOGS)
def test_headers_alone(name, tmp_path):
    rows, _, _ = run(written(tmp_path, recorded.stored(f"{name}.log")), DumpOptions())
    check_no_gap(rows, recorded.stored(f"{name}.log"))
    assert {row["structure"] for row in rows} == {"batch header", "records"}


def test_every_byte_of_a_kraft_snapshot(tmp_path):
    data = recorded.stored("snapshot.checkpoint")
    rows, codes, errors = run(
        written(tmp_path, data, "00000000000000000010-0000000001.checkpoint", "__cluster_metadata")
    )
    check_no_gap(rows, data)
    assert (codes, errors) == ([], [])
    assert {"SnapshotHeaderRecord", "SnapshotFooterRecord", "TopicRecord"} <= {
        row["structure"] for row in rows
    }


@pytest.mark.parametrize(("name", "file"), [(name, file) for name, found in FILES.items() for file in found])
def test_every_byte_of_the_other_files(name, file, tmp_path):
    data = files.content(file)
    rows, codes, errors = run(written(tmp_path, data, name))
    check_no_gap(rows, data)
    assert errors == []
    assert codes == (["IDX-003"] if file.startswith(("preallocated", "stale")) else [])


# Damage


MARKER = put_records([put_record(key=b"\0\0\0\1", value=b"\0\0\0\0\0\7")], base_offset=3, attributes=0x30)
SMALL_LOG = small_log(MARKER + put_wrapper(5, put_message(0, value=b"a") + put_message(1, key=b"b")))


def test_every_flipped_byte_of_a_log(tmp_path):
    data = SMALL_LOG
    for bad in flipped(data):
        rows, codes, errors = run(written(tmp_path, bad))
        assert errors == []
        reported = {}
        for row in rows:
            if row["position"] is not None:
                reported.update(zip(itertools.count(row["position"]), row["bytes"], strict=False))
        assert bytes(reported[place] for place in range(len(bad))) == bad
        if not codes:
            check_no_gap(rows, bad)


def test_every_prefix_of_a_log(tmp_path):
    data = SMALL_LOG
    for size in range(len(data)):
        rows, codes, errors = run(written(tmp_path, data[:size]))
        check_no_gap(rows, data[:size])
        assert errors == []
        assert ("LOG-001" in codes) == any(
            row["structure"].startswith(("incomplete", "batch header, inc")) for row in rows
        )


@pytest.mark.parametrize("name", FILES)
def test_every_prefix_and_flipped_byte_of_the_other_files(tmp_path, name):
    for bad in damaged(files.content(FILES[name][0])[:200]):
        check_no_gap(run(written(tmp_path, bad, name))[0], bad)


def test_a_large_damaged_range_is_bounded(tmp_path):
    bad = b"\xff" * 100_000
    data = put_range(0, 2) + bad + put_range(9, 1)
    rows, codes, _ = run(written(tmp_path, data))
    shown = [row for row in rows if row["structure"] == "damaged bytes"]
    assert [row["size"] for row in shown] == [4096] * 16 + [100_000 - 65536]
    assert (shown[-1]["bytes"], shown[-1]["value"]) == (None, f"{100_000 - 65536} bytes more")
    assert sum(row["size"] for row in rows) == len(data)
    assert codes == ["LOG-002"]


def test_damage_inside_a_record(tmp_path):
    record = put_record(key=b"key", value=b"value")
    whole = put_records([record[:4] + b"\x7e" + record[5:], record])
    rows, codes, _ = run(written(tmp_path, whole))
    check_no_gap(rows, whole)
    *_, before, last = rows
    assert (before["field"], before["value"]) == ("offset_delta", "0")
    assert (last["field"], last["size"]) == ("unreadable", len(whole) - last["position"])
    assert last["value"].startswith(f"byte {last['position']}: key length: expected at most ")
    assert codes == ["DUMP-002"]


def with_codec(codec):
    whole = put_records([put_record(value=b"x" * 90)], 1)
    return BATCH.pack(BATCH.read(whole)._replace(attributes=codec)) + whole[HEADER_SIZE:]


@pytest.mark.parametrize(
    ("data", "codes", "last"),
    [
        (with_codec(4), {"DUMP-002", "LOG-003"}, {"structure": "records", "field": "unreadable"}),
        (put_range(0, 2)[:70], {"LOG-001"}, {"structure": "incomplete batch", "size": 9}),
        (
            put_range(0, 1) + bytes(5000),
            {"LOG-004"},
            {"structure": "preallocated", "field": "zeros", "size": 5000},
        ),
        (
            put_records([put_record(value=b"x" * 1500)]),
            {"DUMP-002"},
            {"position": 61, "size": 1509, "bytes": None},
        ),
        (put_records([], 1), set(), {"meaning": "not looked at: there are no records"}),
    ],
    ids=["codec", "incomplete", "preallocated", "beyond the bound", "no records"],
)
def test_what_is_no_record_is_one_row(tmp_path, data, codes, last):
    rows, found, _ = run(written(tmp_path, data), replace(RECORDS, max_batch_bytes=1000))

    if rows[-1]["bytes"] is not None:
        check_no_gap(rows, data)
    assert sum(row["size"] for row in rows if row["position"] is not None) == len(data)
    assert sum(row["structure"].startswith("batch header") for row in rows) == 13
    assert (set(found), rows[-1] | last) == (codes, rows[-1])


def test_what_follows_a_message_of_an_internal_topic(tmp_path):
    key = bytes.fromhex("000100016700017400000005")
    path = written(
        tmp_path, put_records([put_record(key=key, value=b"\0\x63new")]), topic="__consumer_offsets"
    )
    rows, codes, _ = run(path)
    reported = [
        (row["structure"], row["field"], row["value"]) for row in rows if "record 0" not in row["structure"]
    ][13:]
    assert reported == [
        ("OffsetCommitKey", "record type", "1"),
        ("OffsetCommitKey", "group", "g"),
        ("OffsetCommitKey", "topic", "t"),
        ("OffsetCommitKey", "partition", "5"),
        ("type 1", "value", "0x00636e6577"),
    ]
    assert codes == []
    path.write_bytes(
        put_records([put_record(key=key[:5], value=None)])
        + put_records([put_record(key=key + b"zz")], base_offset=1)
    )
    rows, codes, _ = run(path)
    assert [row["field"] for row in rows if row["structure"] == "key of record 0"] == [
        "unreadable",
        "trailing",
    ]
    assert codes == ["DUMP-002"]


# Which fields, and in how many pieces


def test_a_record_field_by_field(tmp_path):
    record = put_record(key=b"\0k", value=None, headers=((b"h", b"x"),), timestamp_delta=5)
    rows, _, _ = run(written(tmp_path, put_records([record], base_offset=42, attributes=0x18)))
    reported = [(row["structure"], row["field"], row["position"], row["size"], row["value"]) for row in rows]
    assert reported[0] == ("batch header", "base_offset", 0, 8, "42")
    assert reported[5] == ("batch header", "attributes", 21, 2, "24 (none, LogAppendTime, transactional)")
    assert reported[13:] == [
        ("record 0", "length", 61, 1, "12"),
        ("record 0", "attributes", 62, 1, "0"),
        ("record 0", "timestamp_delta", 63, 1, "5"),
        ("record 0", "offset_delta", 64, 1, "0"),
        ("record 0", "key_length", 65, 1, "2"),
        ("record 0", "key", 66, 2, "0x006b"),
        ("record 0", "value_length", 68, 1, "-1"),
        ("record 0", "headers_count", 69, 1, "1"),
        ("header 0 of record 0", "key_length", 70, 1, "1"),
        ("header 0 of record 0", "key", 71, 1, "h"),
        ("header 0 of record 0", "value_length", 72, 1, "1"),
        ("header 0 of record 0", "value", 73, 1, "x"),
    ]
    assert (rows[0]["meaning"], rows[18]["meaning"]) == (
        "offset of the first record as written; kept after compaction",
        None,
    )


def test_compressed_records_lie_in_a_stream(tmp_path):
    rows, _, _ = run(written(tmp_path, put_records([put_record(value=b"x" * 30)], 1)))
    assert (rows[13]["field"], rows[13]["position"], rows[13]["value"]) == (
        "compressed records",
        61,
        "37 bytes decompressed",
    )
    assert [(row["position"], row["stream_position"]) for row in rows[14:17]] == [
        (None, 0),
        (None, 1),
        (None, 2),
    ]
    assert sum(row["size"] for row in rows[14:]) == 37


def test_only_the_selected_batches(tmp_path):
    parts = [put_range(0, 3), put_range(3, 3), put_range(6, 3)]
    path = written(tmp_path, b"".join(parts))
    firsts = lambda options: [
        row["position"] for row in run(path, options)[0] if row["field"] == "base_offset"
    ]
    assert firsts(DumpOptions(filter=RecordFilter(offsets=(4, 4)))) == [len(parts[0])]
    assert firsts(DumpOptions(tail=2)) == [len(parts[0]), 2 * len(parts[0])]
    assert firsts(DumpOptions(filter=RecordFilter(grep=b"v2"))) == [0, len(parts[0]), 2 * len(parts[0])]
    assert firsts(DumpOptions(filter=RecordFilter(grep=b"nowhere"))) == []


@pytest.mark.parametrize("name", [NAME, "00000000000000000000.index", "00000000000000000007.snapshot"])
def test_pieces_are_the_whole(tmp_path, monkeypatch, name):
    """Whatever stops and goes on, in a process that remembers nothing, gives what one run gives."""
    data = SMALL_LOG if name == NAME else files.content(FILES[name][0])
    path = written(tmp_path, data, name)
    whole = run(path)
    monkeypatch.setattr(dump_layout, "ROWS_BETWEEN_STOPS", 3)
    monkeypatch.setattr("kcli.dump.render.indexes.ENTRIES_PER_BLOCK", 2)
    monkeypatch.setattr("kcli.dump.pauses.ROWS_PER_CALL", 1)
    calls = []

    def forgetful(unit):
        calls.append(unit)
        monkeypatch.setattr("kcli.dump.pauses._suspended", {})
        return Dump(replace(RECORDS, layout=True))(unit)

    outcomes = list(mapped(forgetful, [Unit(number=0, targets=(file_target(str(path)),))]))
    assert [named(row) for outcome in outcomes for row in outcome.rows] == whole[0]
    assert len(calls) > 2


# remote_log_snapshot


SNAPSHOTS = json.loads(gzip.decompress((files.FILES.parent / "rlmm" / "snapshots.json.gz").read_bytes()))
SNAPSHOT_BYTES = {
    name: base64.b64decode(found["bytes"]) for name, found in SNAPSHOTS.items() if found.get("read")
}


@pytest.mark.parametrize("name", SNAPSHOT_BYTES)
def test_every_byte_of_remote_log_snapshots(name, tmp_path):
    data = SNAPSHOT_BYTES[name]
    rows, codes, errors = run(written(tmp_path, data, "remote_log_snapshot"))
    check_no_gap(rows, data)
    assert (codes, errors) == ([] if len(data) >= 18 else ["RLMM-005"], [])
    lengths = [row for row in rows if row["field"] == "length"]
    assert len(lengths) == len(SNAPSHOTS[name]["read"]["entries"])
    assert not lengths or "startOffset" in {row["field"] for row in rows}


def test_an_empty_remote_log_snapshot(tmp_path):
    assert run(written(tmp_path, b"", "remote_log_snapshot")) == ([], ["RLMM-006"], [])


def test_damage_of_a_remote_log_snapshot(tmp_path):
    data = min((data for data in SNAPSHOT_BYTES.values() if len(data) > 40), key=len)
    for bad in damaged(data):
        check_no_gap(run(written(tmp_path, bad, "remote_log_snapshot"))[0], bad)


def from_file(name):
    return FromFile(Where("orders-0", None, None, "orders", 0), name)


def row(structure, field, position, data, value=None, meaning=None, stream=None, size=None, file="0.log"):
    size = len(data) if size is None else size
    return DumpLayoutRow(from_file(file), structure, field, position, stream, size, data, value, meaning)


def lines(*rows):
    return list(layout_lines(rows))


PATTERN = bytes(range(16)) + bytes(64) + b"end"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (
            row("batch header", "base_offset", 61, bytes(7) + b"*", "42", "offset of the first record"),
            ["00000061 8 base_offset 00 00 00 00 00 00 00 2a 42 offset of the first record"],
        ),
        (
            row("record 0", "value", 100, PATTERN, f"0x{PATTERN.hex()}"),
            [
                f"00000100 83 value {PATTERN[:16].hex(' ')}",
                f"00000116 {bytes(16).hex(' ')}",
                "*",
                "00000180 65 6e 64",
            ],
        ),
        (
            row("damaged bytes", "x", 0, bytes(48)),
            [f"00000000 48 x {bytes(16).hex(' ')}", "*", f"00000032 {bytes(16).hex(' ')}"],
        ),
        (row("record 0", "length", None, b"\2", "1", stream=7), ["+00000007 1 length 02 1"]),
        (
            row("preallocated", "zeros", 8, None, "80 bytes of zeros", size=80),
            ["00000008 80 zeros .. 80 bytes of zeros"],
        ),
        (row("record 0", "key", 8, b"", ""), ["00000008 0 key"]),
    ],
    ids=["a field", "long", "repeated", "in decompressed records", "not there", "empty"],
)
def test_the_lines_of_a_field(shown, expected):
    assert [" ".join(line.split()) for line in lines(shown)[2:]] == expected


def test_headings_stand_where_names_change():
    rows = (
        row("a", "f", 0, b"1"),
        row("a", "g", 1, b"2"),
        row("b", "f", 2, b"3"),
        row("b", "f", 0, b"3", file="1.log"),
    )
    headings = [line for line in lines(*rows) if len(line.split()) < 4]
    assert headings == ["orders-0/0.log", "a", "b", "", "orders-0/1.log", "b"]


def test_control_characters_cannot_break_a_line():
    found = lines(row("a\n", "f\x1b", 0, b"1", "x\ny", "m\rn"))
    assert found[1] == r"a\n"
    assert r"f\x1b" in found[2]
    assert found[2].endswith(r"x\ny  m\rn")


def test_a_file_without_a_layout_is_named():
    rows = (DumpFileRow(from_file("notes"), "unknown", 12), DumpFileRow(from_file("folder"), "unknown", None))
    assert lines(*rows) == ["orders-0/notes", "unknown  12", "", "orders-0/folder", "unknown"]


@pytest.mark.parametrize(
    ("attributes", "magic", "said"),
    [
        (0, 2, "0 (none, CreateTime)"),
        (0x7B, 2, "123 (lz4, LogAppendTime, transactional, control, delete horizon)"),
        (0x87, 2, "135 (codec 7, CreateTime, unknown bits 0x80)"),
        (-1, 1, "-1 (codec 7, LogAppendTime, unknown bits 0xf0)"),
        (9, 0, "9 (gzip, unknown bits 0x8)"),
    ],
)
def test_attributes(attributes, magic, said):
    assert attributes_text(attributes, magic) == said
