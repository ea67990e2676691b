"""What a command is given to know about the cluster: the KRaft metadata that --metadata names."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT
from kcli.jobs.common import topic_id_of
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.kraft.log_settings import KnownSettings, topic_configs
from kcli.kafka.kraft.metadata_image import Image, PartitionState
from kcli.kafka.kraft.metadata_loader import (
    Metadata,
    cluster_image,
    image_in,
    metadata_in,
    metadata_of_log,
    metadata_of_snapshot,
    undecodable_findings,
    versions_in,
)
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.storage.loaded_log import TopicConfig
from kcli.logdir.buffers import NO_PERMISSION, FileError, shown
from kcli.logdir.find import FileSet, Note, find
from kcli.logdir.log_dirs import METADATA_DIRECTORY, directory_facts, metadata_log, version_of
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Selection, Target


def metadata_image(path: str) -> Image:
    """Return the image that a metadata log, the log dir around it, or a snapshot holds; FileError."""
    return _metadata_at(path).image


def _metadata_at(path: str) -> Metadata:
    return _read_metadata(path, _version(path))


def _version(path: str) -> object:
    """Return what changes when the metadata of a path does: a file, the directory of the log, its log dir."""
    inside = os.path.join(path, METADATA_DIRECTORY)
    return version_of(path), versions_in(inside if os.path.isdir(inside) else path)


@lru_cache(maxsize=4)
def _read_metadata(path: str, _version: object) -> Metadata:
    file_set = find([path], Selection())
    if file_set.failures:
        raise file_set.failures[0]
    targets = [
        target
        for target in file_set.targets
        if target.kind == KRAFT_SNAPSHOT
        or (target.kind == PARTITION and target.name is not None and target.name.topic == CLUSTER_METADATA)
    ]
    if len(targets) != 1:
        raise FileError(path, "wrong-kind", f"expected one {CLUSTER_METADATA}-0, or a .checkpoint of it")
    target = targets[0]
    if target.kind == KRAFT_SNAPSHOT:
        return metadata_of_snapshot(target.path, target.shown)
    partition = Partition(target)
    return metadata_of_log(partition, collect_findings(start(partition)))


def state_in(path: str, partition: Partition) -> Reporting[tuple[str, PartitionState] | None]:
    """Return topic id and state of a partition in the metadata of a path; None (REPL-003: another id)."""
    yield from _metadata_at(path).undecodable_findings()
    topic_id = _topic_ids(path, _version(path)).get(partition.topic)
    if topic_id is None:
        return None
    own_id = topic_id_of(partition)
    if own_id is not None and own_id != topic_id:
        message = f"another topic id than in {shown(path)}, which says nothing of this partition"
        yield Finding("REPL-003", message, dir=partition.shown, expected=topic_id, found=own_id)
        return None
    state = metadata_image(path).topics[topic_id].partitions.get(partition.number or 0)
    return None if state is None else (topic_id, state)


@lru_cache(maxsize=4)
def _topic_ids(path: str, _version: object) -> dict[str | None, str]:
    return {topic.name: topic_id for topic_id, topic in metadata_image(path).topics.items()}


class KnownMetadata(NamedTuple):
    """The metadata image of a broker's log dir."""

    cluster_id: str | None
    broker_id: int | None
    log_dir: str
    image: Image


def metadata_of(file_set: FileSet) -> list[KnownMetadata]:
    """Return the metadata image of each log dir among the inputs, or beside them, that has one to be read."""
    metadata, metadata_dirs = [], (target.metadata_dir for target in file_set.targets)
    for log_dir in dict.fromkeys((*file_set.log_dirs, *filter(None, metadata_dirs))):
        image = image_in(log_dir)
        if image is not None:
            facts = directory_facts(log_dir)
            metadata.append(KnownMetadata(facts.cluster_id, facts.broker_id, log_dir, image))
    return metadata


def with_undecodable(file_set: FileSet) -> FileSet:
    """Return the same with a note about each record of the metadata here that cannot be decoded."""
    of_log_dirs = (target for target in file_set.targets if target.log_dir)
    by_place = {(target.log_dir, target.metadata_dir): target for target in of_log_dirs}
    findings = (finding for target in by_place.values() for finding in undecodable_findings(target))
    notes = dict.fromkeys(Note("undecodable", finding.place or "", finding.message) for finding in findings)
    return replace(file_set, notes=[*file_set.notes, *notes])


def with_topic_settings(file_set: FileSet, log_dir: str | None = None, *, are_given: bool = False) -> FileSet:
    """Return the same with the metadata in a log dir, notes where settings are neither here nor given.

    Where kcli may not read the metadata that has them, that is a failure, too.
    """
    if log_dir is not None:
        targets = [replace(target, metadata_dir=log_dir) for target in file_set.targets]
        file_set = replace(file_set, targets=targets)
    by_place = {
        (target.log_dir or target.shown, target.metadata_dir): target
        for target in ([] if are_given else file_set.targets)
        if target.kind == PARTITION and target.name is not None and target.name.topic != CLUSTER_METADATA
    }
    unknown = {path for (path, _), target in by_place.items() if cluster_image(target) is None}
    notes = (Note("settings", shown(path)) for path in sorted(unknown))
    failures = [*file_set.failures, *unread_metadata(by_place.values())]
    return replace(file_set, notes=[*file_set.notes, *notes], failures=failures)


def unread_metadata(targets: Iterable[Target]) -> list[FileError]:
    """Return of each metadata log of the targets' brokers that kcli may not read what it could not read."""
    logs = (metadata_log(target.metadata_dir, target.log_dir) for target in targets)
    answers = [metadata_in(os.path.dirname(path)) for path in dict.fromkeys(filter(None, logs))]
    errors = (answer for answer in answers if isinstance(answer, FileError) and answer.code == NO_PERMISSION)
    return [FileError(shown(error.path), *error.args[1:]) for error in errors]


def newest_of(metadata: Iterable[KnownMetadata]) -> dict[str | None, KnownMetadata]:
    """Return the newest metadata of each cluster, by its id; of equally new ones the first."""
    newest: dict[str | None, KnownMetadata] = {}
    for log in _newest_first(metadata):
        newest.setdefault(log.cluster_id, log)
    return newest


def _newest_first(metadata: Iterable[KnownMetadata]) -> list[KnownMetadata]:
    """Return metadata logs by epoch, then offset: of a later epoch a shorter log is the newer."""
    return sorted(metadata, key=lambda log: (log.image.epoch, log.image.offset), reverse=True)


def newest_images(metadata: Iterable[KnownMetadata]) -> dict[str | None, Image]:
    """Return the newest image of each cluster, by its id."""
    return {cluster: log.image for cluster, log in newest_of(metadata).items()}


def known_settings(metadata: Iterable[KnownMetadata]) -> KnownSettings:
    """Return what the metadata of each log dir says of its topics."""
    clusters: dict[str | None, dict[str, TopicConfig]] = {}
    log_dirs: dict[str, dict[str, TopicConfig]] = {}
    for log in _newest_first(metadata):
        configs = topic_configs(log.image)
        newest = clusters.setdefault(log.cluster_id, configs)
        log_dirs[log.log_dir] = newest if configs == newest else configs  # equal ones are pickled once
    return KnownSettings(clusters, log_dirs)


def only_metadata_logs(file_set: FileSet) -> FileSet:
    """Return the same with the metadata log alone of each log dir that was named; refuse if none has one."""
    of_log_dirs = set(file_set.named_log_dirs)
    targets = [
        target
        for target in file_set.targets
        if target.log_dir not in of_log_dirs or target.kind != PARTITION or _is_metadata(target)
    ]
    failures = [] if targets else [*without_metadata_logs(file_set)]
    return replace(file_set, targets=targets, failures=[*file_set.failures, *failures])


def without_metadata_logs(file_set: FileSet) -> Iterator[FileError]:
    """Yield an error for each log dir that was named and holds no metadata log."""
    for log_dir in file_set.named_log_dirs:
        facts = directory_facts(log_dir)
        message = f"no {METADATA_DIRECTORY} is here: name the log dir of metadata.log.dir, or a controller's"
        if facts.broker_id is not None and not facts.is_kraft:
            message = "its broker uses ZooKeeper, which keeps topics, leaders and ISRs: no file here has them"
        if metadata_log(log_dir) is None:
            yield FileError(shown(log_dir), "no-metadata-log", message)


def _is_metadata(target: Target) -> bool:
    return target.name is not None and target.name.topic == CLUSTER_METADATA
