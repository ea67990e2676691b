"""The readers against what Kafka's DumpLogSegments printed for the same bytes, fact by fact."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from formats.control import control_record
from formats.index import (
    OFFSET_INDEX_ENTRY,
    TIME_INDEX_ENTRY,
    TXN_INDEX_ENTRY,
    valid_offset_entries,
    valid_time_entries,
)
from formats.magic import is_valid
from formats.messages.converter import control_json
from formats.producer_snapshot import read_snapshot
from formats.record import Record, batch_records
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk
from tests.golden import Dumped, Fact
from tests.recordings import pack
from tests.recordings.golden import dumped, golden

pytestmark = pytest.mark.slow

LIMIT = 1 << 20
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

LEADER_CHANGE = " LeaderChange: "
EMPTY = re.compile(r"\S+\.(index|timeindex) is empty\.")
ZEROS = {".index": {"position": 0}, ".timeindex": {"timestamp": 0}}

TOLERATED: dict[str, tuple[str, Callable[[Dumped], bool]]] = {
    "says that an index is empty": (
        "kcli has no entries then, which is the same fact",
        lambda file: any(map(EMPTY.fullmatch, file.remarks)),
    ),
    "prints the first of nothing but preallocated slots as an entry": (
        "the tool stops at the second slot that does not rise; kcli sees that the first is zeros as well",
        lambda file: bool(without_preallocated(file) != file.entries),
    ),
    "marks bad UTF-8 in keys and values with as many characters as Java does": (
        (
            "Python's count differs within a run of bad bytes; sizes are compared, and formats.record gives "
            "the bytes"
        ),
        lambda file: any("\ufffd" in str(record["rest"]) for record in file.records),
    ),
}
"""What the tool does and kcli does not: why that is no difference, whether it did so for a file."""


def without_preallocated(file: Dumped) -> list[Fact]:
    """The entries, without one that is only the base offset and zero."""
    zeros = ZEROS.get(Path(file.path).suffix)
    return (
        []
        if zeros is not None and file.entries == [{"offset": base_offset(Path(file.path)), **zeros}]
        else file.entries
    )


def base_offset(path: Path) -> int:
    return int(path.name.split(".")[0])


def facts(row: object, *names: str) -> Fact:
    """Some values of a row under the tool's names."""
    return {re.sub("_(.)", lambda letter: letter[1].upper(), name): getattr(row, name) for name in names}


BATCH = (
    *("base_offset", "last_offset", "base_sequence", "last_sequence", "producer_id", "producer_epoch"),
    *("partition_leader_epoch", "is_transactional", "is_control", "delete_horizon_ms"),
    *("size", "magic", "crc"),
)


def batches(path: Path) -> Iterator[Fact]:
    """What kcli reads of a log."""
    file = DataFile(str(path))
    for position, header in Walk(file):
        yield {
            **facts(header, *BATCH),
            "count": header.records_count,
            "position": position,
            header.timestamp_type: header.max_timestamp,
            "compresscodec": CODECS[header.codec],
            "isvalid": is_valid(file.read(position, header.size)),
        }
    file.close()


def offset_index(path: Path) -> Iterator[Fact]:
    data = path.read_bytes()
    valid = valid_offset_entries([data], path.with_suffix(".log").stat().st_size)
    for entry in OFFSET_INDEX_ENTRY.rows(data[: valid * OFFSET_INDEX_ENTRY.size]):
        yield {"offset": base_offset(path) + entry.relative_offset, "position": entry.position}


def time_index(path: Path) -> Iterator[Fact]:
    data = path.read_bytes()
    for entry in TIME_INDEX_ENTRY.rows(data[: valid_time_entries([data]) * TIME_INDEX_ENTRY.size]):
        yield {"timestamp": entry.timestamp, "offset": base_offset(path) + entry.relative_offset}


def snapshot(path: Path) -> Iterator[Fact]:
    for entry in read_snapshot(path.read_bytes()).entries:
        first, last = entry.current_txn_first_offset, entry.last_sequence
        batch: Fact = {}
        if entry.last_offset >= 0:  # the only one that a snapshot keeps; none where a marker came last
            batch = facts(entry, "last_sequence", "last_offset", "offset_delta", "timestamp")
            batch["firstSequence"] = last - entry.offset_delta if last >= 0 else last
        yield {
            **facts(entry, "producer_id", "producer_epoch", "coordinator_epoch"),
            "currentTxnFirstOffset": None if first == -1 else first,
            "lastTimestamp": entry.timestamp,
            **batch,
        }


def txn_index(path: Path) -> Iterator[Fact]:
    names = ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset")
    for entry in TXN_INDEX_ENTRY.rows(path.read_bytes()):
        yield facts(entry, *names)


READERS: dict[str, Callable[[Path], Iterator[Fact]]] = {
    ".log": batches,
    ".index": offset_index,
    ".timeindex": time_index,
    ".snapshot": snapshot,
    ".txnindex": txn_index,
}


@pytest.mark.parametrize("name", pack.NAMES)
def test_every_file_was_dumped(name, recording):
    assert sorted(file.path for file in golden(name)) == dumped(recording(name))


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("name", pack.NAMES)
def test_entries(name, suffix, recording):
    for file in golden(name):
        if file.path.endswith(suffix):
            assert list(READERS[suffix](recording(name) / file.path)) == without_preallocated(file), file.path


@pytest.mark.parametrize(
    ("suffix", "least"),
    [(".log", 500), (".index", 200), (".timeindex", 200), (".snapshot", 50), (".txnindex", 10)],
)
def test_there_is_enough_to_compare(suffix, least):
    assert (
        sum(len(file.entries) for name in pack.NAMES for file in golden(name) if file.path.endswith(suffix))
        >= least
    )


@pytest.mark.parametrize("name", pack.NAMES)
def test_records(name, recording):
    compared = 0
    for file in golden(name):
        if file.path.endswith(".log"):
            assert list(records(recording(name) / file.path)) == [spoken(fact) for fact in file.records], (
                file.path
            )
            compared += len(file.records)
    assert compared > 100


def records(path: Path) -> Iterator[Fact]:
    """What kcli reads of every record; key and value as the tool prints them."""
    file = DataFile(str(path))
    for position, header in Walk(file):
        for record in batch_records(file.read(position, header.size), LIMIT):
            yield {
                "offset": record.offset,
                "timestamp_type": header.timestamp_type,
                "timestamp": record.timestamp,
                "key_size": -1 if record.key is None else len(record.key),
                "value_size": -1 if record.value is None else len(record.value),
                "sequence": record.sequence,
                "header_keys": ",".join(key.decode() for key, _ in record.headers),
                "rest": said(record, is_control=header.is_control),
            }
    file.close()


def said(record: Record, *, is_control: bool) -> object:
    """What the tool prints of a record's contents; the JSON of a leader change as its value."""
    if not is_control:
        key = "" if record.key is None else f" key: {java_text(record.key)}"
        return key + ("" if record.value is None else f" payload: {java_text(record.value)}")
    found = control_record(record.key, record.value)
    if found.name == "LEADER_CHANGE":
        return control_json(found.value)
    return f" endTxnMarker: {found.name} coordinatorEpoch: {found.value.fields['coordinatorEpoch']}"


def java_text(data: bytes) -> str:
    """The text of bytes as Java decodes UTF-8."""
    return one_mark(data.decode(errors="replace"))


def one_mark(text: str) -> str:
    """A text with one mark for each run of marks of bad bytes."""
    return re.sub("\ufffd+", "\ufffd", text)


def spoken(fact: Fact) -> Fact:
    """A golden record, the JSON of a leader change as its value."""
    rest = str(fact["rest"])
    return {
        **fact,
        "rest": json.loads(rest.removeprefix(LEADER_CHANGE))
        if rest.startswith(LEADER_CHANGE)
        else one_mark(rest),
    }


def test_nothing_else_is_said():
    remarks = [remark for name in pack.NAMES for file in golden(name) for remark in file.remarks]
    assert [remark for remark in remarks if not EMPTY.fullmatch(remark)] == []


@pytest.mark.parametrize("tolerated", TOLERATED)
def test_every_tolerance_is_needed(tolerated):
    assert any(TOLERATED[tolerated][1](file) for name in pack.NAMES for file in golden(name))
