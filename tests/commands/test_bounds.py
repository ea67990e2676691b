"""A batch of much more than its bytes costs at most 64 MiB; above, the option that raises it is named."""

import json
import random
import struct
import subprocess
import sys
from functools import partial

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


MANY = 8
VARIANTS = {
    **SHOWN,
    "text, headers": ["-o", "text"],
    "text, selected": ["-o", "text", "--print-data-log", "--grep", "a"],
    "ndjson, limited": ["-o", "ndjson", "--limit", "100"],
    "ndjson, layout": ["-o", "ndjson", "--layout"],
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


FULL = LARGEST_BATCH - ROOM
EMOJI = "\U0001f600".encode()
NO_TEXT = b"\xff"
MOST_KEYS = LARGEST_BATCH // HEADER_KEYS_SHARE
SMALL = put_record(headers=((b"\xff", b"\x01" * 20),))


def batch(codec=ZSTD, **record):
    return put_records([put_record(**record)], codec)


def of_long_keys():
    return batch(headers=((NO_TEXT * MOST_KEYS, None),), value=bytes(FULL - MOST_KEYS))


def of_many_headers():
    headers = [(b"k", b"")] * 20_000
    return put_records([put_record(number, headers=headers) for number in range(40)], ZSTD)


def of_many_records(size):
    value, count = random.Random(1).randbytes(size), FULL // (size + 20)
    return put_records([put_record(number, value=value) for number in range(count)], ZSTD)


def of_small_records():
    return put_records([SMALL] * (FULL // len(SMALL)), ZSTD)


CASES = {
    **{
        f"ndjson, codec {codec}": (SHOWN["ndjson"], lambda codec=codec: batch(codec, value=bytes(FULL)), 0)
        for codec in (GZIP, SNAPPY, LZ4)
    },
    **{f"{shown}, zeros": (words, lambda: batch(value=bytes(FULL)), 0) for shown, words in SHOWN.items()},
    "ndjson, many headers": (
        ["--only", "dump_record", "-o", "ndjson", "--bytes", "text"],
        of_many_headers,
        0,
    ),
    "csv, many headers": (["--only", "dump_record", "-o", "csv"], of_many_headers, 0),
    # values that take several times their bytes where they are shown
    "text, wide": ([*SHOWN["text"], "--grep", "a|^."], lambda: batch(value=b"a" * FULL + EMOJI), 0),
    "ndjson, escaped": (["-o", "ndjson", "--bytes", "text"], lambda: batch(value=b"\x01" * FULL), 0),
    "csv, hex": (
        ["-o", "csv", "--bytes", "hex"],
        lambda: batch(key=NO_TEXT * (LARGEST_BATCH // 2), value=NO_TEXT * (LARGEST_BATCH // 2 - ROOM)),
        0,
    ),
    "text, no text": (SHOWN["text"], lambda: batch(value=NO_TEXT * FULL), 0),
    "text, hex": (["-o", "text", "--bytes", "hex"], lambda: batch(value=bytes(FULL)), 0),
    "text, base64": (["-o", "text", "--bytes", "base64"], of_long_keys, 0),
    "ndjson, wide": (["-o", "ndjson", "--bytes", "text"], lambda: batch(value=b"a" * FULL + EMOJI), 0),
    "parquet, text": (
        ["--out", "x.parquet", "--bytes", "text"],
        lambda: batch(value=bytes(LARGEST_BATCH_GROWN - ROOM)),
        0,
    ),
    "parquet, hex": (
        ["--out", "x.parquet", "--bytes", "hex"],
        lambda: batch(headers=((b"k", NO_TEXT * (LARGEST_BATCH_GROWN - ROOM)),)),
        0,
    ),
    "ndjson, keys": (SHOWN["ndjson"], of_long_keys, 0),
    "parquet, keys": (SHOWN["parquet"], of_long_keys, 0),
    "ndjson, layout": (
        ["-o", "ndjson", "--layout"],
        lambda: batch(value=EMOJI * (LARGEST_BATCH // 4 - ROOM)),
        0,
    ),
    # values that are decoded, those that are too long for it, and records without contents
    **{
        f"{shown}, decoded, {share}": (
            words,
            lambda share=share: put_records([transaction(LARGEST_BATCH // share)], ZSTD),
            int(share < LONGEST_SHARE),
        )
        for shown, words in DECODED.items()
        for share in (2, LONGEST_SHARE)
    },
    "text, without metadata": (["-o", "text", "--skip-record-metadata"], of_small_records, 0),
    "text, no offsets": (["-o", "text", "--offsets-decoder"], of_small_records, 1),
    **{
        f"{shown}, records of {size}": (SHOWN[shown], partial(of_many_records, size), 0)
        for shown in ("text", "parquet")
        for size in (20, 1 << 16)
    },
}


@pytest.mark.parametrize("case", CASES)
def test_no_batch_costs_more_than_a_bounded_memory(case, usual, tmp_path):
    words, make, expected = CASES[case]
    (tmp_path / LOG).write_bytes(make())
    status, peak, _ = run(tmp_path, *words)

    assert status == expected
    assert peak - usual[case.partition(",")[0]] <= MOST


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
