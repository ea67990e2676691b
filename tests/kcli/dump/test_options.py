"""Selection of batches and records: with any index the answer is that of looking at every record."""

import base64
import glob
import hashlib
import hmac
import json
import random
import re
import shlex

import pyarrow.parquet as pq
import pytest

from tests.builders import put_record, put_records
from tests.messages import put_message, put_wrapper
from tests.partitions import log_dir, offset_entries, put_range, segment, time_entries

pytestmark = pytest.mark.slow

SEEDS = range(2)
SEGMENTS, BATCHES = 3, 12


@pytest.fixture(params=SEEDS)
def made(request, tmp_path):
    """Make a partition of three segments with indexes as a broker writes them; times go up and down."""
    chance = random.Random(request.param)
    partition = log_dir(tmp_path / "d") / "orders-0"
    offset, clock = 0, 10_000
    for _ in range(SEGMENTS):
        base, log, index, times, latest = offset, b"", [], [], (-1, 0)
        for number in range(BATCHES):
            clock += chance.randrange(-300, 400)
            count = chance.randrange(1, 5)
            stamps = [clock + chance.randrange(-200, 200) for _ in range(count)]
            append = chance.random() < 0.2
            fields = {
                "base_offset": offset,
                "base_timestamp": stamps[0],
                "max_timestamp": max(stamps),
                "partition_leader_epoch": offset // 40,
                "attributes": (8 if append else 0) | (16 if chance.random() < 0.3 else 0),
                "producer_id": chance.choice([-1, 7, 8]),
            }
            records = [
                put_record(
                    offset_delta=n,
                    timestamp_delta=stamp - stamps[0],
                    key=chance.choice([None, b"", b"k%d" % chance.randrange(4)]),
                    value=chance.choice([None, b"\xff\xfe", b"value %d" % (offset + n)]),
                    headers=[(b"h\xfe", chance.choice([None, b"x", b"\xff"]))]
                    if chance.random() < 0.3
                    else (),
                )
                for n, stamp in enumerate(stamps)
            ]
            data = put_records(records, chance.randrange(5), **fields)
            last = offset + count - 1
            if max(stamps) > latest[0]:
                latest = (max(stamps), last if append else offset + stamps.index(max(stamps)))
                latest = (latest[0], last)
            if number % 3 == 2:
                index.append((last - base, len(log)))
                if not times or latest[0] > times[-1][0]:
                    times.append((latest[0], latest[1] - base))
            log += data
            offset = last + 1
        segment(partition, base, log, offset_entries(*index), time_entries(*times))
    return partition


def ranges(values, chance):
    low, high = sorted(chance.choices(values, k=2))
    return low, high


def dumped(kcli, *words):
    result = kcli("dump", "-o", "json", *words)
    assert result.exit_code == 0, result.stderr
    return [row for row in json.loads(result.stdout)["rows"] if row["type"] in {"dump_record", "dump_batch"}]


def data(text):
    return None if text is None else base64.b64decode(text)


def matches(pattern, row):
    headers = [part for header in row["headers"] for part in (header["key"].encode(), data(header["value"]))]
    return any(
        part is not None and re.search(pattern, part)
        for part in (data(row["key"]), data(row["value"]), *headers)
    )


def test_every_filter_is_that_of_looking_at_every_record(kcli, made):
    chance = random.Random(1)
    records, batches = dumped(kcli, "--records", made), dumped(kcli, made)
    of = {(batch["file"], batch["position"]): batch for batch in batches}
    batch_of = [of[row["file"], row["position"]] for row in records]
    asked = []
    for _ in range(8):
        low, high = ranges([row["offset"] for row in records], chance)
        asked.append(
            (("--offsets", f"{low}..{high}"), lambda row, _, low=low, high=high: low <= row["offset"] <= high)
        )
        low, high = ranges([row["timestamp"] for row in records], chance)
        asked.append(
            (("--time", f"{low}..{high}"), lambda row, _, low=low, high=high: low <= row["timestamp"] <= high)
        )
    asked += [
        (("--epoch", "1"), lambda _, batch: batch["partition_leader_epoch"] == 1),
        (("--epoch", "0", "--epoch", "2"), lambda _, batch: batch["partition_leader_epoch"] in {0, 2}),
        (("--producer-id", "7"), lambda _, batch: batch["producer_id"] == 7),
        (("--transactional",), lambda _, batch: batch["is_transactional"]),
        (("--no-transactional",), lambda _, batch: not batch["is_transactional"]),
        (("--no-control",), lambda _, batch: not batch["is_control"]),
        (("--control",), lambda _, batch: batch["is_control"]),
        (("--codec", "lz4", "--codec", "none"), lambda _, batch: batch["compression"] in {"lz4", "none"}),
        (
            ("--producer-id", "8", "--codec", "zstd"),
            lambda _, batch: (batch["producer_id"], batch["compression"]) == (8, "zstd"),
        ),
    ]
    for words, is_selected in asked:
        expected = [row for row, batch in zip(records, batch_of, strict=True) if is_selected(row, batch)]
        assert dumped(kcli, "--records", *words, made) == expected, words
        places = {(row["file"], row["position"]) for row in expected}
        assert dumped(kcli, *words, made) == [
            batch for batch in batches if (batch["file"], batch["position"]) in places
        ], words
        assert dumped(kcli, "--records", "--tail", 3, *words, made) == expected[-3:], words
        text = kcli("dump", "-o", "text", "--deep-iteration", *words, made).stdout.splitlines()
        assert [int(line.split()[2]) for line in text if line.startswith("| offset")] == [
            row["offset"] for row in expected
        ], words
        assert sum(line.startswith("baseOffset") for line in text) == len(places), words
    for words, is_selected in [
        (("--key", "k2"), lambda row: data(row["key"]) == b"k2"),
        (("--key", ""), lambda row: data(row["key"]) == b""),
        (("--grep", "value 1"), lambda row: matches(b"value 1", row)),
        (("--grep", r"^x$"), lambda row: matches(b"^x$", row)),
        (("--grep", "k[13]"), lambda row: matches(b"k[13]", row)),
        (("--grep", "h"), lambda row: matches(b"h", row)),
        (("--grep", "k[13]", "--key", "k1"), lambda row: data(row["key"]) == b"k1"),
    ]:
        assert dumped(kcli, *words, made) == [row for row in records if is_selected(row)], words


@pytest.mark.parametrize("second", ["checksum", "magic"])
@pytest.mark.parametrize("words", [(), ("--key", "k"), ("--no-control",)])
@pytest.mark.parametrize(
    "shape", [("-o", "ndjson", "--records"), ("-o", "text", "--deep-iteration"), ("-o", "csv")]
)
def test_the_first_of_findings_is_that_of_the_first_byte(kcli, tmp_path, second, words, shape):
    """One of a message inside a wrapper comes before one of a later batch, verified in the same window."""
    wrapper = put_wrapper(
        1, put_message(0, key=b"k", value=b"v", crc=5) + put_message(1, key=b"k", value=b"v")
    )
    bad = bytearray(put_range(2, 1))
    bad[-1 if second == "checksum" else 16] ^= 1
    partition = log_dir(tmp_path / "d") / "orders-0"
    segment(partition, 0, wrapper + bytes(bad) + put_range(3, 2), b"", b"")
    reported = []
    for limit in ((), ("--limit", "99")):
        done = kcli("dump", *shape, *words, *limit, partition / f"{0:020}.log")
        reported.append((done.stdout, done.stderr))
    assert reported[0] == reported[1]
    assert ("the checksum of a message inside a wrapper" in "".join(reported[0])) is (
        "--records" in shape or "--deep-iteration" in shape or "--key" in words
    )


def test_the_last_of_a_partition_lie_in_several_segments(kcli, made):
    records, batches = dumped(kcli, "--records", made), dumped(kcli, made)
    for count in (1, 5, 13, 30, 1000):
        assert dumped(kcli, "--tail", count, made) == batches[-count:]
        assert dumped(kcli, "--records", "--tail", count, made) == records[-count:]
    text = kcli("dump", "-o", "text", "--tail", "13", made).stdout.splitlines()
    assert sum(line.startswith("baseOffset") for line in text) == 13


def test_limit_stops_reading(kcli, made, monkeypatch):
    from kcli.logdir.buffers import DataFile

    opened = []
    monkeypatch.setattr(DataFile, "__enter__", lambda self: opened.append(self.path) or self)
    assert len(dumped(kcli, "--records", "--limit", 3, "--only", "dump_record", made)) == 3
    assert len({path for path in opened if path.endswith(".log")}) == 1


def test_redacted_contents_are_sizes_and_hashes_that_are_equal_for_equal_bytes(kcli, tmp_path):
    secrets = [b"secret-key", b"secret-value", b"secret-header", b"secret-name"]
    records = [
        put_record(
            offset_delta=n,
            key=b"secret-key",
            value=b"secret-value",
            headers=[(b"secret-name", b"secret-header")],
        )
        for n in range(2)
    ]
    path = log_dir(tmp_path / "d") / "orders-0"
    segment(path, 0, put_records(records))
    for words in (
        ("-o", "json"),
        ("-o", "ndjson"),
        ("-o", "csv", "--only", "dump_record"),
        ("-o", "text"),
        ("-o", "text", "--skip-record-metadata"),
    ):
        result = kcli("dump", "--records", "--redact", *words, path)
        for secret in secrets:
            assert secret.decode() not in result.output
            assert base64.b64encode(secret).decode() not in result.output
            assert hashlib.sha256(secret).hexdigest()[:32] not in result.output
    first, second = dumped(kcli, "--records", "--redact", path)
    assert (
        first["key"] == second["key"]
        and first["key"]["size"] == 10
        and first["key"]["hash"] != first["value"]["hash"]
    )
    assert first["key"] != dumped(kcli, "--records", "--redact", path)[0]["key"]
    again = [dumped(kcli, "--records", "--redact", "--salt", "s", path) for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--time", "5"),
        ("--time", "20..10"),
        ("--time", "x..y"),
        ("--grep", "("),
        ("--grep", "a{99999999999999}"),
        ("--topic-regex", "a{99999999999999}"),
        ("--grep", "(" * 5000),
        ("--codec", "brotli"),
        ("--bytes", "rot13"),
        ("--bytes", "hex", "--redact"),
        ("--salt", "x"),
        ("--decoder", "orders"),
        ("--key-decoder-class", "com.example.Mine"),
        ("--tail", "5", "--max-bytes", "9"),
        ("--redact", "--salt", ""),
        ("--offsets", "1_0..2_0"),
        ("--only", "dump_record"),
        ("--records", "--only", "dump_batch"),
        ("--layout", "-o", "json", "--only", "dump_batch"),
        ("--only", "dump_layout"),
        ("-o", "text", "--columns", "offset"),
    ],
)
def test_words_that_mean_nothing_or_do_not_go_together(kcli, tmp_path, words):
    segment(tmp_path / "orders-0", 0, put_range(0, 3))
    result = kcli("dump", *words, tmp_path / "orders-0")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def single_records(count, base=0):
    return b"".join(put_records([put_record()], base_offset=base + number) for number in range(count))


def rows_of(kcli, *words):
    result = kcli("dump", "-o", "json", *words)
    return [
        row["offset" if "offset" in row else "base_offset"] for row in json.loads(result.stdout)["rows"]
    ], result


def test_offsets_where_a_partition_has_no_live_log(kcli, tmp_path):
    root = log_dir(tmp_path / "d")
    segment(root / "orders-0", 0, put_records([put_record()]))
    (root / "empty-0").mkdir()
    (root / "gone-0").mkdir()
    (root / "gone-0" / f"{0:020}.log.deleted").write_bytes(put_records([put_record()]))
    found, result = rows_of(kcli, "--offsets", "0..10", root)
    assert found == [0, 0]
    assert result.exit_code == 0


@pytest.mark.parametrize("valid", [True, False])
def test_one_batch_of_a_high_base_offset_does_not_end_a_selection(kcli, tmp_path, valid):
    batches = [bytearray(put_records([put_record()], base_offset=number)) for number in range(10)]
    batches[2][0] = 0x40
    if not valid:
        batches[2][-1] ^= 1
    segment(tmp_path / "orders-0", 0, b"".join(batches))
    found, result = rows_of(kcli, "--offsets", "5..7", tmp_path / "orders-0")
    assert found == [5, 6, 7]
    assert ("LOG-003" in result.stdout) is not valid


def test_a_selection_ends_after_the_last_offset(kcli, tmp_path):
    segment(tmp_path / "orders-0", 0, single_records(10) + b"damage" * 9)
    found, result = rows_of(kcli, "--offsets", "5..7", tmp_path / "orders-0")
    assert found == [5, 6, 7]
    assert "LOG-002" not in result.stdout


def test_segments_may_overlap(kcli, tmp_path):
    for base, count in ((0, 20), (10, 5)):
        segment(tmp_path / "orders-0", base, single_records(count, base))
    assert rows_of(kcli, "--offsets", "16..18", tmp_path / "orders-0")[0] == [16, 17, 18]


def test_a_record_of_a_million_headers_is_refused_and_the_switch_is_named(kcli, tmp_path):
    many = put_record(headers=[(b"", b"")] * 140_000)
    segment(tmp_path / "orders-0", 0, put_records([many], 1))
    _, result = rows_of(kcli, "--records", tmp_path / "orders-0")
    assert "headers count" in result.stdout and "--max-batch-bytes" in result.stdout
    assert rows_of(kcli, "--records", "--max-batch-bytes", 1 << 28, tmp_path / "orders-0")[0] == [0]


def test_max_bytes_that_cut_a_good_log_are_no_damage(kcli, tmp_path):
    segment(tmp_path / "orders-0", 0, single_records(10))
    for words in (("--only", "dump_batch"), ("-o", "text")):
        cut = ("--max-bytes", "100", "--fail-on", "warning")
        assert kcli("dump", *cut, *words, tmp_path / "orders-0").exit_code == 0


def test_redacted_header_keys_are_hashes_of_their_bytes(kcli, tmp_path):
    segment(tmp_path / "orders-0", 0, put_records([put_record(headers=[(b"\xff", b"")])]))
    (row,) = dumped(kcli, "--records", "--redact", "--salt", "s", tmp_path / "orders-0")
    key = row["headers"][0]["key"]
    assert key == hmac.new(b"s", b"\xff", hashlib.sha256).hexdigest()[:32]
    assert (
        key
        in kcli("dump", "-o", "text", "--records", "--redact", "--salt", "s", tmp_path / "orders-0").stdout
    )


def test_bytes_as_text_in_parquet(kcli, tmp_path):

    segment(
        tmp_path / "orders-0",
        0,
        put_records([put_record(key=b"\xff", value=b"v", headers=[(b"h", b"\xfe")])]),
    )
    out = tmp_path / "out.parquet"
    log = tmp_path / "orders-0" / f"{0:020}.log"
    assert kcli("dump", "--records", "--bytes", "text", "--out", out, log).exit_code == 0
    (row,) = pq.read_table(out).to_pylist()
    assert (json.loads(row["key"]), json.loads(row["value"])) == ({"base64": "/w=="}, "v")
    assert kcli("dump", "--layout", "--out", tmp_path / "layout.parquet", log).exit_code == 0


def test_the_command_that_truncate_names_saves_what_goes(kcli, made):
    result = kcli("truncate", "--dry-run", "--to-offset", "30", "--shutdown", "clean", "-o", "json", made)
    (row,) = json.loads(result.stdout)["rows"]
    words = shlex.split(
        next(warning for warning in row["warnings"] if "kcli dump" in warning).partition("kcli ")[2]
    )
    (made / f"{30:020}.log.deleted").write_bytes((made / f"{0:020}.log").read_bytes())
    saved = [json.loads(line) for line in kcli(*words[:-1], *glob.glob(words[-1])).stdout.splitlines()]
    offsets = [line["offset"] for line in saved if line["type"] == "dump_record"]
    assert sorted(offsets) == list(range(row["log_end_offset_after_restart"], row["log_end_offset_before"]))
