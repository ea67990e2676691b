"""The readers against what Kafka's DumpLogSegments printed for the same bytes, fact by fact."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
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
from tests.golden import Dumped, Fact, parse
from tests.recordings import pack
from tests.recordings.golden import dumped

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


@cache
def golden(name: str) -> list[Dumped]:
    """What the tool printed for the files of a recording: every file once with its records."""
    found: dict[str, Dumped] = {}
    for file in parse(pack.golden(name)):
        found.setdefault(file.path, file)  # the second time the decoder of remote log metadata ran
    return list(found.values())


def base_offset(path: Path) -> int:
    return int(path.name.split(".")[0])


def batches(path: Path) -> Iterator[Fact]:
    """What kcli reads of a log, under the tool's names."""
    file = DataFile(str(path))
    for position, header in Walk(file):
        yield {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.records_count,
            "baseSequence": header.base_sequence,
            "lastSequence": header.last_sequence,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.partition_leader_epoch,
            "isTransactional": header.is_transactional,
            "isControl": header.is_control,
            "deleteHorizonMs": header.delete_horizon_ms,
            "position": position,
            header.timestamp_type: header.max_timestamp,
            "size": header.size,
            "magic": header.magic,
            "compresscodec": CODECS[header.codec],
            "crc": header.crc,
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
        yield {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": None
            if entry.current_txn_first_offset == -1
            else entry.current_txn_first_offset,
            "lastTimestamp": entry.timestamp,
            # the tool names the only batch of a producer that a snapshot keeps; without one (a marker came
            # last) none
            **(
                {}
                if entry.last_offset < 0
                else {
                    "firstSequence": entry.last_sequence - entry.offset_delta
                    if entry.last_sequence >= 0
                    else entry.last_sequence,
                    "lastSequence": entry.last_sequence,
                    "lastOffset": entry.last_offset,
                    "offsetDelta": entry.offset_delta,
                    "timestamp": entry.timestamp,
                }
            ),
        }


def txn_index(path: Path) -> Iterator[Fact]:
    for entry in TXN_INDEX_ENTRY.rows(path.read_bytes()):
        yield {
            "version": entry.version,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }


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
