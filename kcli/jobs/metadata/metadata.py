"""What `kcli metadata` runs: the image of a metadata log at a moment, as rows of each kind."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from formats.messages.metadata import CONFIG_RESOURCES
from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, LOG, NORMAL, PartitionDir
from kcli.engine.contract import Unit
from kcli.jobs.cluster_metadata import only_metadata_logs, without_metadata_logs
from kcli.jobs.common import Yield, YieldAndReturn, unit_job
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.damaged import verified_windows
from kcli.kafka.kraft import metadata_changes
from kcli.kafka.kraft.metadata_at import MakeWatch, metadata_at, metadata_of_file
from kcli.kafka.kraft.metadata_image import TOPIC
from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS, Facts, Key, voters
from kcli.kafka.kraft.metadata_loader import ALL_RECORDS, BEYOND, TOPIC_REMOVED, Metadata, Until
from kcli.kafka.kraft.releases import METADATA_VERSION
from kcli.kafka.kraft.secret_settings import without_secrets
from kcli.logdir.buffers import FileError
from kcli.logdir.find import FileSet
from kcli.logdir.partition import Partition
from kcli.logdir.targets import ALL_PARTITIONS, PARTITION, Selection, Target
from kcli.rows import Item
from kcli.rows.metadata import (
    MetadataAclRow,
    MetadataBrokerRow,
    MetadataChangeRow,
    MetadataConfigRow,
    MetadataControllerRow,
    MetadataDifferenceRow,
    MetadataFeatureRow,
    MetadataPartitionRow,
    MetadataProducerIdsRow,
    MetadataQuotaRow,
    MetadataScramRow,
    MetadataSummaryRow,
    MetadataTokenRow,
    MetadataTopicRow,
    MetadataVoterRow,
)
from kcli.rows.partitions import OfDirectory

METADATA_FILES = frozenset({PARTITION, KRAFT_SNAPSHOT, LOG})  # kinds of targets that hold metadata records
VOTER = IMAGE_KINDS["voters"].noun


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataQuery:
    """Which kinds, none for a summary; up to which record; of which topics; whether secrets are shown.

    `names` of topics and partitions, `node` and `topic_id`: whose changes; `since`: the first of two moments.
    """

    kinds: tuple[str, ...] = ()
    until: Until = ALL_RECORDS
    selection: Selection = ALL_PARTITIONS
    secrets: bool = False

    names: tuple[str, ...] = ()
    node: int | None = None
    topic_id: str | None = None
    since: Until | None = None

    def shown(self, resource_type: int, settings: Facts) -> Facts:
        """Return settings of what has a type as they may be shown."""
        return settings if self.secrets else without_secrets(resource_type, settings)

    def wants(self, topic: str, partition: int | None = None) -> bool:
        """Whether a topic, or a partition of it, is asked for."""
        of_topic = self.selection._replace(partitions=frozenset())
        selection = of_topic if partition is None else self.selection
        return selection.wants(PartitionDir(topic, partition or 0, NORMAL, None))

    def is_in(self, *metadata: Metadata) -> bool:
        """Whether a partition that is asked for is in an image."""
        topics = [topic for metadata_log in metadata for topic in metadata_log.image.topics.values()]
        return any(self.wants(topic.name, number) for topic in topics for number in topic.partitions)


def topics(query: MetadataQuery, units: Iterable[Unit]) -> Iterator[str]:
    """Yield the names of the topics that are known in what can be read."""
    for target in dict.fromkeys(target for unit in units for target in unit.targets):
        with suppress(FileError):
            image_topics = read(target, Partition(target), query.until).image.topics
            yield from (topic.name for topic in image_topics.values())


def expand_several(file_set: FileSet) -> FileSet:
    """Return the same; of one alone nothing, and an error for each log dir that was named without one."""
    result = only_metadata_logs(file_set)
    if len(result.targets) != 1:
        return result
    failures = [*result.failures, *without_metadata_logs(file_set)]
    return replace(result, targets=[] if failures else result.targets, failures=failures)


def read(target: Target, partition: Partition, until: Until, watch: MakeWatch | None = None) -> Metadata:
    """Return what a metadata log, a segment or a snapshot says up to a record; FileError for other files."""
    is_metadata = target.name is None or target.name.topic == CLUSTER_METADATA
    if target.kind != PARTITION and is_metadata:
        return metadata_of_file(target.path, target.shown, verified_windows, until, watch)
    if not is_metadata or target.name is None:
        raise FileError(target.path, "wrong-kind", f"this is no {CLUSTER_METADATA}-0, and no file of one")
    return metadata_at(partition, verified_windows, until, watch)


def origin_of(partition: Partition, metadata: Metadata) -> OfDirectory:
    """Return the columns that say where a row is from."""
    facts = partition.directory
    return OfDirectory(metadata.directory, facts.broker_id, facts.cluster_id)


def image_findings(metadata: Metadata) -> Iterator[Item]:
    """Yield the findings of an image; those of deleted topics are changes."""
    yield from (finding for finding in metadata.record_findings() if finding.code != TOPIC_REMOVED)


@unit_job
def show(partition: Partition, unit: Unit, *, query: MetadataQuery) -> YieldAndReturn:
    """Yield a row for each that is known of the kinds asked for, by name."""
    metadata = read(unit.target, partition, query.until)
    origin = origin_of(partition, metadata)
    yield from image_findings(metadata)
    if not query.kinds:
        yield _summary(origin, metadata)
    for kind in query.kinds:
        for key in IMAGE_KINDS[kind].keys(metadata):
            facts = IMAGE_KINDS[kind].facts(metadata, key)
            if facts is not None and wants(query, kind, key, facts):
                yield from _ROWS_OF[kind](origin, key, facts, query)
    return query.is_in(metadata)


def wants(query: MetadataQuery, kind: str, key: Key, facts: Facts) -> bool:
    """Whether what has a topic is of one that is asked for; the rest is unless some are."""
    if not query.selection.names:
        return True
    if kind == "configs":
        return key[0] == TOPIC and query.wants(key[1])
    return "topic" in facts and query.wants(facts["topic"], facts.get("partition"))


def _plain(row: Callable[..., Any]) -> "RowsOf":
    return lambda origin, _, facts, __: [row(origin, **facts)]


def _topics(origin: OfDirectory, _: Key, facts: Facts, query: MetadataQuery) -> Iterator[Any]:
    yield MetadataTopicRow(origin, **{**facts, "configs": query.shown(TOPIC, facts["configs"])})


def _configs(origin: OfDirectory, key: Key, facts: Facts, query: MetadataQuery) -> Iterator[Any]:
    kind, name = CONFIG_RESOURCES.get(key[0], str(key[0])), key[1]
    yield from (
        MetadataConfigRow(origin, kind, name, setting, value)
        for setting, value in sorted(query.shown(key[0], facts).items())
    )


def _quotas(origin: OfDirectory, key: Key, facts: Facts, _: MetadataQuery) -> Iterator[Any]:
    yield from (MetadataQuotaRow(origin, dict(key), name, value) for name, value in sorted(facts.items()))


RowsOf: TypeAlias = Callable[[OfDirectory, Key, Facts, MetadataQuery], Iterable[Any]]
_ROWS_OF: dict[str, RowsOf] = {
    "topics": _topics,
    "partitions": _plain(MetadataPartitionRow),
    "brokers": _plain(MetadataBrokerRow),
    "controllers": _plain(MetadataControllerRow),
    "configs": _configs,
    "features": _plain(MetadataFeatureRow),
    "acls": _plain(MetadataAclRow),
    "quotas": _quotas,
    "scram": _plain(MetadataScramRow),
    "tokens": _plain(MetadataTokenRow),
    "producer-ids": _plain(MetadataProducerIdsRow),
    "voters": _plain(MetadataVoterRow),
}


def _summary(origin: OfDirectory, metadata: Metadata) -> MetadataSummaryRow:
    image, states = metadata.image, [state for _, _, state in metadata.image.partitions()]
    return MetadataSummaryRow(
        origin,
        metadata_offset=image.offset,
        metadata_epoch=image.epoch,
        timestamp=metadata.timestamp,
        complete=metadata.is_whole and not image.misfits,
        metadata_version=image.features.get(METADATA_VERSION),
        leader=None if metadata.quorum is None else metadata.quorum.leader,
        voters=tuple(sorted(voters(metadata))),
        topics=len(image.topics),
        partitions=len(states),
        partitions_without_leader=sum(state.leader < 0 for state in states),
        partitions_below_replicas=sum(len(state.isr) < len(state.replicas) for state in states),
        brokers=len(image.brokers),
        brokers_fenced=tuple(sorted(node for node, broker in image.brokers.items() if broker.is_fenced)),
        controllers=len(image.controllers),
        configs=sum(map(len, image.configs.values())),
        features=len(image.features),
        acls=len(image.acls),
        quotas=sum(map(len, image.quotas.values())),
        scram=len(image.scram),
        tokens=len(image.tokens),
        next_producer_id=None if image.next_producer_id < 0 else image.next_producer_id,
    )


# Changes


@unit_job
def history(partition: Partition, unit: Unit, *, query: MetadataQuery) -> Yield:
    """Yield a row for each change of what is asked for, in the order of the log."""
    changes: list[metadata_changes.MetadataChange] = []
    watch = partial(metadata_changes.ChangeWatch, take=_Chosen(query, changes.append))
    metadata = read(unit.target, partition, query.until, watch)
    origin = origin_of(partition, metadata)
    yield from image_findings(metadata)
    for change in changes:
        hides = change.kind == "config"
        pair = (change.before, change.after)
        before, after = (query.shown(change.key[0], facts) if hides else _plain_json(facts) for facts in pair)
        yield MetadataChangeRow(origin, *change[:5], change.name, change.change, before, after)


class _Chosen:
    """Hands on the changes that a query is about; of a partition also those of its replicas' brokers."""

    def __init__(self, query: MetadataQuery, take: Callable[[metadata_changes.MetadataChange], None]) -> None:
        self._query, self._take = query, take
        self._replicas: dict[Key, tuple[int, ...]] = {}
        self._chooses = bool(query.names or query.node is not None or query.topic_id or query.selection.names)

    def __call__(self, change: metadata_changes.MetadataChange) -> None:
        """Hand on a change that is asked for."""
        node = self._query.node
        is_of_node = node is not None and metadata_changes.is_about_node(change, node)
        if not self._chooses or self._is_of_topic(change) or is_of_node:
            self._take(change)
            if change.kind == "partition":
                self._replicas[change.key] = () if change.change == "deleted" else change.replicas
        elif change.kind == "broker" and any(change.key in nodes for nodes in self._replicas.values()):
            self._take(change)

    def _is_of_topic(self, change: metadata_changes.MetadataChange) -> bool:
        query = self._query
        if change.topic is None:
            return False
        topic_id, topic = change.topic
        partition = change.key[1] if change.kind == "partition" else None
        if query.topic_id is not None:
            return topic_id == query.topic_id
        if query.selection.names:
            return query.wants(topic, partition)
        return topic in query.names or (partition is not None and f"{topic}-{partition}" in query.names)


# Differences


def pairs(units: Sequence[Unit]) -> list[Unit]:
    """Return a unit for the first image with each of the others."""
    targets = [unit.target for unit in units]
    groups = [Unit(number=number, targets=(targets[0], target)) for number, target in enumerate(targets[1:])]
    return groups or list(units)


@unit_job
def diff(partition: Partition, unit: Unit, *, query: MetadataQuery) -> YieldAndReturn:
    """Yield a row for each difference between two images, or between two moments of one log."""
    other_target = unit.targets[-1]
    other_partition = partition if other_target is unit.target else Partition(other_target)
    before = read(unit.target, partition, query.since or query.until)
    after = read(other_target, other_partition, query.until)
    if query.since is not None and before.image.offset > after.image.offset:
        message = f"--from is offset {before.image.offset}, and --to is before it: {after.image.offset}"
        raise FileError(partition.shown, "nothing-to-read", message)
    yield from dict.fromkeys([*image_findings(before), *image_findings(after)])
    origin = origin_of(partition, before)
    lacking = next((metadata for metadata in (before, after) if not voters(metadata)), None)
    if lacking is not None and (voters(before) or voters(after)):
        yield Finding(BEYOND, "no voters are in it: they are not compared", lacking.directory)
    for difference in metadata_changes.differences(before, after):
        if _is_of(query, difference) and (lacking is None or difference.kind != VOTER):
            texts = [_text(query, difference, value) for value in (difference.before, difference.after)]
            yield MetadataDifferenceRow(
                *(origin, after.directory, difference.kind, difference.name),
                difference.change,
                difference.field,
                *texts,
            )
    return query.is_in(before, after)


def _is_of(query: MetadataQuery, difference: metadata_changes.Difference) -> bool:
    if not query.selection.names:
        return True
    if difference.kind == "config":
        return difference.key[0] == TOPIC and query.wants(difference.key[1])
    if difference.kind == "partition":
        topic, _, number = difference.name.rpartition("-")
        return query.wants(topic, int(number))
    return difference.kind == "topic" and query.wants(difference.name)


def _text(query: MetadataQuery, difference: metadata_changes.Difference, value: Any) -> str | None:
    if difference.kind == "config" and isinstance(value, dict):
        value = query.shown(difference.key[0], value)
    elif difference.kind == "config" and value is not None and difference.field is not None:
        value = query.shown(difference.key[0], {difference.field: value})[difference.field]
    elif difference.kind == "topic" and isinstance(value, dict):
        value = {**value, "configs": query.shown(TOPIC, value["configs"])}
    if value is None or isinstance(value, str):
        return value
    return json.dumps(_plain_json(value), separators=(",", ":"))


def _plain_json(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: _plain_json(field) for name, field in value.items()}
    if isinstance(value, tuple):
        names, items = getattr(value, "_fields", None), [_plain_json(item) for item in value]
        return items if names is None else dict(zip(names, items, strict=True))
    return value
