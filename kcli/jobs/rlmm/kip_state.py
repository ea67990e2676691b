"""`rlmm state` and `rlmm check` of what KIP-405 lays out: the topic's records, and flat files before them.

Its messages come to the events that the cache takes. They have a leader epoch and no broker: its id is -1.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from formats.errors import FormatError
from formats.kip405 import LARGEST_FILE, KipMessage, flat_entries, read_flat_file, read_record
from formats.names import LOG, REMOTE_LOG_SNAPSHOT, UNKNOWN
from formats.remote_metadata import (
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
    RemotePartitionDeleteMetadata,
    SegmentLeaderEpoch,
)
from formats.remote_snapshot import RemoteLogSnapshotHeader
from kcli.engine.contract import Unit
from kcli.jobs.rlmm import dump as rlmm
from kcli.jobs.rlmm.events import Event, report_end, values_of
from kcli.jobs.rlmm.fold import FoldedDirectory, by_directory
from kcli.jobs.rlmm.snapshots import EVENTS, Here, SnapshotFile
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.cache import RemoteCache, RemoteStore
from kcli.kafka.remote.events_here import EventsHere
from kcli.logdir.buffers import DataFile, FileError, read_whole, reading
from kcli.logdir.bulk import BulkWalk
from kcli.logdir.tree import Found, Target

NO_BROKER = -1
LAYOUT = "kip"


def expand(source: str | None, found: Found) -> Found:
    """Return the same with flat files, which have no name of their own, as the snapshots that they are.

    With EVENTS as the source they are left out.
    """
    found = rlmm.expand(found)
    targets = [
        replace(target, kind=REMOTE_LOG_SNAPSHOT) if target.kind == UNKNOWN else target
        for target in found.targets
        if target.kind == LOG or (target.kind in {UNKNOWN, REMOTE_LOG_SNAPSHOT} and source != EVENTS)
    ]
    return replace(found, targets=targets)


def grouped(units: list[Unit], _: bool) -> list[Unit]:  # noqa: FBT001 - as every split
    """Return a unit for each directory of the topic, or of flat files and the one directory that is named.

    ValueError for several: a flat file does not say of which metadata partition its offset is.
    """
    files = [unit.target for unit in units if unit.target.kind == REMOTE_LOG_SNAPSHOT]
    logs = by_directory([unit for unit in units if unit.target.kind == LOG])
    if not files:
        return logs
    if len(logs) > 1:
        raise ValueError("a flat file does not say which metadata partition it is of: name one with it")
    return [Unit(number=0, targets=(*files, *(target for unit in logs for target in unit.targets)))]


def events(file: DataFile, findings: FindingCollector, here: EventsHere) -> Iterator[Event]:
    """Yield the events of a segment of the topic in order; what else there is are findings.

    `here` takes the offsets of all that is read.
    """
    walk = BulkWalk(file)
    for window in walk:
        here.add_batches(window.fields)
        for part in values_of(file, window, findings, EventsHere()):
            for offset, value, position in zip(*part, strict=True):
                if value is None:
                    findings.add("RLMM-002", position, f"offset {offset}: null value")
                    continue
                try:
                    yield offset, _event(read_record(value))
                except FormatError as error:
                    findings.add("RLMM-001", position, f"offset {offset}: {error}")
    report_end(file, walk.stop, findings, EventsHere())


def _event(
    message: KipMessage,
) -> RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate | RemotePartitionDeleteMetadata:
    fields = message.fields
    common: dict[str, Any] = {"layout": LAYOUT, "version": message.version, "broker_id": NO_BROKER}
    common["unknown_tags"] = ()
    common["event_timestamp_ms"] = fields["eventTimestamp"]
    segment = fields.get("remoteLogSegmentId")
    of = fields["topicIdPartition"] if segment is None else segment["topicIdPartition"]
    common |= {"topic": of["name"], "topic_id": of["id"], "partition": of["partition"]}
    if segment is None:
        return RemotePartitionDeleteMetadata(**common, state=fields["remotePartitionDeleteState"])
    common |= {"segment_id": segment["id"], "custom_metadata": None, "state": fields["remoteLogSegmentState"]}
    if "startOffset" not in fields:
        return RemoteLogSegmentMetadataUpdate(**common)
    return RemoteLogSegmentMetadata(**common, **_of_segment(fields))


def _of_segment(fields: dict[str, Any]) -> dict[str, Any]:
    entries = fields["segmentLeaderEpochs"]
    return {
        "start_offset": fields["startOffset"],
        "end_offset": fields["endOffset"],
        "max_timestamp_ms": fields["maxTimestamp"],
        "segment_leader_epochs": tuple(SegmentLeaderEpoch(e["leaderEpoch"], e["offset"]) for e in entries),
        "segment_size_in_bytes": fields["segmentSizeInBytes"],
        "txn_index_empty": None,
    }


def load(target: Target, here: Here, _: FindingCollector) -> SnapshotFile:
    """Return a flat file as a start would load it. FileError where it cannot be read."""
    if target.name is None:
        reason = "its directory does not say which partition it is of: expected one named topic-partition"
        raise FileError(target.path, "no-partition", reason)
    data = read_whole(target.path, LARGEST_FILE)
    cache, store, count = RemoteCache(), RemoteStore(), 0
    with reading(target.path):
        head, position = read_flat_file(data)
        key = (head.topic_id, head.topic, target.name.partition)
        for _at, message in flat_entries(data, position):
            count += 1
            fields = message.fields
            common: dict[str, Any] = {"layout": LAYOUT, "version": message.version, "broker_id": NO_BROKER}
            common |= {"event_timestamp_ms": fields["eventTimestamp"], "unknown_tags": ()}
            if "segmentId" in fields:
                more: dict[str, Any] = {
                    "segment_id": fields["segmentId"],
                    "state": fields["remoteLogSegmentState"],
                }
                more |= {"custom_metadata": None, **_of_segment(fields)}
                cache.load(RemoteLogSegmentMetadataSnapshot(**common, **more), key)
            else:
                place: dict[str, Any] = {"topic_id": key[0], "topic": key[1], "partition": key[2]}
                state = fields["remotePartitionDeleteState"]
                store.apply(RemotePartitionDeleteMetadata(**common, **place, state=state), -1)
    store.caches[key] = cache
    folded = FoldedDirectory(os.path.dirname(target.shown) or ".", None, store)
    header = RemoteLogSnapshotHeader(head.magic, -1, head.metadata_offset, count)
    found = SnapshotFile(target, header, folded, key, None, {}, RemoteStore(), here)
    found.loaded = found.segments(store)
    return found
