"""`check --since` night after night: it says what a check of everything says, and reads what is new."""

import json
import os
import random
import struct

import pytest

from formats.names import parse_file
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk
from tests.builders import put_record, put_records
from tests.kcli.jobs.growing import Log
from tests.partitions import offset_entries, orders, put_range, segment
from tests.recordings import pack

pytestmark = pytest.mark.slow

SEEDS, NIGHTS = 40, 6
EVERYTHING = ("append",) * 6 + ("roll", "roll", "retain", "truncate", "elect", "restart")


def found(document):
    """Return the result of each row, and what is wrong: all but findings of level info."""
    rows = {row["dir"]: (row["result"], row["log_end_offset"]) for row in document["rows"]}
    findings = {
        (finding["code"], finding["path"], finding["position"], finding["message"])
        for finding in document["findings"]
        if finding["severity"] != "info"
    }
    return rows, findings, document["errors"]


def a_day(log, choose, what_may_be=EVERYTHING):
    """Let a broker write for a day, and what else may happen."""
    for _ in range(choose.randrange(0, 4)):
        what = choose.choice(what_may_be)
        if not log.is_running:
            log.start()
        if what == "append":
            for _ in range(choose.randrange(1, 12)):
                log.append()
            log.write(log.active)
        elif what == "truncate":
            batches = [batch for base in sorted(log.segments) for batch in log.segments[base]]
            back = choose.choice((1, 2, 5, 20, 40))
            if len(batches) > back:
                log.truncate(batches[-back].base)
        elif what == "restart":
            log.stop()
        else:
            getattr(log, what)()


def sizes(log):
    return {path.name: path.stat().st_size for path in log.directory.glob("*.log")}


def damage(log, choose, checked):
    """Change a byte, of a log that grew a new one (the rest is not read again), or remove a segment."""
    if choose.random() < 0.2:
        for path in log.directory.glob(f"{choose.choice(sorted(log.segments)):020d}.*"):
            path.unlink()
        return
    paths = sorted(path for path in log.directory.glob("0*") if path.stat().st_size)
    if not paths:
        return
    path = choose.choice(paths)
    data = bytearray(path.read_bytes())
    has_grown = len(data) > checked.get(path.name, len(data))
    at = choose.randrange(checked[path.name] if has_grown else 0, len(data))
    data[at] ^= 1 << choose.randrange(8)
    path.write_bytes(data)


@pytest.fixture
def check(kcli):
    def run(*words):
        return json.loads(kcli("check", "-o", "json", *words).stdout)

    return run


@pytest.fixture
def reads(monkeypatch):
    """What was read of each file: its name, and from where to where."""
    found: list[tuple[str, int, int]] = []
    has_read = DataFile._has_read

    def noted(file, position, length):
        found.append((file.path, position, position + length))
        has_read(file, position, length)

    monkeypatch.setattr(DataFile, "_has_read", noted)
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_night_finds_what_a_check_of_everything_finds(check, tmp_path, seed):
    choose = random.Random(seed)
    log = Log(tmp_path / "data", choose)
    checked: dict[str, int] = {}
    for night in range(NIGHTS):
        a_day(log, choose)
        if seed % 4 == 1 and choose.random() < 0.3:
            damage(log, choose, checked)
        if seed % 4 == 3:
            log.faults.add(choose.choice(("sequences", "snapshots", "transactions", "markers")))
        words = (*choose.choice(((), (), ("--records",))), log.root)
        whole, since = check(*words), check("--since", tmp_path / "state", *words)
        assert found(since) == found(whole), night
        checked = sizes(log)
        assert seed % 2 or found(whole)[1:] == (set(), []), night


@pytest.mark.parametrize("seed", range(10))
def test_of_segments_that_were_verified_no_byte_is_read_again(check, tmp_path, reads, seed):
    choose = random.Random(seed)
    log = Log(tmp_path / "data", choose)
    checked: dict[str, tuple[int, ...]] = {}
    for _ in range(NIGHTS):
        a_day(log, choose, ("append", "append", "roll", "retain", "elect"))
        reads.clear()
        document = check("--since", tmp_path / "state", log.root)
        now = {  # a roll cuts the indexes
            path.name: (path.stat().st_size, path.with_suffix(".index").stat().st_size)
            for path in log.directory.glob("*.log")
        }
        same = {name for name, size in now.items() if checked.get(name) == size}
        assert not same & {os.path.basename(path) for path, _, _ in reads}
        (row,) = (row for row in document["rows"] if row["topic"])
        assert row["log_bytes"] == sum(size for name, (size, _) in now.items() if name not in same)
        checked = now


def test_batches_that_a_follower_fetched_again_are_read_again(check, tmp_path):
    log = Log(tmp_path / "data", random.Random(3))
    for _ in range(30):
        log.append()
    log.write(log.active)
    assert found(check("--since", tmp_path / "state", log.root))[1] == set()
    cut = log.segments[log.active][-8:]
    log.truncate(cut[0].base)
    raw = bytearray(cut[2].raw)
    raw[-1] ^= 1
    log.fetch_again([*cut[:2], cut[2]._replace(raw=bytes(raw)), *cut[3:]])
    log.append()
    log.write(log.active)
    whole, since = check(log.root), check("--since", tmp_path / "state", log.root)
    assert found(since) == found(whole)
    assert "LOG-003" in {code for code, *_ in found(whole)[1]}


@pytest.mark.parametrize(
    ("code", "then"),
    [
        ("EPOCH-008", lambda last, epoch: put_range(10, 5, 0, last.timestamp, 0) + put_range(15, 2, epoch)),
        ("LOG-017", lambda last, epoch: last.raw * 2),
    ],
)
def test_a_last_batch_that_another_of_its_size_replaced_or_follows(check, tmp_path, code, then):
    log = Log(tmp_path / "data", random.Random(3))
    log.elect()
    log.put("plain", -1, 10)
    log.put("plain", -1, 5)
    log.write(log.active)
    since = ("--since", tmp_path / "state", log.root)
    assert found(check(*since))[1] == set()
    path, last = log.path(0, "log"), log.segments[0][-1]
    path.write_bytes(path.read_bytes()[: -len(last.raw)] + then(last, log.epoch))
    whole = found(check(log.root))
    assert code in {code for code, *_ in whole[1]}
    assert found(check(*since))[:2] == whole[:2]


def test_stale_entries_of_an_index_are_found_each_time(check, tmp_path):
    """They are a note until the broker is said to have stopped cleanly."""
    log = Log(tmp_path / "data", random.Random(3))
    for _ in range(30):
        log.append()
    log.write(log.active)
    index = log.path(log.active, "index")
    entries = index.read_bytes().rstrip(b"\0")
    index.write_bytes(entries.ljust(-(-len(entries) // 8) * 8, b"\0") + offset_entries((9999, 99999)))
    for _ in range(2):
        since = check("--since", tmp_path / "state", log.root)
        assert [finding["code"] for finding in since["findings"]].count("IDX-010") == 1
    (log.root / ".kafka_cleanshutdown").write_text("")
    whole, since = check(log.root), check("--since", tmp_path / "state", log.root)
    assert found(since) == found(whole)
    assert "IDX-004" in {code for code, *_ in found(whole)[1]}


@pytest.mark.slow
def test_recorded_logs_grow_as_they_did(check, tmp_path):
    """Each last segment without its last batches, and the next night as the broker left it."""
    for name in ("single", "tiered", "truncation", "failover"):
        pack.unpack(name, tmp_path)
    for root in sorted(path.parent for path in tmp_path.glob("*/*/meta.properties")):
        stopped = root / ".kafka_cleanshutdown"
        marker = stopped.read_bytes() if stopped.exists() else None
        stopped.unlink(missing_ok=True)
        taken = [cut for directory in root.glob("*-[0-9]*") for cut in shortened(directory)]
        check("--since", tmp_path / "state", root)
        for path, rest in taken:
            if rest is None:
                path.with_suffix(".put-aside").rename(path)
            else:
                with path.open("ab") as file:
                    file.write(rest)
        if marker is not None:
            stopped.write_bytes(marker)
        whole, since, again = check(root), *(check("--since", tmp_path / "state", root) for _ in range(2))
        assert found(since) == found(again) == found(whole), root
        assert found(whole)[1] == set(), root
        grown = [path for path, rest in taken if rest is not None and path.suffix == ".log"]
        read = [sum(row["log_bytes"] or 0 for row in document["rows"]) for document in (since, again)]
        assert read == [sum(path.stat().st_size for path in grown), 0], root
        assert read[0] > 0, root


def shortened(directory):
    """Cut the last segment in its middle with its entries, or put files aside; yield what was taken."""
    log = max(directory.glob("*.log"), default=None)
    if log is None or parse_file(log.name).is_inactive:
        return
    with DataFile(str(log)) as file:
        batches = list(Walk(file))
    if len(batches) < 2:
        return
    at, header = batches[len(batches) // 2]
    base = int(log.stem)
    for path, size, is_before in (
        (log, 1, lambda position, _: position < at),
        (log.with_suffix(".index"), 8, lambda _, entry: int.from_bytes(entry[4:]) < at),
        (
            log.with_suffix(".timeindex"),
            12,
            lambda _, entry: base + int.from_bytes(entry[8:]) < header.base_offset,
        ),
        (
            log.with_suffix(".txnindex"),
            34,
            lambda _, entry: int.from_bytes(entry[18:26]) < header.base_offset,
        ),
    ):
        data = path.read_bytes() if path.exists() else b""
        kept = 0
        while kept < len(data) and is_before(kept, data[kept : kept + size]):
            kept += size
        if kept < len(data):
            os.truncate(path, kept)
            yield path, data[kept:]
    for path in directory.glob("*.snapshot"):
        if int(path.stem) > header.base_offset:
            path.rename(path.with_suffix(".put-aside"))
            yield path, None


@pytest.mark.parametrize("roll", [None, 5])
def test_a_batch_that_is_lost_before_a_transaction_ends_is_found(check, tmp_path, roll):
    """From Kafka 4.0 on the end marker begins the producer's next epoch (KIP-890)."""

    def batch(base, count, epoch, sequence):
        return put_range(
            base, count, attributes=0x10, producer_id=5, producer_epoch=epoch, base_sequence=sequence
        )

    marker = put_record(key=struct.pack(">hh", 0, 1), value=struct.pack(">hi", 0, 0))
    end = put_records([marker], base_offset=6, attributes=0x30, producer_id=5, producer_epoch=4)
    known, new = batch(0, 5, 3, 0), batch(5, 1, 3, 9) + end + batch(7, 3, 4, 0)
    directory = orders(tmp_path / "whole", known, *([new] if roll is None else []), epochs=((0, 0),))
    if roll is not None:
        segment(directory, roll, new)
    assert "PROD-003" in {code for code, *_ in found(check(directory.parent))[1]}

    directory = orders(tmp_path / "grown", known, epochs=((0, 0),), clean=False)
    check("--since", tmp_path / "state", directory.parent)
    log = directory / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + new)
    since = check("--since", tmp_path / "state", directory.parent)
    assert sum(row["log_bytes"] or 0 for row in since["rows"]) == log.stat().st_size
    assert "PROD-003" in {code for code, *_ in found(since)[1]}
