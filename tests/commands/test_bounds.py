"""A batch of much more than its bytes costs at most 64 MiB; above, the option that raises it is named."""

import json
import random
import struct
import subprocess
import sys

import pytest

from formats.bounds import LARGEST_BATCH, LARGEST_BATCH_GROWN
from formats.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from formats.record import HEADER_KEYS_SHARE
from kcli.dump.decoded_records import LONGEST_SHARE
from tests.builders import put_record, put_records

pytestmark = pytest.mark.slow

LOG = f"{0:020}.log"
MOST = 64 << 20
"""Bytes of memory, beside those of a batch of a few bytes."""
ROOM = 200
"""Bytes of a record beside its value, and of a batch beside its record."""

MEASURE = """
import os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "kcli", *sys.argv[2:]], os.environ,
                     file_actions=[(os.POSIX_SPAWN_OPEN, 1, sys.argv[1],
                                    os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10)
"""
"""From a process that is small itself: the kernel counts what a child begins as."""

SHOWN = {
    "text": ["-o", "text", "--print-data-log"],
    "ndjson": ["-o", "ndjson"],
    "csv": ["-o", "csv", "--bytes", "sha256"],
    "parquet": ["--out", "x.parquet"],
}


def run(directory, *words):
    """Return the exit status, the peak in bytes, and what is printed."""
    command = [sys.executable, "-c", MEASURE, directory / "shown", "dump", "--records", *words, LOG]
    done = subprocess.run(
        [str(word) for word in command], cwd=directory, capture_output=True, text=True, check=True
    )
    status, peak = map(int, done.stdout.split())
    return status, peak, (directory / "shown").read_text()


@pytest.fixture
def tmp_path(tmp_path):
    """A directory in that of the test: pytest has a `.lock` in the one around it, as a log dir has."""
    inside = tmp_path / "inside"
    inside.mkdir()
    return inside


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """The peak of each way to show a batch of a few bytes."""
    directory = tmp_path_factory.mktemp("usual") / "inside"
    directory.mkdir()
    (directory / LOG).write_bytes(put_records([put_record(value=b"v")]))
    return {name: run(directory, *words)[1] for name, words in SHOWN.items()}


@pytest.mark.parametrize(
    ("codec", "shown"),
    [*((codec, "ndjson") for codec in (GZIP, SNAPPY, LZ4)), *((ZSTD, shown) for shown in SHOWN)],
)
def test_the_largest_batch_that_is_read_costs_a_bounded_memory(codec, shown, usual, tmp_path):
    raw = put_records([put_record(value=bytes(LARGEST_BATCH - ROOM))], codec)
    assert len(raw) < LARGEST_BATCH // 10
    (tmp_path / LOG).write_bytes(raw)
    status, peak, _ = run(tmp_path, *SHOWN[shown])

    assert status == 0
    assert peak - usual[shown] <= MOST


@pytest.fixture(scope="module")
def many_headers():
    """A batch of records of many headers."""
    headers = [(b"k", b"")] * 20_000
    return put_records([put_record(number, headers=headers) for number in range(40)], ZSTD)


@pytest.mark.parametrize("words", [["-o", "ndjson", "--bytes", "text"], ["-o", "csv"]])
def test_records_of_many_headers_cost_a_bounded_memory(words, many_headers, usual, tmp_path):
    (tmp_path / LOG).write_bytes(many_headers)
    status, peak, _ = run(tmp_path, "--only", "dump_record", *words)

    assert status == 0
    assert peak - usual["ndjson"] <= MOST


MANY = 8
VARIANTS = {
    **SHOWN,
    "text, headers": ["-o", "text"],
    "text, selected": ["-o", "text", "--print-data-log", "--grep", "a"],
    "text, limited": ["-o", "text", "--print-data-log", "--limit", "100"],
    "ndjson, selected": ["-o", "ndjson", "--time", "0.."],
    "ndjson, limited": ["-o", "ndjson", "--limit", "100"],
    "ndjson, layout": ["-o", "ndjson", "--layout"],
    "parquet, selected": ["--out", "x.parquet", "--grep", "a"],
}


@pytest.mark.parametrize("shown", VARIANTS)
def test_many_of_the_largest_batches_cost_what_two_cost(shown, tmp_path):
    """A batch a thousand times as large as in the log: no report of one is kept for the next."""
    batches = [
        put_records([put_record(value=b"a" * (LARGEST_BATCH - ROOM))], ZSTD, base_offset=number)
        for number in range(MANY)
    ]
    peaks = []
    for count in (2, MANY):
        (tmp_path / LOG).write_bytes(b"".join(batches[:count]))
        status, peak, _ = run(tmp_path, *VARIANTS[shown])
        assert status == 0
        peaks.append(peak)

    # kept ones would cost all of (MANY - 2) * LARGEST_BATCH; the allocator may keep up to half of that
    assert peaks[1] - peaks[0] <= (MANY - 2) * LARGEST_BATCH * 3 // 4


NO_TEXT = b"\xff"
MOST_KEYS = LARGEST_BATCH // HEADER_KEYS_SHARE
CHANGED = {
    "text": (
        ["-o", "text", "--print-data-log", "--grep", "a|^."],
        {"value": b"a" * (LARGEST_BATCH - ROOM) + "\U0001f600".encode()},
    ),
    "ndjson": (["-o", "ndjson", "--bytes", "text"], {"value": b"\x01" * (LARGEST_BATCH - ROOM)}),
    "csv": (
        ["-o", "csv", "--bytes", "hex"],
        {"key": NO_TEXT * (LARGEST_BATCH // 2), "value": NO_TEXT * (LARGEST_BATCH // 2 - ROOM)},
    ),
    "text, no text": (["-o", "text", "--print-data-log"], {"value": NO_TEXT * (LARGEST_BATCH - ROOM)}),
    "text, hex": (["-o", "text", "--bytes", "hex"], {"value": bytes(LARGEST_BATCH - ROOM)}),
    "text, base64": (
        ["-o", "text", "--bytes", "base64"],
        {"headers": ((NO_TEXT * MOST_KEYS, None),), "value": bytes(LARGEST_BATCH - MOST_KEYS - ROOM)},
    ),
    "ndjson, wide": (
        ["-o", "ndjson", "--bytes", "text"],
        {"value": b"a" * (LARGEST_BATCH - ROOM) + "\U0001f600".encode()},
    ),
    "parquet": (["--out", "x.parquet", "--bytes", "text"], {"value": bytes(LARGEST_BATCH_GROWN - ROOM)}),
    "parquet, hex": (
        ["--out", "x.parquet", "--bytes", "hex"],
        {"headers": ((b"k", NO_TEXT * (LARGEST_BATCH_GROWN - ROOM)),)},
    ),
    "ndjson, keys": (
        ["-o", "ndjson"],
        {"headers": ((NO_TEXT * MOST_KEYS, None),), "value": bytes(LARGEST_BATCH - MOST_KEYS - ROOM)},
    ),
    "parquet, keys": (
        ["--out", "x.parquet"],
        {"headers": ((NO_TEXT * MOST_KEYS, None),), "value": bytes(LARGEST_BATCH - MOST_KEYS - ROOM)},
    ),
    "ndjson, layout": (
        ["-o", "ndjson", "--layout"],
        {"value": "\U0001f600".encode() * (LARGEST_BATCH // 4 - ROOM)},
    ),
}
"""Values that take several times their bytes where they are shown."""


@pytest.mark.parametrize("case", CHANGED)
def test_values_that_grow_where_they_are_shown_cost_no_more(case, usual, tmp_path):
    words, record = CHANGED[case]
    (tmp_path / LOG).write_bytes(put_records([put_record(**record)], ZSTD))
    status, peak, _ = run(tmp_path, *words)

    assert status == 0
    assert peak - usual[case.partition(",")[0]] <= MOST


TOPIC_NAME = "\U0001f600".encode() + b"\x01" * 32_000
"""Of it JSON makes six characters for each byte, of four bytes each in memory."""
DECODED = {
    "text": ["-o", "text", "--print-data-log", "--transaction-log-decoder"],
    "ndjson": ["-o", "ndjson", "--decoder", "__transaction_state"],
    "csv": ["-o", "csv", "--decoder", "__transaction_state"],
    "parquet": ["--out", "x.parquet", "--decoder", "__transaction_state"],
}


def transaction(size):
    """The record of a transaction whose value has about so many bytes."""
    topics = size // len(TOPIC_NAME)
    value = struct.pack(">hqhibi", 0, 1, 0, 1, 1, topics)
    value += (struct.pack(">h", len(TOPIC_NAME)) + TOPIC_NAME + bytes(4)) * topics + struct.pack(">qq", 1, 1)
    return put_record(key=bytes(3) + b"\x02tx", value=value)


@pytest.mark.parametrize("shown", DECODED)
@pytest.mark.parametrize("share", [2, LONGEST_SHARE])
def test_values_that_are_decoded_cost_no_more(share, shown, usual, tmp_path):
    (tmp_path / LOG).write_bytes(put_records([transaction(LARGEST_BATCH // share)], ZSTD))
    status, peak, _ = run(tmp_path, *DECODED[shown])

    assert status == (share < LONGEST_SHARE)
    assert peak - usual[shown] <= MOST


def test_a_value_too_long_to_be_decoded_names_the_switch(tmp_path):
    (tmp_path / LOG).write_bytes(put_records([transaction(LARGEST_BATCH // 2)], ZSTD))
    _, _, shown = run(tmp_path, *DECODED["ndjson"])
    row, finding = map(json.loads, shown.splitlines())

    assert row["decoded_value"] is None and row["value"]
    assert row["error"] in finding["message"]
    assert (
        "value: expected at most 1048576 bytes to decode" in row["error"]
        and "--max-batch-bytes raises the bound" in row["error"]
    )
    status, _, shown = run(
        tmp_path, *DECODED["ndjson"], "--max-batch-bytes", LARGEST_BATCH * LONGEST_SHARE // 2
    )
    assert status == 0
    assert len(json.loads(shown)["decoded_value"]["transactionPartitions"]) == LARGEST_BATCH // 2 // len(
        TOPIC_NAME
    )


@pytest.mark.parametrize(("words", "status"), [("--skip-record-metadata", 0), ("--offsets-decoder", 1)])
def test_records_without_contents_cost_no_more(words, status, usual, tmp_path):
    record = put_record(headers=((b"\xff", b"\x01" * 20),))
    (tmp_path / LOG).write_bytes(put_records([record] * ((LARGEST_BATCH - ROOM) // len(record)), ZSTD))
    found, peak, _ = run(tmp_path, "-o", "text", words)

    assert found == status
    assert peak - usual["text"] <= MOST


@pytest.mark.parametrize("size", [20, 1 << 16])
@pytest.mark.parametrize("shown", ["text", "parquet"])
def test_many_records_cost_no_more(shown, size, usual, tmp_path):
    value = random.Random(1).randbytes(size)
    count = (LARGEST_BATCH - ROOM) // (size + 20)
    (tmp_path / LOG).write_bytes(
        put_records([put_record(number, value=value) for number in range(count)], ZSTD)
    )
    status, peak, _ = run(tmp_path, *SHOWN[shown])

    assert status == 0
    assert peak - usual[shown] <= MOST


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_one_that_is_larger_is_refused_and_read_where_the_switch_allows_it(codec, usual, tmp_path):
    (tmp_path / LOG).write_bytes(put_records([put_record(value=bytes(LARGEST_BATCH + 1))], codec))
    status, peak, shown = run(tmp_path, *SHOWN["ndjson"])

    (finding,) = map(json.loads, shown.splitlines())
    assert (status, finding["code"]) == (1, "DUMP-002")
    assert "--max-batch-bytes raises the bound" in finding["message"]
    assert peak - usual["ndjson"] <= MOST
    status, _, shown = run(tmp_path, *SHOWN["csv"], "--max-batch-bytes", 2 * LARGEST_BATCH)
    assert (status, len(shown.splitlines())) == (0, 2)
