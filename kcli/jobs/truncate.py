"""`truncate --dry-run`: what the broker would do to each partition, by its log dir's checkpoints.

Nothing is written: the start of the broker, the truncation and the restart after it are worked out in memory.
"""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from formats.batch import MAX_INT
from formats.names import CLUSTER_METADATA, DELETE, STRAY
from kcli.engine.contract import Unit
from kcli.jobs.common import Yield, other_identity, unit_job, where
from kcli.jobs.replica_pairs import as_running, dropped_by_start, load_replica, start_finding
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.metadata_loader import undecodable_findings
from kcli.kafka.kraft.partition_start import lone_finding, start_from
from kcli.kafka.replication.follower import (
    CONVERGED,
    FAILED,
    HIGH_WATERMARK_PROTOCOL,
    LEADER_START,
    OUT_OF_RANGE,
    STUCK,
    TIERED,
    FetchRounds,
    LoadedReplica,
    ReplicaEpochs,
    as_leader,
    fetch_from_remote,
    find_divergence,
    follow_leader,
    leader_epochs,
    replica_epochs,
)
from kcli.kafka.replication.truncation import (
    FULL,
    NONE,
    Prediction,
    SegmentChange,
    truncate,
    with_remote_state,
)
from kcli.kafka.storage.leader_epochs import UNDEFINED_EPOCH_OFFSET, end_offset_for, truncate_from_end
from kcli.kafka.storage.loaded_log import Checkpoints, LoadedLog, checkpoints
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.surviving_files import opened_files
from kcli.logdir.buffers import FileError, in_archive
from kcli.logdir.log_dirs import PARTITION_METADATA_FILE
from kcli.logdir.partition import Partition, shown_path
from kcli.rows.truncation import TruncatedSegment, TruncatedSnapshot, TruncationRound, TruncationRow

if TYPE_CHECKING:
    from kcli.kafka.remote.cache import RemoteCache

WOULD_FAIL = "would-fail"
CLEAN = "clean"
SHELL_LOGS = "?" * len(f"{0:020}") + ".log"
"""What a shell takes for the logs of a directory, not for copies that somebody made of them."""


CODES = {
    OUT_OF_RANGE: "TRUNC-004",
    STUCK: "TRUNC-005",
    TIERED: "TRUNC-006",
    FAILED: "TRUNC-005",
    CONVERGED: "TRUNC-008",
}
WARNINGS = {
    OUT_OF_RANGE: "the fetch is out of the leader's range: the follower goes on from the leader's log end",
    LEADER_START: "the leader's log starts past the end of this one: every record here goes",
    STUCK: "the follower repeats a fetch that is out of range for ever: the leader lacks its newest epoch",
    TIERED: "the leader has the next offset in remote storage alone: every record here goes, and the follower"
    " goes on at {0.truncate_to} with state from there (kcli rlmm follow shows it)",
    FAILED: "no remote segment has the state that the follower needs: it asks again for ever",
    CONVERGED: "the logs differ from offset {0.differs_from} on, below the end of what is kept: no later "
    "fetch finds that",
}
"""What an outcome means, or the reset to a later start of the leader's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Whom the replicas follow, and how: `protocol` is one of kcli.kafka.replication.follower's.

    The units' targets are a follower, the leader's replica of the same partition, and those of the topic
    __remote_log_metadata.

    `leader` is what counts of a leader that was described; None: it is the second target of each unit, and
    `path` names what it was looked for in. `epoch` is the epoch that it leads in; None: a new one for a
    leader on disk, none but its own ones for a described one. The cache of one that runs has it already.
    """

    protocol: str
    path: str = ""
    leader: ReplicaEpochs | None = None
    epoch: int | None = None


class FollowedLeader(NamedTuple):
    """What counts of a leader's log, where it is on disk, and its remote segments where it is tiered."""

    side: ReplicaEpochs
    is_running: bool = False
    dir: str | None = None
    remote: "RemoteCache | None" = None


def leader_of(following: Following, unit: Unit, *, running: bool) -> Reporting[FollowedLeader]:
    """Return what counts of the leader; the findings of its start are yielded."""
    if following.leader is not None:
        return FollowedLeader(following.leader)
    if len(unit.targets) == 1:
        path = unit.target.path
        raise FileError(path, "no-leader", f"{following.path} has no replica of this partition")
    replica = Partition(unit.targets[1])
    yield from other_identity(Partition(unit.target), replica)
    log = yield from load_replica(replica, running=running)
    if not log.is_tiered:
        side = replica_epochs(LoadedReplica(log, checkpoints(replica).high_watermark))
        return FollowedLeader(side, running, replica.shown)
    from kcli.jobs.metadata_partitions import read_events
    from kcli.jobs.tiered_leader import leader_with

    yield from read_events(unit.targets[2:]).findings
    leader = leader_with(replica, log, unit.targets[2:])
    return FollowedLeader(leader_epochs(leader), running, replica.shown, leader.remote)


def rounds_with_leader(
    partition: Partition, replica: LoadedReplica, following: Following, followed: FollowedLeader
) -> FetchRounds:
    """Return what becomes of a replica; FileError where an unknown high watermark or event decides."""
    leader, follower = followed.side, replica_epochs(replica)
    epoch = following.epoch
    if epoch is None and following.leader is None:
        epoch = min(max(leader.last_epoch, follower.last_epoch) + 1, MAX_INT)
    if epoch is not None:
        if epoch < leader.last_epoch:
            message = f"--leader-epoch {epoch}: the leader's log holds epoch {leader.last_epoch} already"
            raise FileError(partition.path, "older-epoch", message)
        if not followed.is_running:  # else it is in the cache already, or lost
            leader = as_leader(leader, epoch)
    fetch_rounds = follow_leader(leader, follower, following.protocol)
    is_reset = any(exchange.rule == LEADER_START for exchange in fetch_rounds.rounds)
    if partition.topic == CLUSTER_METADATA and (is_reset or fetch_rounds.outcome in {OUT_OF_RANGE, TIERED}):
        message = (
            f"the leader's metadata log has offsets {leader.log_start_offset} to {leader.log_end_offset}: "
            "its follower fetches the newest snapshot, and what follows is not predicted here"
        )
        raise FileError(partition.path, "unsupported", message)
    is_empty = follower.log_end_offset == follower.log_start_offset
    if fetch_rounds.needs_high_watermark and replica.high_watermark is None and not is_empty:
        is_asked = following.protocol == HIGH_WATERMARK_PROTOCOL
        why = "this protocol truncates to it" if is_asked else "leader epochs cannot say where to truncate"
        message = f"no high watermark is known for this partition, and {why}; name it with --high-watermark"
        raise FileError(partition.path, "unknown-high-watermark", message)
    if fetch_rounds.outcome == TIERED:
        return _by_remote(partition, leader, followed.remote, fetch_rounds, follower)
    if fetch_rounds.starts_over:
        return fetch_rounds
    remainder = follower.cut(fetch_rounds.truncate_to)
    parted = find_divergence(leader.epochs, leader.log_end_offset, remainder.epochs, remainder.log_end_offset)
    return fetch_rounds._replace(differs_from=parted.offset)


def _by_remote(
    partition: Partition,
    leader: ReplicaEpochs,
    remote: "RemoteCache | None",
    fetch_rounds: FetchRounds,
    follower: ReplicaEpochs,
) -> FetchRounds:
    """Return the rounds of a follower that begins past the remote segment whose state it takes."""
    if remote is None or not remote.segments:
        raise FileError(
            partition.path,
            "unknown-remote-segments",
            f"the fetch from {fetch_rounds.truncate_to} is answered OFFSET_MOVED_TO_TIERED_STORAGE: the "
            f"leader's local log begins at {leader.local_start}. Where the follower goes on, its remote "
            "segments say: name __remote_log_metadata with --remote-metadata",
        )
    state = fetch_from_remote(leader, remote, fetch_rounds, follower)
    if state.outcome == FAILED or state.next_offset is None:
        return fetch_rounds._replace(outcome=FAILED)
    last = fetch_rounds.rounds[-1]._replace(truncate_to=state.next_offset, completed=True)
    rounds = (*fetch_rounds.rounds[:-1], last)
    return fetch_rounds._replace(truncate_to=state.next_offset, starts_over=True, rounds=rounds)


def kept_remotely(fetch_rounds: FetchRounds) -> int | None:
    """Return the offset below which remote storage has the follower's records: where it is fetched from."""
    is_reset = any(exchange.rule == LEADER_START for exchange in fetch_rounds.rounds)
    is_remote = fetch_rounds.outcome == TIERED and not is_reset
    return fetch_rounds.rounds[-1].fetch_offset if is_remote else None


def without_remote(lost: str | None, fetch_rounds: FetchRounds, loaded: LoadedLog) -> str | None:
    """Return the offsets that are lost, `A..B`, but for those that remote storage has."""
    remote_end = kept_remotely(fetch_rounds)
    if lost is None or remote_end is None:
        return lost
    return f"{remote_end}..{lost.rpartition('..')[2]}" if remote_end < loaded.log_end_offset else None


def outcome_finding(partition: Partition, fetch_rounds: FetchRounds) -> Finding | None:
    """Return the finding about rounds that do not simply converge; its words are a warning, too."""
    if fetch_rounds.outcome == CONVERGED and fetch_rounds.differs_from is None:
        return None
    is_reset = fetch_rounds.outcome == OUT_OF_RANGE and fetch_rounds.rounds[-1].rule == LEADER_START
    text = WARNINGS[LEADER_START if is_reset else fetch_rounds.outcome].format(fetch_rounds)
    return Finding(CODES[fetch_rounds.outcome], text, dir=partition.shown)


# The truncation


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One of the four targets, and values that replace those of checkpoint files (None: as in the file).

    `shutdown` is `clean`, `unclean` or None (as the log dir's marker says). `running`: the brokers run, and
    hold what a start drops. `now_ms` decides which producers
    have expired. `is_saved`: the same run writes what will be lost to a file.
    """

    now_ms: int
    to_offset: int | None = None
    to_epoch: int | None = None
    to_high_watermark: bool = False
    following: Following | None = None
    high_watermark: int | None = None
    log_start_offset: int | None = None
    recovery_point: int | None = None
    shutdown: str | None = None
    running: bool = False
    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None
    known: KnownSettings = NO_KNOWN_SETTINGS
    is_saved: bool = False


@unit_job
def dry_run(partition: Partition, unit: Unit, *, request: Request) -> Yield:
    """Yield one row and the start's findings, or the error that keeps a broker from loading the log.

    The unit's second target, if it has one, is the leader's replica; those after it are remote metadata's.
    """
    leader, following = None, request.following
    if following is not None:
        leader = yield from leader_of(following, unit, running=request.running)
    yield from undecodable_findings(partition.target)
    _refuse_others(partition)
    log_checkpoints = _checkpoints(partition, request)
    yield from _assumed(partition, log_checkpoints, request)
    settings = request.known.of(
        partition,
        now_ms=request.now_ms,
        index_interval_bytes=request.index_interval_bytes,
        segment_index_bytes=request.segment_index_bytes,
    )
    loaded = yield from start_from(partition, log_checkpoints, settings=settings, exact=not request.running)
    if request.running:
        loaded = as_running(loaded)
    high_watermark = log_checkpoints.high_watermark
    if loaded.high_watermark is not None and request.high_watermark is None:  # the start itself sets it
        high_watermark = loaded.high_watermark
    if following is None or leader is None:
        target = _target(partition, loaded, high_watermark, request)
        if target is None:
            message = f"leader epoch {request.to_epoch} has no end offset in this replica"
            yield Finding("TRUNC-001", message, dir=partition.shown)
            return
        prediction = _predicted(loaded, target, high_watermark)
        lost = _lost(loaded, prediction)
        yield _row(partition, loaded, prediction, request, lost)
    else:
        replica = LoadedReplica(loaded, high_watermark)
        fetch_rounds = rounds_with_leader(partition, replica, following, leader)
        prediction = _predicted(loaded, fetch_rounds.truncate_to, high_watermark, fetch_rounds)
        lost = without_remote(_lost(loaded, prediction), fetch_rounds, loaded)
        if fetch_rounds.outcome == TIERED:
            epochs = truncate_from_end(leader.side.epochs, fetch_rounds.truncate_to)
            prediction = with_remote_state(prediction, epochs, leader.side.log_start_offset)
        row = _row(partition, loaded, prediction, request, lost)
        dropped = () if request.running else dropped_by_start(partition, loaded)
        for finding in (*dropped, outcome_finding(partition, fetch_rounds)):
            if finding is not None:
                yield finding
                row = row._replace(warnings=(*row.warnings, finding.message))
        yield from start_finding(partition, leader.side, loaded, fetch_rounds)
        exchanges = enumerate(fetch_rounds.rounds, 1)
        yield row._replace(
            leader_dir=leader.dir,
            protocol=following.protocol,
            rounds=tuple(TruncationRound(number, *exchange) for number, exchange in exchanges),
            outcome=fetch_rounds.outcome,
        )
    yield from _findings(partition, prediction)


def _refuse_others(partition: Partition) -> None:
    """Raise FileError for a directory that a broker never truncates."""
    name = partition.target.name
    if name is None:
        message = "the broker loads only directories named topic-partition"
        raise FileError(partition.path, "not-a-partition", message)
    if name.kind in {DELETE, STRAY}:
        raise FileError(partition.path, "leftover", f"the broker never truncates a -{name.kind} directory")


def _predicted(
    loaded: LoadedLog, target: int, high_watermark: int | None, fetch_rounds: FetchRounds | None = None
) -> Prediction:
    """Return what the truncation does; FileError `would-fail` where it fails in the broker."""
    fully = fetch_rounds is not None and fetch_rounds.starts_over
    remote_end = (kept_remotely(fetch_rounds) or 0) if fetch_rounds is not None else 0
    try:
        prediction = truncate(loaded, target, high_watermark, fully=fully, kept_elsewhere=remote_end)
    except BrokerError as error:
        message = f"the truncation would fail: {error}"
        raise FileError(error.path, WOULD_FAIL, message, error.position) from error
    if fetch_rounds is None or any(exchange.truncate_to is not None for exchange in fetch_rounds.rounds):
        return prediction
    after = prediction.after._replace(epochs=loaded.epochs)  # one at the log end stays
    return replace(prediction, after=after)


def _checkpoints(partition: Partition, request: Request) -> Checkpoints:
    """Return what the log dir says about the partition, with what was asked in its place."""
    stored = checkpoints(partition)
    return Checkpoints(
        stored.clean if request.shutdown is None else request.shutdown == CLEAN,
        stored.recovery_point if request.recovery_point is None else request.recovery_point,
        stored.log_start_offset if request.log_start_offset is None else request.log_start_offset,
        stored.high_watermark if request.high_watermark is None else request.high_watermark,
    )


def _assumed(partition: Partition, log_checkpoints: Checkpoints, request: Request) -> Iterator[Finding]:
    """Yield what is assumed of how the log was stopped, where no option says it."""
    if request.shutdown is None or request.recovery_point is None:
        yield from lone_finding(partition, log_checkpoints, request.shutdown)


def _target(partition: Partition, loaded: LoadedLog, watermark: int | None, request: Request) -> int | None:
    """Return the offset to truncate to; None for an epoch without an end offset."""
    if request.to_high_watermark:
        if watermark is None:
            message = "no high watermark is known for this partition; name it with --high-watermark"
            raise FileError(partition.path, "unknown-high-watermark", message)
        return loaded.bounded(watermark)
    if request.to_epoch is not None:
        end = end_offset_for(loaded.epochs, request.to_epoch, loaded.log_end_offset).end_offset
        return None if end == UNDEFINED_EPOCH_OFFSET else end
    return request.to_offset


def _row(
    partition: Partition, loaded: LoadedLog, prediction: Prediction, request: Request, lost: str | None
) -> TruncationRow:
    """Return the row of a truncation without a leader."""
    removed, after = prediction.removed, prediction.after
    return TruncationRow(
        where(partition),
        target_offset=prediction.target,
        kind=prediction.kind,
        log_end_offset_before=loaded.log_end_offset,
        log_end_offset_after=after.log_end_offset,
        log_end_offset_after_restart=prediction.log_end_offset_after_restart,
        log_start_offset_before=loaded.log_start_offset,
        log_start_offset_after=after.log_start_offset,
        high_watermark_before=prediction.high_watermark_before,
        high_watermark_after=prediction.high_watermark,
        recovery_point_before=loaded.recovery_point,
        recovery_point_after=after.recovery_point,
        batches_removed=removed.batches,
        records_removed=removed.records,
        bytes_removed=removed.size,
        first_removed_offset=removed.first_offset,
        last_removed_offset=removed.last_offset,
        first_removed_timestamp=removed.first_timestamp,
        max_removed_timestamp=removed.max_timestamp,
        segments=tuple(map(_segment, prediction.segments)),
        epochs_before=tuple(loaded.epochs),
        epochs_after=tuple(after.epochs),
        producer_snapshots=tuple(
            TruncatedSnapshot(offset, action) for offset, action in prediction.snapshots
        ),
        leader_dir=None,
        protocol=None,
        rounds=(),
        outcome=None,
        warnings=tuple(_warnings(partition, loaded, prediction, request, lost)),
        lost_offsets=lost,
        rescue_command=rescue_command(partition, lost),
        records_lost=removed.lost,
    )


def _segment(change: SegmentChange) -> TruncatedSegment:
    pairs = zip(_counts(change.before), _counts(change.after), strict=True)
    return TruncatedSegment(change.base_offset, change.action, *chain.from_iterable(pairs))


def _counts(segment: LoadedSegment | None) -> tuple[int | None, ...]:
    """Return the bytes of a segment's log, and the entries of its indexes; nulls without the segment."""
    if segment is None:
        return (None,) * 4
    indexes = segment.offset_index, segment.time_index
    return (segment.log_size, *(index.entries for index in indexes), len(segment.aborted))


def _lost(loaded: LoadedLog, prediction: Prediction) -> str | None:
    """Return the offsets that are lost, also by the start, as `kcli dump` takes them; open behind damage."""
    removed, restarted = prediction.removed, prediction.log_end_offset_after_restart
    first = [removed.first_offset] if removed.first_offset is not None else []
    if restarted is not None and restarted < prediction.after.log_end_offset:
        first.append(loaded.log_start_offset if prediction.restart_deletes_all else restarted)
    first = [max(min(first), loaded.log_start_offset)] if first else []
    before = list(loaded.deleted)
    if any(finding.code == "START-001" for finding in loaded.findings):
        before.append(loaded.log_end_offset)
    if not first and not before:
        return None
    if before or removed.trouble is not None:
        return f"{min(first + before)}.."
    last = prediction.after.log_end_offset - 1 if removed.last_offset is None else removed.last_offset
    return f"{first[0]}..{last}" if first[0] <= last else None


def _findings(partition: Partition, prediction: Prediction) -> Iterator[Finding]:
    watermark = prediction.high_watermark_before
    if watermark is not None and prediction.target < watermark and prediction.kind != NONE:
        yield Finding(
            "TRUNC-002",
            f"truncating to {prediction.target} cuts below the high watermark {watermark}",
            dir=partition.shown,
            expected=watermark,
            found=prediction.target,
        )
    trouble = prediction.restart_error or prediction.removed.trouble
    if trouble is not None:
        path = shown_path(partition, trouble.path)
        yield Finding("TRUNC-003", str(trouble), dir=partition.shown, path=path, position=trouble.position)


# What a person should know


def _warnings(
    partition: Partition, loaded: LoadedLog, prediction: Prediction, request: Request, lost: str | None
) -> Iterator[str]:
    """Yield what is not known for certain, and what start, cut and restart do that may surprise."""
    yield from _start_warnings(partition, loaded, request)
    yield from _target_warnings(loaded, prediction)
    after, restarted = prediction.after, prediction.log_end_offset_after_restart
    if restarted is None:
        yield f"after a clean restart the broker would not load this log: {prediction.restart_error}"
    elif prediction.restart_deletes_all:
        start = f"below its log start offset {after.log_start_offset}"
        yield (
            f"after a restart nothing is left: the log would end {start}, and then the broker deletes every "
            "segment"
        )
    elif restarted < after.log_end_offset:
        ends = f"at offset {restarted}, not at {after.log_end_offset}"
        yield f"after a restart the log ends {ends}: the batch that holds the target goes as a whole"
    if prediction.removed.trouble is not None:
        yield f"not every batch that goes could be counted: {prediction.removed.trouble}"
    if lost is not None and not request.is_saved:
        command = f"kcli dump --records --offsets {lost} -o ndjson {_logs(partition)}"
        yield f"this saves what will be lost: {command}"


def _start_warnings(partition: Partition, loaded: LoadedLog, request: Request) -> Iterator[str]:
    if request.shutdown is None and partition.topic == CLUSTER_METADATA:
        yield "KRaft recovers the metadata log from its beginning at every start, also after a clean stop"
    for finding in _assumed(partition, loaded.checkpoints, request):
        yield f"{finding.message} (--shutdown and --recovery-point say otherwise)"
    if PARTITION_METADATA_FILE not in partition.names:
        renamed = "a broker of Kafka 4 renames such a directory to -stray and never truncates it"
        yield f"no partition.metadata: {renamed}"
    if loaded.deleted:
        bases = ", ".join(map(str, loaded.deleted))
        yield f"the start itself deletes segments first (base offsets {bases}): see the findings"
    if any(finding.code == "START-001" for finding in loaded.findings):
        yield f"recovery cuts the log first: it then ends at offset {loaded.log_end_offset}"


def _target_warnings(loaded: LoadedLog, prediction: Prediction) -> Iterator[str]:
    target, watermark = prediction.target, prediction.high_watermark_before
    if prediction.kind == NONE:
        yield f"nothing is cut: the log ends at offset {loaded.log_end_offset}"
    elif watermark is None:
        readable = "records that consumers may have read could be among those that go"
        yield f"the high watermark is unknown: {readable}"
    elif target < watermark:
        yield f"the target lies below the high watermark {watermark}: committed records go"
    if prediction.kind == FULL and target < loaded.log_end_offset:
        begins = f"the log begins anew, empty, at offset {target}"
        yield f"every segment goes: the target lies below the first one, and {begins}"
    if target < loaded.log_start_offset:
        yield f"the target lies below the log start offset {loaded.log_start_offset}, which is lowered to it"
    end, epochs = loaded.log_end_offset, prediction.after.epochs
    recordless = [entry for entry in loaded.epochs if entry.start_offset >= end and entry not in epochs]
    if recordless:
        yield f"epochs without records are dropped: {', '.join(str(entry.epoch) for entry in recordless)}"


def rescue_command(partition: Partition, lost: str | None) -> str | None:
    """Return the command line that saves the `lost` offsets (`first..last` or `first..`) to a file."""
    if lost is None:
        return None
    name = os.path.basename(os.path.abspath(partition.path))
    out = _quoted(f"{name}-{lost.rstrip('.').replace('..', '-')}.ndjson")
    return f"kcli dump --records --offsets {lost} --out {out} {_logs(partition)}"


def _logs(partition: Partition) -> str:
    """Return the logs of a directory as words of a shell: each by its name where a swap was interrupted."""
    opened = opened_files(partition, partition.names)
    if all(name == new for name, new in opened.items()):
        return f"{_quoted(partition.path)}/{SHELL_LOGS}"
    names = [name for name, new in opened.items() if new.endswith(".log")]
    return " ".join(_quoted(os.path.join(partition.path, name)) for name in names)


def _quoted(path: str) -> str:
    """Return a path as a POSIX shell takes it, whatever bytes it is made of."""
    path = in_archive(path)
    if path.startswith("-"):
        path = f"./{path}"
    try:
        path.encode()
    except UnicodeEncodeError:
        octal = "".join(f"\\{byte:03o}" for byte in os.fsencode(path))
        return f"\"$(printf '{octal}')\""
    return shlex.quote(path)
