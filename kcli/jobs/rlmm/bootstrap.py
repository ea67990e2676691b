"""`rlmm bootstrap`: remote log metadata of a live cluster as its files would give it, and live offsets."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from formats.names import LOG, REMOTE_LOG_METADATA, PartitionDir
from formats.remote_metadata import RemoteLogMetadata
from kcli.broker.cluster import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    Cluster,
    ClusterError,
    ClusterRecord,
    ListedOffset,
    TopicPartition,
)
from kcli.engine.contract import Job, Outcome, Unit
from kcli.engine.inline import inline
from kcli.jobs.rlmm.dump import event_row, is_selected
from kcli.jobs.rlmm.state import every_segment
from kcli.jobs.rlmm.tiers import offsets
from kcli.jobs.tiered_leader import with_metadata
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import RemoteStore
from kcli.kafka.remote.coverage import EventCoverage
from kcli.kafka.remote.events import EventQuery, EventReader
from kcli.logdir.targets import Selection, Target
from kcli.rows import Failure, Item
from kcli.rows.remote_metadata import RlmmEventRow
from kcli.rows.remote_segments import RemotePartition
from kcli.rows.remote_tiers import RlmmClusterOffsetRow, RlmmOffsetsRow

ROWS_PER_OUTCOME = 2000

SPECIAL = {
    -2: "earliest",
    -4: "earliest_local",
    -5: "latest_tiered",
    -6: "earliest_pending_upload",
    -1: "latest",
    -3: "max_timestamp",
}
"""A special timestamp of ListOffsets -> the columns of `rlmm offsets` about it, in the order of offsets."""

_Decoded: TypeAlias = tuple[ClusterRecord, RemoteLogMetadata | None, str | None]
"""A record of the topic, what it says, None where it cannot be decoded, and why a broker cannot use it."""
OffsetsOnDisk: TypeAlias = dict[TopicPartition, list[RlmmOffsetsRow]]


def events(cluster: Cluster, selection: Selection) -> Iterator[Outcome]:
    """Yield the events of each metadata partition in order, as `rlmm dump` gives them of files."""
    for number, target in (yield from _targets(cluster)):
        directory, file = target.path.rsplit("/", 1)
        event = RlmmEventRow(directory, file, metadata_partition=number)
        findings, rows = FindingCollector(target), list[Item]()
        try:
            for record, metadata, refused in _events(cluster, number, findings):
                of_record = event._replace(metadata_offset=record.offset, timestamp=record.timestamp)
                row = event_row(of_record, record.value, metadata, refused)
                if not selection.names or is_selected(row, target, selection):
                    rows.append(row)
                if len(rows) >= ROWS_PER_OUTCOME:
                    yield Outcome(number=number, rows=rows)
                    rows = []
        except ClusterError as error:
            yield replace(_failed(target.shown, error, number), rows=rows, findings=findings.take())
        else:
            yield Outcome(number=number, rows=rows, findings=findings.take())


def state(cluster: Cluster, selection: Selection, on_disk: OffsetsOnDisk) -> Iterator[Outcome]:
    """Yield the remote segments of each metadata partition as `rlmm state` does, then live ListOffsets."""
    partitions: dict[TopicPartition, bool] = {}
    for number, target in (yield from _targets(cluster)):
        findings, store = FindingCollector(target), RemoteStore()
        outcome = Outcome(number=number)
        try:
            usable = (
                (record.offset, metadata)
                for record, metadata, refused in _events(cluster, number, findings)
                if metadata is not None and refused is None
            )
            for offset, metadata in EventQuery(selection).select(usable, EventCoverage()):
                store.apply(metadata, offset)
        except ClusterError as error:
            outcome = _failed(target.shown, error, number)
        for (topic_id, topic, partition), cache in store:
            has_segments = bool(cache.segments) and (topic_id, topic, partition) not in store.deletions
            partitions[topic, partition] = has_segments or partitions.get((topic, partition), False)
            user = RemotePartition(target.path, number, topic_id, topic, partition)
            outcome.rows.extend(every_segment(user, cache))
        yield replace(outcome, findings=findings.take())
    yield from _absent(cluster, partitions)
    yield from _offsets(cluster, sorted(partitions), on_disk)


def offsets_on_disk(units: list[Unit], selection: Selection) -> tuple[OffsetsOnDisk, list[Outcome]]:
    """Return the rows of `rlmm offsets` of the units' user partitions, and outcomes without them."""
    on_disk: OffsetsOnDisk = {}
    outcomes = []
    for outcome in inline(Job(offsets), with_metadata(units, (), selection)):
        for row in outcome.rows:
            if not isinstance(row, RlmmOffsetsRow):
                continue
            if row.where.topic is not None and row.where.partition is not None:
                on_disk.setdefault((row.where.topic, row.where.partition), []).append(row)
        outcomes.append(replace(outcome, rows=[]))
    return on_disk, outcomes


def _targets(cluster: Cluster) -> Generator[Outcome, None, list[tuple[int, Target]]]:
    """Return a target for each partition of the topic, none (and why) where this client may not read it."""
    targets = []
    for topic, partition in sorted(cluster.leaders):
        if topic == REMOTE_LOG_METADATA:
            path, name = f"{cluster.settings.servers}/{topic}-{partition}", PartitionDir(topic, partition)
            target = Target(kind=LOG, path=path, shown=path, name=name, log_dir=None)
            targets.append((partition, target))
    if not targets:
        message = f"no {REMOTE_LOG_METADATA} that this client may see: is remote storage enabled there?"
        failure = Failure(cluster.settings.servers, "nothing-matched", None, None, message)
        yield Outcome(number=0, error=failure)
        return []
    refused = cluster.refused([REMOTE_LOG_METADATA], to_read=True).get(REMOTE_LOG_METADATA)
    if refused is not None:
        yield _refused(cluster, REMOTE_LOG_METADATA, refused)
    return targets if refused is None else []


def _refused(cluster: Cluster, name: str, message: str) -> Outcome:
    """Return the outcome of a topic or a partition about which the cluster gives nothing."""
    return _failed(f"{cluster.settings.servers}/{name}", message)


def _failed(path: str, error: ClusterError | str, number: int = 0) -> Outcome:
    return Outcome(number=number, error=Failure(path, "cluster", None, None, str(error)))


def _events(cluster: Cluster, number: int, findings: FindingCollector) -> Iterator[_Decoded]:
    bounds = cluster.bounds(REMOTE_LOG_METADATA)[number]
    if isinstance(bounds, ClusterError):
        raise bounds
    reader = EventReader(findings)
    for record in cluster.records(REMOTE_LOG_METADATA, number, *bounds):
        yield record, *reader.read(record.offset, record.value)


def _absent(cluster: Cluster, partitions: Mapping[TopicPartition, bool]) -> Iterator[Outcome]:
    """Yield errors for what the events name and the cluster lacks; a finding where they are deleted."""
    topics = {topic for topic, _ in cluster.leaders}
    missing = sorted({topic for topic, _ in partitions if topic not in topics})
    refused = cluster.refused(missing)
    for topic in missing:
        reason = refused.get(topic, UNKNOWN_TOPIC_OR_PARTITION)
        if reason == UNKNOWN_TOPIC_OR_PARTITION and not any(
            has_segments for (name, _), has_segments in partitions.items() if name == topic
        ):
            message = f"topic {topic}: not in the cluster, and by the events its remote segments are deleted"
            yield Outcome(number=0, findings=[Finding("RLMM-034", message, path=cluster.settings.servers)])
        else:
            yield _refused(cluster, topic, reason)
    for partition in sorted(partitions):
        if partition[0] in topics and cluster.leaders.get(partition) is None:
            reason = LEADER_NOT_AVAILABLE if partition in cluster.leaders else UNKNOWN_TOPIC_OR_PARTITION
            yield _refused(cluster, f"{partition[0]}-{partition[1]}", reason)


def _offsets(
    cluster: Cluster, partitions: Sequence[TopicPartition], on_disk: OffsetsOnDisk
) -> Iterator[Outcome]:
    """Yield the answers to ListOffsets of each partition, with what the files on disk give."""
    listed: dict[TopicPartition, dict[int, ListedOffset]] = {partition: {} for partition in partitions}
    for partition, timestamp, answer in cluster.special_offsets(partitions):
        if isinstance(answer, ClusterError):
            yield _refused(cluster, f"{partition[0]}-{partition[1]}", str(answer))
        else:
            listed[partition][timestamp] = answer
    for number, (partition, answers) in enumerate(listed.items()):
        rows: list[Item] = [
            _offset_row(cluster, partition, timestamp, answers.get(timestamp), disk)
            for timestamp in SPECIAL
            if timestamp in answers or partition in on_disk
            for disk in on_disk.get(partition, [None])
        ]
        if rows:
            yield Outcome(number=number, rows=rows)


def _offset_row(
    cluster: Cluster,
    partition: TopicPartition,
    timestamp: int,
    listed: ListedOffset | None,
    disk: RlmmOffsetsRow | None,
) -> RlmmClusterOffsetRow:
    """Return the answer to a special timestamp, with what a log dir gives for it."""
    name = SPECIAL[timestamp]
    offset = None if disk is None else getattr(disk, f"{name}_offset")
    return RlmmClusterOffsetRow(
        dir=None if disk is None else disk.where.dir,
        broker_id=None if disk is None else disk.where.broker_id,
        topic=partition[0],
        partition=partition[1],
        leader=cluster.leaders.get(partition),
        query=name.replace("_", "-"),
        timestamp=timestamp,
        cluster_offset=None if listed is None else listed.offset,
        cluster_epoch=None if listed is None or listed.epoch < 0 else listed.epoch,
        disk_offset=offset,
        disk_epoch=None if disk is None else getattr(disk, f"{name}_epoch"),
        agrees=None if listed is None or offset is None else listed.offset == offset,
    )
