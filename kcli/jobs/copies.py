"""Which copy of a partition counts, where several brokers hold one: the leader's, else the longest log.

Coordinators read the log of the leader: what an internal topic says is what its leaders' copies say.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from formats.names import NORMAL, PartitionDir
from kcli.jobs.cluster_metadata import metadata_of, newest_images, unread_metadata, with_undecodable
from kcli.jobs.common import topic_id_of
from kcli.jobs.metadata_partitions import cluster_of, sole_cluster
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.remote.partitioning import partition_of_text
from kcli.logdir.buffers import FileError
from kcli.logdir.find import FileSet, Note
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target
from kcli.words import partition_ranges

COPIES = "copies"  # the kind of note about a partition of which one copy of several is read: REPL-007


ABSENT, UNCOUNTED = "missing-partitions", "uncounted-partitions"
"""The kinds of notes about an internal topic: partitions that are not here, COORD-004; how many it has is not
known, COORD-005.
"""


def counted_copies(file_set: FileSet, wants: Callable[[PartitionDir], bool] = lambda _: True) -> FileSet:
    """Return the same with one directory of each partition that is selected: the copy that counts.

    Only directories that a broker serves count, no -delete, -stray or -future. A note says which copy it is.
    Targets that are no partition directories stay. Metadata that kcli may not read is a failure.
    """
    failures = [*file_set.failures, *unread_metadata(file_set.targets)]
    result = replace(file_set, targets=[], notes=list(with_undecodable(file_set).notes), failures=failures)
    copies: dict[tuple[str | None, str, int], list[Target]] = {}
    only = sole_cluster(file_set.log_dirs)
    for target in file_set.targets:
        if target.kind != PARTITION:
            result.targets.append(target)
        elif target.name is not None and target.name.kind == NORMAL and wants(target.name):
            key = (cluster_of(target) or only, target.name.topic, target.name.partition)
            copies.setdefault(key, []).append(target)
    images = newest_images(metadata_of(file_set)) if copies else {}
    topics = {
        cluster: {topic.name: (topic_id, topic) for topic_id, topic in image.topics.items()}
        for cluster, image in images.items()
    }
    for (cluster, topic, number), targets in copies.items():
        topic_id, image_topic = topics.get(cluster, {}).get(topic, ("", None))
        state = None if image_topic is None else image_topic.partitions.get(number)
        target, reason = _counted(targets, topic_id, None if state is None else state.leader)
        result.targets.append(target)
        if len(targets) > 1:
            result.notes.append(Note(COPIES, target.shown, f"{reason} is read, of {len(targets)} copies"))
    return result


def noting_copies(file_set: FileSet) -> FileSet:
    """Return the same, all copies, with the notes about what cannot be decoded and which copies count."""
    return replace(file_set, notes=counted_copies(file_set).notes)


def refuse_without(topic: str, counted: FileSet, file_set: FileSet) -> FileSet:
    """Return the copies that count and notes on what is not here; none, and why, where none is of a topic."""
    if any(map(_is_of(topic), counted.targets)):
        return replace(counted, notes=[*counted.notes, *absent_partitions(topic, file_set)])
    if file_set.failures:
        return counted
    return replace(counted, targets=[], failures=[file_set.lacking(f"no partition of {topic} is here")])


def absent_partitions(topic: str, file_set: FileSet) -> Iterator[Note]:
    """Yield for each cluster which partitions of a topic are not here, or that their number is unknown."""
    counts, present = partition_counts(topic, file_set), _numbers(topic, file_set)
    clusters = dict.fromkeys((*counts, *present))
    for cluster in clusters:
        numbers, count = present.get(cluster, set()), counts.get(cluster)
        prefix = f"of cluster {cluster}: " if len(clusters) > 1 else ""
        absent = sorted({*range(max(numbers) + 1 if count is None else count)} - numbers)
        noun, verb = ("partition", "is") if len(absent) == 1 else ("partitions", "are")
        of = f" of {count}" if count is not None else ""
        missing = f"{noun} {partition_ranges(absent)}{of} {verb} not here" if absent else ""
        unknown = "no metadata here says how many partitions it has" if count is None else ""
        if missing or unknown:
            message = "; ".join(filter(None, (missing, unknown)))
            yield Note(ABSENT if missing else UNCOUNTED, topic, f"{prefix}{message}")


def partition_counts(topic: str, file_set: FileSet) -> dict[str | None, int]:
    """Return how many partitions a topic has, by the metadata of each cluster that is here."""
    only = sole_cluster(file_set.log_dirs)
    topics = {
        cluster or only: image.named(topic)[1]
        for cluster, image in newest_images(metadata_of(file_set)).items()
    }
    return {cluster: len(state.partitions) for cluster, state in topics.items() if state is not None}


def _is_of(topic: str) -> Callable[[Target], bool]:
    return lambda target: target.name is not None and (target.name.topic, target.name.kind) == (topic, NORMAL)


def _numbers(topic: str, file_set: FileSet) -> dict[str | None, set[int]]:
    """Return the partitions of a topic that are here, by cluster."""
    only, numbers = sole_cluster(file_set.log_dirs), dict[str | None, set[int]]()
    for target in filter(_is_of(topic), file_set.targets):
        assert target.name is not None
        numbers.setdefault(cluster_of(target) or only, set()).add(target.name.partition)
    return numbers


def absent_coordinators(names: Iterable[str], topic: str, file_set: FileSet) -> str:
    """Return which partitions of a topic would hold the state of some ids and are not here, in words."""
    numbers, counts = _numbers(topic, file_set), partition_counts(topic, file_set)
    places = (
        (cluster, name, partition_of_text(name, count).partition)
        for cluster, count in counts.items()
        for name in names
    )
    absent = (
        f"{name} belongs to {topic}-{number}, which is not here"
        for cluster, name, number in places
        if number not in numbers.get(cluster, ())
    )
    unknown = [f"no metadata here says how many partitions {topic} has"] * bool(numbers.keys() - counts)
    return "".join(f"; {reason}" for reason in dict.fromkeys((*absent, *unknown)))


def _counted(targets: list[Target], topic_id: str, leader: int | None) -> tuple[Target, str]:
    """Return the copy that counts and why; a copy of another topic of the name only where all are.

    `leader`: by the metadata, with the topic's id; None where it does not know the partition.
    """
    if len(targets) == 1:
        return targets[0], ""
    partitions = [Partition(target) for target in targets]
    if leader is not None:
        partitions = [copy for copy in partitions if topic_id_of(copy) in {None, topic_id}] or partitions
        for partition in partitions:
            if partition.directory.broker_id == leader:
                return partition.target, "the leader's copy by the metadata"
    longest = max(partitions, key=_length)
    reason = "the metadata here does not know it" if leader is None else f"its leader is broker {leader}"
    return longest.target, f"the longest log ({reason})"


def _length(partition: Partition) -> tuple[int, int]:
    """Return the log end and the newest epoch, -1 for a log that cannot be read."""
    with suppress(FileError):
        loaded = collect_findings(start(partition, exact=False))
        return loaded.log_end_offset, loaded.epochs[-1].epoch if loaded.epochs else -1
    return -1, -1
