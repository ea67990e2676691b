"""The log dirs of each broker among the inputs: what a start makes of them together, and their metadata.

The rules are those of `kcli.kafka.kraft.broker_start`; here the log dirs are read, and what they stop becomes
findings.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from formats.names import NORMAL
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.broker_start import (
    BrokerConfig,
    BrokerStart,
    StartFailure,
    broker_start,
    is_duplicate,
    lacks_metadata_log,
)
from kcli.kafka.kraft.log_settings import BrokerSettings, KnownSettings, broker_settings, topic_configs
from kcli.kafka.kraft.metadata_image import Image
from kcli.kafka.kraft.metadata_snapshot import newest_snapshot_trouble
from kcli.kafka.storage.loaded_log import TopicConfig
from kcli.logdir.buffers import shown
from kcli.logdir.find import Found
from kcli.logdir.log_dirs import (
    META_PROPERTIES,
    METADATA_DIRECTORY,
    LogDirState,
    directory_facts,
    has_own_files,
    log_dir_state,
)

ATTEMPTS = 3
"""How often log dirs are read again that do not fit together."""


class KnownMetadata(NamedTuple):
    """The metadata image of a broker's log dir."""

    cluster_id: str | None
    broker_id: int | None
    log_dir: str
    image: Image


def by_broker(log_dirs: Iterable[str]) -> list[tuple[LogDirState, ...]]:
    """Return the states of log dirs, those of one broker together; each once, however it is reached.

    Log dirs with the same directory.id in different places are copies of one, and no two of a broker. One
    whose meta.properties is missing, malformed or lacks an id belongs to the broker of the others, if they
    are of one and nothing contradicts it.
    """
    brokers: dict[tuple[str, int], list[LogDirState]] = {}
    others: dict[int | None, list[LogDirState]] = {}
    for path in {os.path.realpath(one): one for one in log_dirs}.values():
        one = log_dir_state(path)
        cluster, node = (one.meta.cluster_id, one.meta.node_id) if one.meta else (None, None)
        if cluster is not None and node is not None:
            brokers.setdefault((cluster, node), []).append(one)
        else:
            others.setdefault(node, []).append(one)
    groups = list(brokers.values())
    if len(groups) == 1:
        ((_, node),) = brokers
        groups[0] += [*others.pop(node, ()), *others.pop(None, ())]
    groups += [[one] for one in others.pop(None, ())]
    groups += others.values()
    return [
        tuple(group) for known in groups for group in ([known] if _are_of_one(known) else map(_alone, known))
    ]


def brokers_of(directories: Iterable[str]) -> list[tuple[LogDirState, ...]]:
    """Return `by_broker` of the log dirs among directories that hold partitions.

    A folder of copied partitions, with no file of a log dir, is none, unless it lies in one directory with a
    formatted log dir or holds one of its partitions: it is a log dir then that lost its files.
    """
    paths = list(dict.fromkeys(directories))
    own = [one for one in paths if has_own_files(one)]
    formatted = [one for one in own if os.path.lexists(os.path.join(one, META_PROPERTIES))]
    bare = [one for one in paths if one not in own and any(_goes_with(one, other) for other in formatted)]
    return [dirs for dirs in by_broker([*own, *bare]) if any(one.path in own for one in dirs)]


def _goes_with(bare: str, log_dir: str) -> bool:
    if os.path.dirname(os.path.realpath(bare)) == os.path.dirname(os.path.realpath(log_dir)):
        return True
    here, there = (log_dir_state(one).names for one in (bare, log_dir))
    return any(name is not None and name.kind == NORMAL for _, name in set(here) & set(there))


def _alone(one: LogDirState) -> list[LogDirState]:
    return [one]


def _are_of_one(dirs: Sequence[LogDirState]) -> bool:
    ids = [one.meta.directory_id for one in dirs if one.meta is not None and one.meta.directory_id]
    parents = {os.path.dirname(os.path.realpath(one.path)) for one in dirs}
    return len(set(ids)) == len(ids) or len(parents) == 1


def start_at_rest(
    dirs: Sequence[LogDirState], config: BrokerConfig
) -> tuple[tuple[LogDirState, ...], BrokerStart]:
    """Return the log dirs and what they make of a start; where they stop it, they are read again.

    A running broker moves partitions from one to the other while they are read.
    """
    dirs, config = tuple(dirs), _as_named(config, dirs)
    start = broker_start(dirs, config)
    for _ in range(ATTEMPTS):
        again = tuple(log_dir_state(one.path) for one in dirs) if start.stops else dirs
        if again == dirs:
            break
        dirs, start = again, broker_start(again, config)
    return dirs, start._replace(stops=(*stops_at_rest(dirs, start), *_snapshot_stops(start)))


def _snapshot_stops(start: BrokerStart) -> Iterator[StartFailure]:
    """Yield that the newest snapshot of the metadata log ends the process: it is read before all else."""
    if start.metadata_log_dir is not None and start.metadata_log_dir not in start.offline:
        found = newest_snapshot_trouble(os.path.join(start.metadata_log_dir, METADATA_DIRECTORY))
        if found is not None and found.exception is not None:
            yield StartFailure(found.exception, found.message, found.path)


def _as_named(config: BrokerConfig, dirs: Sequence[LogDirState]) -> BrokerConfig:
    """Return the same with the path by which the metadata log dir was named, where it was."""
    if config.metadata_log_dir is None:
        return config
    real = os.path.realpath(config.metadata_log_dir)
    named = next((one.path for one in dirs if os.path.realpath(one.path) == real), config.metadata_log_dir)
    return config._replace(metadata_log_dir=named)


def stops_at_rest(dirs: Sequence[LogDirState], start: BrokerStart) -> tuple[StartFailure, ...]:
    """Return what ends the process; no partition that lies in two log dirs where a broker runs with them.

    It moves partitions: for a moment one lies in both (LogManager.replaceCurrentWithFutureLog).
    """
    runs = any(one.locked_by is not None for one in dirs)
    return tuple(stop for stop in start.stops if not (runs and is_duplicate(stop)))


def start_findings(
    dirs: Sequence[LogDirState], start: BrokerStart, config: BrokerConfig
) -> Iterator[Finding]:
    """Yield what ends the process, what takes a log dir offline, and that there is no metadata log.

    As findings about the log dir.
    """
    for stop in start.stops:
        yield _finding("START-009", f"{stop.exception}: {stop.message}", log_dir_of(stop.path, dirs), stop)
    for path, reason in start.offline.items():
        yield _finding("START-010", reason.message, path, reason)
    if lacks_metadata_log(dirs, _as_named(config, dirs)):
        message = (
            "no metadata log: the node fetches the metadata from the quorum, and one that is the whole "
            "quorum begins with none, and renames every log to -stray"
        )
        yield Finding("START-014", message, dir=shown(str(config.metadata_log_dir)))


def offline_by_log(log_dir: str, reason: StartFailure) -> Finding:
    """Return the finding about a log dir that goes offline because a log in it does not load."""
    return Finding("START-010", f"{shown(reason.path)}: {reason.message}", dir=shown(log_dir))


def log_dir_of(path: str, dirs: Sequence[LogDirState]) -> str:
    """Return the log dir that a failure's path is, or lies in."""
    return next((one.path for one in dirs if path == one.path or path.startswith(f"{one.path}/")), path)


def _finding(code: str, message: str, log_dir: str, failure: StartFailure) -> Finding:
    path = None if failure.path == log_dir else shown(failure.path)
    return Finding(code, message, dir=shown(log_dir), path=path)


def metadata_of(found: Found) -> list[KnownMetadata]:
    """Return the metadata image of each log dir among the inputs that has one.

    One that cannot be read is a finding of its own.
    """
    from kcli.kafka.kraft.metadata_loader import image_in

    known = []
    for log_dir in found.log_dirs:
        image = image_in(log_dir)
        if image is not None:
            facts = directory_facts(log_dir)
            known.append(KnownMetadata(facts.cluster_id, facts.broker_id, log_dir, image))
    return known


def newest_images(known: Iterable[KnownMetadata]) -> dict[str | None, Image]:
    """Return the newest image of each cluster, by its id."""
    return {one.cluster_id: one.image for one in sorted(known, key=lambda one: one.image.offset)}


def known_settings(known: Iterable[KnownMetadata], properties: Mapping[str, str] | None) -> KnownSettings:
    """Return what a broker's server.properties says, None without it, and the metadata of each log dir."""
    broker = BrokerSettings() if properties is None else broker_settings(properties)
    clusters: dict[str | None, dict[str, TopicConfig]] = {}
    log_dirs: dict[str, dict[str, TopicConfig]] = {}
    for one in sorted(known, key=lambda one: -one.image.offset):
        configs = topic_configs(one.image)
        newest = clusters.setdefault(one.cluster_id, configs)
        log_dirs[one.log_dir] = newest if configs == newest else configs  # equal ones are pickled once
    return KnownSettings(broker, clusters, log_dirs)
