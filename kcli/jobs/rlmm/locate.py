"""What is here of `__remote_log_metadata`, and whether that is all about a user partition.

The events of a user partition are in one metadata partition. A broker that does not hold that one may hold
others: without it nothing can be said of the remote segments.
"""

import os
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache, partial
from heapq import merge
from operator import itemgetter
from typing import Any, NamedTuple

from formats.errors import FormatError
from formats.names import NORMAL, REMOTE_LOG_METADATA
from formats.types import TopicPartition
from kcli.jobs.common import log_dir_findings
from kcli.jobs.rlmm import dump as rlmm
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.findings.merging import merged
from kcli.kafka.kraft.cluster_image import cluster_image
from kcli.kafka.kraft.start_settings import topic_config
from kcli.kafka.remote.cache import RemoteCache, RemoteStore, UserPartition
from kcli.kafka.remote.coverage import UNREADABLE, EventsHere, gone_words, together
from kcli.kafka.remote.events import Event, events, log_end
from kcli.kafka.remote.partitioning import events_topic_size, partition_of_events
from kcli.logdir.buffers import DataFile, FileError, reading
from kcli.logdir.directory import directory_facts
from kcli.logdir.partition import Partition
from kcli.logdir.tree import PARTITION, Found, Selection, Target, partition_of

ABSENT = "not here"
NOT_HERE = "no-remote-metadata"
NAME_IT = "is not here: name the log dir of a broker that has it"
NOT_NAMED = "not in the segments that were named"
EVIDENCE = 64
"""User partitions that say how many metadata partitions there are."""


class MetadataPartition(NamedTuple):
    """One partition of the topic: `lacks` says why not all its events are here, None where they are.

    `error`: that of a copy that cannot be read, where no other copy has everything. `cluster_id`: None where
    it is not known.
    """

    number: int | None
    lacks: str | None
    error: FileError | None = None
    cluster_id: str | None = None


class Folded(NamedTuple):
    """The remote segments by the events of metadata partitions, and what was found of their files.

    `places`: in which metadata partition the events of a user partition are.
    """

    store: RemoteStore
    findings: tuple[Finding, ...]
    partitions: tuple[MetadataPartition, ...]
    places: dict[UserPartition, int]


class _Copy(NamedTuple):
    """A directory of the topic, its segments, and the arguments of a FileError if it cannot be listed."""

    target: Target
    files: tuple[Target, ...]
    error: tuple[Any, ...] | None


def folded(metadata: tuple[Target, ...]) -> Folded:
    """Return the remote segments by the events of metadata partitions, copies of one among them.

    An event is taken once. Unchanged files are read once. A partition that cannot be read says so itself.
    Each unit that reads the events yields the findings: a run lists what several units find once.
    """
    copies = tuple(map(_listed, metadata))
    return _folded(copies, tuple(_version(file) for copy in copies for file in copy.files))


def _listed(target: Target) -> _Copy:
    expanded = rlmm.expand(Found(targets=[target]))
    failure = next(iter(expanded.failures), None)
    return _Copy(target, tuple(expanded.targets), None if failure is None else failure.args)


def _version(target: Target) -> tuple[int, int] | None:
    try:
        status = os.stat(target.path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2)
def _folded(
    copies: tuple[_Copy, ...],
    versions: tuple[tuple[int, int] | None, ...],  # noqa: ARG001 - a key of the cache
) -> Folded:
    store, findings = RemoteStore(), list[Finding]()
    partitions, places = list[MetadataPartition](), dict[UserPartition, int]()
    for (number, cluster_id), same in _by_partition(copies).items():
        reads = [_Read(copy) for copy in same]
        last = -1
        for offset, record in merge(*(iter(one) for one in reads), key=itemgetter(0)):
            if offset > last:
                last = offset
                store.apply(record, offset)
        if number is not None:
            for key in store.caches:
                places.setdefault(key, number)
        here = together(one.here for one in reads)
        lacks = here.lacks
        error = None if lacks is None else next((one.error for one in reads if one.error), None)
        findings += [finding for one in reads for finding in one.findings]
        is_whole = has_all_segments(file for copy in same for file in copy.files)
        findings += gone_findings(number, same[0].target.shown, here, is_whole=is_whole)
        partitions.append(MetadataPartition(number, lacks, error, cluster_id))
    return Folded(store, tuple(merged(findings)), tuple(partitions), places)


def _by_partition(copies: Iterable[_Copy]) -> dict[tuple[int | None, str | None], list[_Copy]]:
    """Return the copies of each metadata partition, by its number and cluster.

    One of an unknown cluster is of the only one there is.
    """
    given = [(rlmm.metadata_partition(copy.target), _cluster_of(copy.target), copy) for copy in copies]
    known = {cluster for _, cluster, _ in given if cluster is not None}
    only = next(iter(known)) if len(known) == 1 else None
    groups: dict[tuple[int | None, str | None], list[_Copy]] = {}
    for number, cluster, copy in given:
        groups.setdefault((number, cluster or only), []).append(copy)
    return groups


def _cluster_of(target: Target) -> str | None:
    return None if target.log_dir is None else directory_facts(target.log_dir).cluster_id


def _is_of(cluster_id: str | None, other: str | None) -> bool:
    """Whether two cluster ids may be of one cluster: None is not known."""
    return cluster_id == other or None in {cluster_id, other}


class _Read:
    """The events of one copy, in order; then what was found, and the error that ended it."""

    def __init__(self, copy: _Copy) -> None:
        self._copy = copy
        self.findings: list[Finding] = []
        self.here = events_here(copy.files)
        self.error: FileError | None = None
        if copy.error is not None:
            self._fails(FileError(*copy.error))

    def _fails(self, error: FileError) -> None:
        self.error, self.here.trouble = error, UNREADABLE

    def __iter__(self) -> Iterator[Event]:
        for target in self._copy.files:
            self.findings += log_dir_findings(target)
            collector = FindingCollector(target)
            try:
                with DataFile(target.path) as file, reading(target.path):
                    yield from events(file, collector, self.here)
            except FileError as error:
                self._fails(error)
            found = collector.take()
            self.here.take(found)
            self.findings += found


def events_here(files: Iterable[Target]) -> EventsHere:
    """Return the EventsHere of a copy before it is read: where its log begins and ends by what is around."""
    first = next(iter(files), None)
    if first is None:
        return EventsHere()
    start, end = 0, 0
    if first.log_dir is not None and first.name is not None:
        facts, key = directory_facts(first.log_dir), TopicPartition(first.name.topic, first.name.partition)
        start = (facts.log_start_offsets or {}).get(key, 0)
        end = max((given or {}).get(key, 0) for given in (facts.high_watermarks, facts.recovery_points))
    stem = os.path.basename(first.path).partition(".")[0]
    begin = max(start, int(stem) if stem.isdecimal() else 0)
    return EventsHere(begin, end, log_end=cache(partial(log_end, first)))


def has_all_segments(files: Iterable[Target]) -> bool:
    """Whether the files are all segments in their directories, as where these were named."""
    named = {os.path.realpath(file.path): file for file in files}
    directories = {partition_of(file).path: partition_of(file) for file in named.values()}
    return all(
        os.path.realpath(os.path.join(path, f"{one.stem}.log")) in named
        for path, directory in directories.items()
        for one in Partition(directory).segments
    )


def gone_findings(
    number: int | None, directory: str, here: EventsHere, *, is_whole: bool = True
) -> Iterator[Finding]:
    """Yield which events of a metadata partition are gone, or only not in the segments that were named."""
    of = "" if number is None else f" of {REMOTE_LOG_METADATA}-{number}"
    for offsets in here.gone():
        yield Finding("RLMM-032", gone_words(offsets, of, "gone" if is_whole else NOT_NAMED), dir=directory)


# The rule


def topic_size(target: Target) -> int | None:
    """Return how many partitions the metadata topic has by the cluster metadata of a target's broker."""
    image = cluster_image(target)
    if image is None:
        return None
    sizes = (len(each.partitions) for each in image.topics.values() if each.name == REMOTE_LOG_METADATA)
    return next(sizes, None)


def has_remote_storage(partition: Partition) -> bool | None:
    """Whether the partition's topic has remote.storage.enable, by the cluster metadata of its broker."""
    image = cluster_image(partition.target)
    if image is None or partition.topic is None:
        return None
    topic_id = partition.topic_id()
    known = [key for key, each in image.topics.items() if each.name == partition.topic]
    if not known or topic_id not in {known[0], None}:
        return None
    config = topic_config(image, partition.topic)
    return None if config is None else config.remote_storage


def place_of(
    user: UserPartition, places: Iterable[tuple[UserPartition, int]], size: int | None
) -> int | None:
    """Return in which metadata partition the events of a user partition are; None where that is not known.

    `places`: where those of others are. `size`: that of the topic by the cluster metadata.
    """
    evidence = list(places)
    known = next((number for key, number in evidence if key == user), None)
    if known is not None:
        return known
    partitions = size or events_topic_size(evidence[:EVIDENCE])
    if partitions is None:
        return None
    try:
        return partition_of_events(user[0], user[2], partitions).partition
    except FormatError:
        return None


def lacks(number: int | None, partitions: Iterable[tuple[int | None, str | None]]) -> str | None:
    """Return why the events of a metadata partition are not all here; None where they are.

    `partitions`: the number of each copy that is here, and what it lacks. Where the number is not known, any
    that has all its events will do.
    """
    found = [why for at, why in partitions if number in {at, None}]
    if not found:
        return ABSENT
    return None if None in found else found[0]


def cache_of(partition: Partition, metadata: Folded, *, is_needed: bool = True) -> RemoteCache:
    """Return the remote segments of a partition; FileError where its events cannot be read.

    So it is where they are not here, if they are needed, and the topic may have remote storage.
    """
    topic_id = partition.topic_id()
    found = [
        (key, cache)
        for key, cache in metadata.store
        if key[1:] == (partition.topic, partition.number) and topic_id in {key[0], None}
    ]
    if len(found) > 1:
        ids = ", ".join(key[0] for key, _ in found)
        message = f"no partition.metadata, and events are about several topics of this name: {ids}"
        raise FileError(partition.path, "unknown-topic-id", message)
    if not found and has_remote_storage(partition) is False:
        return RemoteCache()
    size = topic_size(partition.target)
    by_name = topic_id or _id_by_name(partition) or ""
    user = found[0][0] if found else (by_name, partition.topic or "", partition.number or 0)
    number = place_of(user, metadata.places.items(), size)
    cluster = _cluster_of(partition.target)
    here = [
        each
        for each in metadata.partitions
        if number in {each.number, None} and _is_of(cluster, each.cluster_id)
    ]
    error = next((each.error for each in here if each.error is not None), None)
    if error is not None and all(each.error is not None for each in here):
        message = f"{_words(partition, number, metadata, size)} cannot be read: {error}"
        raise FileError(partition.path, error.code, message)
    if not found and is_needed and not here:
        words = _words(partition, number, metadata, size)
        raise FileError(partition.path, NOT_HERE, f"{words} {NAME_IT}, or --remote-metadata")
    return found[0][1] if found else RemoteCache()


def without_events(targets: Iterable[Target], selection: Selection) -> Iterator[FileError]:
    """Yield an error for each selected user partition whose metadata partition is not among the targets.

    Of topics that have remote storage by the cluster metadata.
    """
    given = [target for target in targets if target.kind == PARTITION and target.name is not None]
    here = {(rlmm.metadata_partition(target), _cluster_of(target)) for target in given}
    for target in given:
        name, partition = target.name, Partition(target)
        size, cluster = topic_size(target), _cluster_of(target)
        if name is None or name.kind != NORMAL or size is None or not selection.wants(name):
            continue
        if not has_remote_storage(partition):
            continue
        user = (partition.topic_id() or _id_by_name(partition) or "", name.topic, name.partition)
        number = place_of(user, (), size)
        if number is not None and not any(one == number and _is_of(cluster, other) for one, other in here):
            place = f"{REMOTE_LOG_METADATA}-{number}"
            message = f"the events of {name.topic}-{name.partition} are in {place}, which {NAME_IT}"
            yield FileError(target.shown, NOT_HERE, message)


def _id_by_name(partition: Partition) -> str | None:
    image = cluster_image(partition.target)
    topics = {} if image is None else image.topics
    return next((key for key, each in topics.items() if each.name == partition.topic), None)


def _words(partition: Partition, number: int | None, metadata: Folded, size: int | None) -> str:
    is_known = number is not None and (size is not None or metadata.places)
    place = f"{REMOTE_LOG_METADATA}-{number}" if is_known else REMOTE_LOG_METADATA
    return f"the events of {partition.topic}-{partition.number} are in {place}, which"
