"""`replica elect`: each replica of a partition as its leader, what that loses, and who Kafka would elect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formats.names import CLUSTER_METADATA
from kcli.engine.contract import Unit
from kcli.jobs.cluster_metadata import metadata_image, state_in
from kcli.jobs.common import Yield, other_identity, unit_job, where
from kcli.jobs.replica_pairs import load_replica, report_alone, start_finding
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.kraft.election import NO_LEADER, Elected, Rules, changed
from kcli.kafka.kraft.failover import Defaults, rules_for
from kcli.kafka.kraft.metadata_image import PartitionState, merged
from kcli.kafka.replication.follower import LoadedReplica, replica_epochs
from kcli.kafka.replication.truncation import Loss, losses
from kcli.kafka.storage.loaded_log import checkpoints
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Target
from kcli.rows.replicas import ElectionRow

UNKNOWN_OUTCOME = "unknown"
UNKNOWN_ISR = "the ISR is not known: name it with --isr, or --metadata"
NOT_IN_METADATA = "the ISR is not known: the metadata of --metadata does not have this partition"
UNKNOWN_BROKER = "the broker is not known: no meta.properties"
NOT_FIRST = "in sync, but another one comes first"
OUT_OF_SYNC = "out of sync: its election would be unclean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Electorate:
    """Where the ISR is known from: `isr` itself, or the path of KRaft metadata; neither: it is unknown."""

    isr: tuple[int, ...] | None = None
    metadata: str | None = None
    defaults: Defaults


class Chosen(NamedTuple):
    """What Kafka makes of the replicas that are live; `in_sync` may lead without an unclean election."""

    elected: Elected
    in_sync: tuple[int, ...]


def groups(units: Sequence[Unit]) -> list[Unit]:
    """Return a unit for each partition, its replicas as targets in the order of the arguments."""
    partitions: dict[object, list[Target]] = {}
    for unit in units:
        name = unit.target.name
        if name is None or name.topic != CLUSTER_METADATA:
            key = (name.topic, name.partition) if name else None
            partitions.setdefault(key, []).append(unit.target)
    return [Unit(number=number, targets=tuple(logs)) for number, logs in enumerate(partitions.values())]


@unit_job
def show(partition: Partition, unit: Unit, *, electorate: Electorate, running: bool = False) -> Yield:
    """Yield a row for each replica as a leader and each other one, `running` or started, as its follower."""
    if len(unit.targets) == 1:
        yield report_alone(partition)
        return
    replicas = [partition, *map(Partition, unit.targets[1:])]
    logs = []
    for replica in replicas[1:]:
        yield from other_identity(replica, partition)
    for replica in replicas:
        log = yield from load_replica(replica, running=running)
        logs.append(LoadedReplica(log, checkpoints(replica).high_watermark))
    yield from _rows(replicas, logs, electorate)


def _rows(
    replicas: list[Partition], logs: list[LoadedReplica], electorate: Electorate
) -> Iterator[ElectionRow | Finding]:
    origins = list(map(where, replicas))
    brokers = [origin.broker_id for origin in origins]
    live = [broker for broker in brokers if broker is not None]
    chosen = yield from _chosen(replicas[0], live, electorate)
    try:
        all_losses = list(losses(logs))
    except BrokerError as error:
        message = f"the truncation would fail: {error}"
        raise FileError(error.path, "would-fail", message, error.position) from error
    for loss in all_losses:
        row = _row(loss, replicas, logs, brokers, chosen)
        yield row
        if row.would_be_elected is not False:
            leader, follower = replica_epochs(logs[loss.candidate]), logs[loss.follower].log
            replica = replicas[loss.follower]
            yield from start_finding(replica, leader, follower, loss.fetch_rounds, row.candidate)


def _row(
    loss: Loss,
    replicas: list[Partition],
    logs: list[LoadedReplica],
    brokers: list[int | None],
    chosen: Chosen | str,
) -> ElectionRow:
    candidate, follower, fetch_rounds, removed, committed, below_start = loss
    is_elected, is_clean, reason = _verdict(brokers[candidate], brokers, chosen)
    return ElectionRow(
        where(replicas[candidate]),
        replicas[candidate].shown,
        brokers[candidate],
        replicas[follower].shown,
        brokers[follower],
        log_start_offset=logs[candidate].log.log_start_offset,
        log_end_offset=logs[candidate].log.log_end_offset,
        follower_log_end_offset=logs[follower].log.log_end_offset,
        truncate_to=None if fetch_rounds is None else fetch_rounds.truncate_to,
        outcome=UNKNOWN_OUTCOME if fetch_rounds is None else fetch_rounds.outcome,
        rounds=None if fetch_rounds is None else len(fetch_rounds.rounds),
        records_lost=None if removed is None else removed.lost,
        bytes_lost=None if removed is None else removed.size,
        first_lost_timestamp=None if removed is None else removed.first_timestamp,
        last_lost_timestamp=None if removed is None else removed.max_timestamp,
        committed_records_lost=committed,
        offsets_below_start=below_start,
        would_be_elected=is_elected,
        clean=is_clean,
        reason=reason,
    )


def _verdict(
    broker: int | None, brokers: list[int | None], chosen: Chosen | str
) -> tuple[bool | None, bool | None, str]:
    """Return whether a candidate is elected, whether that is clean, and why."""
    copies = brokers.count(broker)
    if broker is not None and copies > 1:
        # Kafka elects a broker, which has one of them
        who = "both" if len(brokers) == 2 else f"{copies} of them"
        return None, None, f"{who} are copies of one replica (broker {broker})"
    if isinstance(chosen, str):
        return None, None, chosen
    if broker is None:
        return None, None, UNKNOWN_BROKER
    is_clean = broker in chosen.in_sync
    if chosen.elected.leader == broker:
        return True, not chosen.elected.is_unclean, chosen.elected.rule
    return False, is_clean, NOT_FIRST if is_clean else OUT_OF_SYNC


def _chosen(partition: Partition, live: list[int], electorate: Electorate) -> Reporting[Chosen | str]:
    """Return whom Kafka elects if just the replicas here are live, or why that is not known."""
    if electorate.metadata is not None:
        partition_state = yield from state_in(electorate.metadata, partition)
        if partition_state is None:
            return NOT_IN_METADATA
        topic_id, state = partition_state
        rules = rules_for(metadata_image(electorate.metadata), topic_id, state, electorate.defaults)
        return _elected(state, rules._replace(is_acceptable=live.__contains__))
    if electorate.isr is None:
        return UNKNOWN_ISR
    replicas = tuple(dict.fromkeys((*live, *electorate.isr)))
    state = PartitionState(replicas, electorate.isr, NO_LEADER, 0, 0)
    unclean = electorate.defaults.may_be_unclean
    return _elected(state, Rules(live.__contains__, may_be_unclean=unclean))


def _elected(state: PartitionState, rules: Rules) -> Chosen:
    """Return whom the controller elects once the replicas that are not live have left the ISR."""
    isr = tuple(filter(rules.is_acceptable, state.isr))
    change, elected = changed(state, isr, rules)
    if isr or elected.is_unclean:
        return Chosen(elected, isr)
    after = state if change is None else merged(state, change)
    return Chosen(elected, (*after.isr, *after.elr))
