"""`failover`: what the controller does when brokers go away, by the metadata that it would read."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, NORMAL, PartitionDir
from kcli.engine.contract import Outcome, Unit, at_end
from kcli.jobs.cluster_metadata import metadata_of, newest_of
from kcli.jobs.common import Yield, answer
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft import failover
from kcli.kafka.kraft.metadata_loader import Metadata, metadata_of_log, metadata_of_snapshot
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.kraft.quorum import Ballot, QuorumNode, ballot_of, majority, quorum_node
from kcli.logdir.buffers import FileError
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import log_dir_state
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Selection, Target
from kcli.rows.replicas import FailoverControllerRow, FailoverRow

FAILOVER_KINDS = frozenset({PARTITION, KRAFT_SNAPSHOT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """Who goes away, and what is shown.

    `brokers` in the order in which they go; `controller`: the active one. `everything`: partitions that do
    not change, too. `selection` is about the topics of the users. `older`: log dirs whose metadata is not the
    newest of its cluster here: it says nothing of partitions.
    """

    brokers: tuple[int, ...]
    defaults: failover.Defaults
    selection: Selection
    controller: bool = False
    zookeeper: bool = False
    everything: bool = False
    older: frozenset[str] = frozenset()


def with_older(request: Departure, file_set: FileSet) -> Departure:
    """Return the same with the log dirs whose metadata is older than that of another node of the cluster."""
    images = [metadata for metadata in metadata_of(file_set) if metadata.cluster_id is not None]
    newest = {log.log_dir for log in newest_of(images).values()}
    return replace(request, older=frozenset(log.log_dir for log in images if log.log_dir not in newest))


def show(unit: Unit, *, request: Departure) -> Outcome:
    """Return a row for each partition that changes, one for the quorum, and what the records lack."""
    quorum: list[tuple[FailoverControllerRow, QuorumNode]] = []
    outcome = answer(unit, lambda partition: _rows(partition, unit.target, request, quorum))
    return replace(outcome, partial=quorum)


def _rows(
    partition: Partition,
    target: Target,
    request: Departure,
    quorum: list[tuple[FailoverControllerRow, QuorumNode]],
) -> Yield:
    """Yield what `show` returns; a node votes in the `quorum` also where a broker has an unknown id."""
    quorum.clear()
    if target.kind == PARTITION:
        if target.name is not None and target.name.topic != CLUSTER_METADATA:
            raise FileError(target.path, "wrong-kind", f"this is no directory of {CLUSTER_METADATA}")
        loaded = yield from start(partition)
        metadata = metadata_of_log(partition, loaded)
        metadata.end_offset = loaded.log_end_offset
    else:
        metadata = metadata_of_snapshot(target.path, target.shown)
    yield from metadata.record_findings()
    if request.controller:
        quorum.append(_controller(metadata, target))
    is_older = target.kind == PARTITION and target.log_dir in request.older
    if (request.brokers or request.everything) and not is_older:
        yield from _partitions(metadata, target, request)


def _elected(
    parts: list[list[tuple[FailoverControllerRow, QuorumNode]]],
) -> tuple[list[FailoverControllerRow], list[Finding]]:
    """Return the rows of controllers, with the votes that each of them gets."""
    rows = [row for unit_rows in parts for row in unit_rows]
    nodes = [node for _, node in rows]
    return [_voted(row, ballot_of(node, nodes, row.leader)) for row, node in rows], []


elected = at_end(_elected)
"""Gives the rows of controllers at the end."""


def _voted(row: FailoverControllerRow, ballot: Ballot | None) -> FailoverControllerRow:
    if ballot is None:
        return row._replace(electable=None if row.node_id is None or not row.voters else False)
    return row._replace(votes=ballot.votes, electable=ballot.is_electable)


def _partitions(metadata: Metadata, target: Target, request: Departure) -> Iterator[FailoverRow | Finding]:
    image = metadata.image
    absent = [broker for broker in request.brokers if broker not in image.brokers]
    if absent and not image.brokers:
        raise FileError(target.path, "unknown-broker", "this metadata registers no broker at all")
    if absent:
        brokers = ", ".join(map(str, sorted(image.brokers)))
        raise FileError(
            target.path, "unknown-broker", f"broker {absent[0]} is not registered here, only {brokers}"
        )
    for broker in request.brokers:
        if image.brokers[broker].is_fenced:
            message = f"broker {broker} is fenced already: the controller has reacted to it"
            yield Finding("META-006", message, dir=metadata.directory)
    for expected in failover.forecast(image, request.brokers, request.defaults, zookeeper=request.zookeeper):
        name = PartitionDir(expected.topic, expected.number, NORMAL, None)
        is_shown = (
            request.everything or expected.outcome != failover.UNCHANGED or expected.after != expected.before
        )
        if request.selection.wants(name) and (is_shown or expected.before.leader in request.brokers):
            yield _row(metadata.directory, expected)


def _row(directory: str, expected: failover.Forecast) -> FailoverRow:
    before, after = expected.before, expected.after
    return FailoverRow(
        directory,
        expected.topic,
        expected.topic_id,
        expected.number,
        expected.outcome,
        replicas=before.replicas,
        adding_replicas=before.adding,
        removing_replicas=before.removing,
        leader=before.leader,
        isr=before.isr,
        elr=before.elr,
        leader_epoch=before.leader_epoch,
        partition_epoch=before.partition_epoch,
        next_leader=after.leader,
        next_isr=after.isr,
        next_elr=after.elr,
        next_replicas=after.replicas,
        next_leader_epoch=after.leader_epoch,
        next_partition_epoch=after.partition_epoch,
        unclean=expected.is_unclean,
        min_insync_replicas=expected.min_isr,
        writable=after.leader >= 0 and len(after.isr) >= expected.min_isr,
        reason=expected.reason,
    )


def _controller(metadata: Metadata, target: Target) -> tuple[FailoverControllerRow, QuorumNode]:
    meta = None if target.log_dir is None else log_dir_state(target.log_dir).meta
    quorum = metadata.quorum
    node = quorum_node(meta.node_id if meta else None, meta, metadata)
    voters = tuple(sorted({voter.node_id for voter in node.voters}))
    epoch = metadata.image.epoch if quorum is None else max(quorum.epoch, metadata.image.epoch)
    row = FailoverControllerRow(
        metadata.directory,
        node.node_id,
        leader=None if quorum is None else quorum.leader,
        leader_epoch=None if quorum is None else quorum.epoch,
        voters=voters,
        log_end_offset=metadata.end_offset,
        last_epoch=metadata.image.epoch,
        next_leader_epoch=epoch + 1,
        majority=majority(voters) if voters else None,
        votes=None,
        electable=None,
    )
    return row, node
