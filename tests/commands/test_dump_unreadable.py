"""`kcli dump` of batches and records that are whole, as their checksum says, and still cannot be read."""

import json

import pytest

from formats.batch import CONTROL_MASK
from formats.compression import LZ4, ZSTD
from tests.builders import compress, put_batch, put_record, put_records

pytestmark = pytest.mark.slow

COMMIT = b"\0\0\0\1"
MARKER = b"\0\0\0\0\0\7"
VOTERS = b"\0\0\0\6"
LEADER_CHANGE = b"\0\0\0\2"
VOTER = bytes(2) + b"\2" + bytes(4) + bytes(16) + b"\2\2h\5a.bc\x23\x84\0" + bytes(4) + bytes(3)
FORMATS = {
    "text": ["-o", "text"],
    "ndjson": ["-o", "ndjson"],
    "csv": ["-o", "csv"],
    "layout": ["--layout", "-o", "ndjson"],
    "parquet": ["--out", "x.parquet"],
}


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def log(log_dir):
    """Write a log of batches; returns its path."""

    def write(*batches):
        folder = log_dir.partition("orders-0")
        for file in folder.iterdir():
            file.unlink()
        (folder / f"{0:020}.log").write_bytes(b"".join(batches))
        return folder / f"{0:020}.log"

    return write


def control(offset, key, value):
    return put_records([put_record(key=key, value=value)], base_offset=offset, attributes=CONTROL_MASK)


def one(offset, key=b"k"):
    return put_records([put_record(key=key, value=b"v")], base_offset=offset)


def bomb(offset, size=12 << 20):
    return put_records([put_record(key=b"k", value=bytes(size))], ZSTD, base_offset=offset)


def torn(offset):
    """A batch whose compressed bytes are none."""
    return put_batch(
        compress(LZ4, put_record(key=b"k"))[:-9] + bytes(9), 1, attributes=LZ4, base_offset=offset
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("asked", [("--grep", "zz"), ("--key", "zz"), ("--key", "k"), ("--time", "5..9")])
@pytest.mark.parametrize("unreadable", [bomb, torn])
def test_what_could_not_be_searched_is_reported(kcli, log, form, asked, unreadable):
    batch = unreadable(0)
    late = (
        batch[:35] + (99).to_bytes(8, "big") + batch[43:]
    )  # its largest timestamp: only the records can tell
    batch = put_batch(late[61:], 1, attributes=late[22], max_timestamp=99)
    done = kcli("dump", "--records", *FORMATS[form], *asked, log(batch, one(1)))

    assert done.exit_code == 1
    assert "DUMP-002" in done.stderr + done.stdout


@pytest.mark.parametrize("records", [[], ["--records"]])
def test_a_layout_tells_it_once(kcli, log, records):
    done = kcli("dump", "--layout", *records, "--key", "k", "-o", "ndjson", log(torn(0), one(1)))

    assert done.stdout.count('"code":"DUMP-002"') == 1


def offsets(kcli, path, *words):
    done = kcli("dump", "--records", "-o", "ndjson", "--columns", "offset", *words, path)
    rows = map(json.loads, done.stdout.splitlines())
    return [row["offset"] for row in rows if row["type"] == "dump_record"]


@pytest.mark.parametrize(
    "bad",
    [
        put_batch(put_record(key=b"k"), 1_000_000, base_offset=10, crc=7),
        put_batch(put_record(key=b"k"), 1_000_000, base_offset=10),
        torn(10),
    ],
    ids=["checksum", "count", "contents"],
)
@pytest.mark.parametrize("count", [1, 3, 8, 100])
def test_a_tail_counts_records_that_can_be_read(kcli, log, bad, count):
    path = log(*map(one, range(10)), bad, *map(one, range(11, 13)))
    readable = offsets(kcli, path)

    assert len(readable) >= 12
    assert offsets(kcli, path, "--tail", count) == readable[-count:]


def test_what_is_left_out_is_no_gap(kcli, log):
    done = kcli(
        "dump", "-o", "text", "--deep-iteration", log(one(0), bomb(1), one(2), torn(3), one(4), one(9))
    )

    assert "Non-consecutive" in done.stderr
    assert [line for line in done.stderr.splitlines() if "followed by" in line] == ["  4 is followed by 9"]


def test_an_empty_batch_is_a_gap_as_for_the_tool(kcli, log):
    empty = put_batch(b"", 0, base_offset=1, last_offset_delta=0)
    done = kcli("dump", "-o", "text", "--deep-iteration", log(one(0), empty, one(2)))

    assert "  0 is followed by 2" in done.stderr


BROKEN = {
    "no value": control(1, COMMIT, None),
    "an empty value": control(1, COMMIT, b""),
    "no key": control(1, None, MARKER),
    "half a key": control(1, b"\0\0", MARKER),
    "no voters": control(1, VOTERS, None),
    "an empty leader": control(1, LEADER_CHANGE, b""),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", BROKEN)
def test_a_control_record_that_cannot_be_read_is_reported_in_every_format(kcli, log, form, kind):
    done = kcli("dump", "--records", *FORMATS[form], log(one(0), BROKEN[kind], control(2, COMMIT, MARKER)))

    assert done.exit_code == 1
    assert "DUMP-002" in done.stderr + done.stdout


@pytest.mark.parametrize("form", ["text", "ndjson", "csv", "parquet"])
def test_bytes_of_a_key_or_value_are_counted_inside_of_it(kcli, log, form):
    done = kcli("dump", "--records", *FORMATS[form], log(one(0), BROKEN["an empty value"]))

    assert "offset 1, inside its key or value: byte 0: " in done.stdout + done.stderr


@pytest.mark.parametrize("form", ["text", "ndjson"])
def test_what_is_redacted_says_nothing_of_a_control_record_but_an_outcome(kcli, log, form):
    path = log(
        control(0, VOTERS, VOTER),
        control(1, VOTERS, VOTER.replace(b"a.bc", b"a\xffbc")),
        control(2, COMMIT, MARKER),
    )
    plain = kcli("dump", "--records", *FORMATS["text"], path)
    done = kcli("dump", "--records", *FORMATS[form], "--redact", "--salt", "s", path)
    shown = done.stdout + done.stderr

    assert "a.bc" in plain.stdout
    assert "a.bc" not in shown
    assert "ff" not in done.stderr.replace("offset", "")
    if form == "text":
        assert " endTxnMarker: COMMIT coordinatorEpoch: 7\n" in shown
        assert f" controlType: KRAFT_VOTERS(6) {len(VOTER)} bytes, hash " in shown
