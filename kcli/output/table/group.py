"""The views of `group`: groups, what they committed, their members and history."""

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from kcli.output.table.columns import ShownColumn
from kcli.output.table.shared_columns import SharedColumn
from kcli.output.table.table_view import table_view
from kcli.output.units import counted, joined, number, size, sums
from kcli.rows.groups import GroupMemberRow, GroupOffsetRow, GroupRow, GroupStorageRow

BAD = {"out-of-range": "out of range", "diverged": "diverged"}
OF_BROKER = SharedColumn(
    "BROKER", attrgetter("coordinator.broker_id"), "broker {}", (), "number", rank=7, is_last=True
)
CLUSTER = attrgetter("coordinator.cluster_id")
OF_CLUSTER = SharedColumn("CLUSTER", CLUSTER, "cluster {}", ("cluster",), is_last=True, may_overflow=True)
OF_GROUP = SharedColumn("GROUP", attrgetter("group_id"), "group {}", ("group",), may_overflow=True)
HEAD_COLUMNS = (OF_GROUP, OF_BROKER, OF_CLUSTER)


def _groups(rows: Sequence[GroupOffsetRow | GroupMemberRow]) -> str:
    return counted(len({(CLUSTER(row), row.group_id) for row in rows}), "group")


def _partition(row: GroupOffsetRow) -> str:
    return f"{row.topic}-{row.partition}"


def _groups_verdict(rows: Sequence[GroupRow]) -> str:
    states = Counter(row.state for row in rows)
    return f"{counted(len(rows), 'group')}: {joined(f'{count} {state}' for state, count in states.items())}."


GROUP = table_view(
    ShownColumn("GROUP", "group_id", style="bold", may_overflow=True),
    ShownColumn("TYPE", "group_type"),
    ShownColumn("STATE", "state"),
    ShownColumn("MEMBERS", "members", "count"),
    ShownColumn("PARTITIONS", "committed_partitions", "count"),
    ShownColumn("LAST COMMIT (UTC)", "last_commit_timestamp", "time", rank=2),
    ShownColumn("GENERATION", "generation", "number", rank=4),
    ShownColumn("PROTOCOL", "protocol", rank=5),
    ShownColumn("COORDINATOR", "coordinator_partition", "number", rank=3),
    ShownColumn("TOPICS", lambda row: joined(row.topics), rank=6, least=20),
    shared=(OF_BROKER, OF_CLUSTER),
    verdict=_groups_verdict,
)


def _storage_verdict(rows: Sequence[GroupStorageRow]) -> str:
    records, total, dirty = sums(rows, "records", "record_bytes", "dirty_bytes")
    return f"{counted(records, 'record')}, {size(total)}; {size(dirty)} of them not cleaned yet."


GROUP_STORAGE = table_view(
    ShownColumn("GROUP", "group_id", style="bold", may_overflow=True),
    ShownColumn("RECORDS OF TYPE", "record_type", least=20),
    ShownColumn("RECORDS", "records", "count"),
    ShownColumn("TOMBSTONES", "tombstones", "count", rank=2),
    ShownColumn("BYTES", "record_bytes", "size"),
    ShownColumn("DIRTY", "dirty_bytes", "size", rank=1),
    shared=(OF_BROKER, OF_CLUSTER),
    verdict=_storage_verdict,
    order=lambda row: -row.record_bytes,
)


def _note(row: GroupOffsetRow) -> str:
    """Return what is to be said of an offset, in a few words."""
    position = row.position
    if position in BAD and row.committed_offset is not None and row.log_start_offset is not None:
        is_below = row.committed_offset < row.log_start_offset
        side = f"below log start {row.log_start_offset}" if is_below else "above log end"
        position = side if position == "out-of-range" else BAD[position]
    if row.waits:
        position = "waits for ever: UNKNOWN_LEADER_EPOCH"
    pending = "" if row.pending_offset is None else f"{row.pending_offset} pending"
    removed = "" if row.removed_by is None else f"removed at {row.removed_by}"
    state = "" if row.removed_by is not None or (pending and row.committed_offset is None) else position
    state = "no offset yet" if state and row.committed_offset is None else state
    return joined((state, pending, removed, "expired" if row.expired else ""))


def _offset_severity(row: GroupOffsetRow) -> str | None:
    if row.removed_by is not None:
        return "info"
    if row.position in BAD or row.waits:
        return "error"
    if row.expired or row.pending_offset is not None:
        return "warning"
    return None if row.committed_offset is None else ""


def _offsets_verdict(rows: Sequence[GroupOffsetRow]) -> str:
    rows = [row for row in rows if row.removed_by is None]
    offsets = sum(row.committed_offset is not None for row in rows)
    troubles = Counter(BAD[row.position] for row in rows if row.position in BAD)
    troubles += Counter("waiting for ever" for row in rows if row.waits)
    lags = [row.lag for row in rows if row.lag is not None and row.position not in BAD and not row.waits]
    bad = [f"{count} {trouble}" for trouble, count in troubles.items()]
    lag = "" if len(rows) == sum(troubles.values()) else "nothing committed yet"
    if any(row.committed_offset is not None and row.lag is None for row in rows):
        lag = "lag unknown: no log is here"
    if lags:
        lag = f"lag {number(sum(lags))}{' of the others' if bad else ''}"
    pending = sum(row.pending_offset is not None for row in rows)
    waiting = f"{number(pending)} pending" if pending else ""
    expired = sum(row.expired for row in rows)
    expiry = f"{number(expired)} expired, which a running broker deletes" if expired else ""
    return f"{_groups(rows)}, {counted(offsets, 'offset')}: {joined((*bad, lag, waiting, expiry))}."


GROUP_OFFSET = table_view(
    ShownColumn("TOPIC-PARTITION", _partition, may_overflow=True),
    ShownColumn("COMMITTED", "committed_offset", "number", style="bold"),
    ShownColumn("LOG START", "log_start_offset", "number", rank=3),
    ShownColumn("LOG END", "log_end_offset", "number", rank=2),
    ShownColumn("LAG", "lag", "count"),
    ShownColumn("POSITION", _note, least=20),
    ShownColumn("EPOCH", "committed_leader_epoch", "defined", rank=6),
    ShownColumn("COMMITTED AT (UTC)", "commit_timestamp", "time", rank=4),
    ShownColumn("EXPIRES (UTC)", "expire_timestamp", "time", rank=5),
    ShownColumn("METADATA", "metadata", rank=8, is_cut=True, least=12),
    shared=HEAD_COLUMNS,
    verdict=_offsets_verdict,
    severity=_offset_severity,
)


def _assigned(row: GroupMemberRow) -> str:
    """Return the partitions of a member by topic: `orders 0 1 2`."""
    topics: dict[str, list[int]] = {}
    for topic, partition in row.assignment or ():
        topics.setdefault(topic, []).append(partition)
    return joined(f"{topic} {' '.join(map(str, numbers))}" for topic, numbers in topics.items())


GROUP_MEMBER = table_view(
    ShownColumn("MEMBER", "member_id", style="bold", may_overflow=True),
    ShownColumn("STATIC", "group_instance_id", rank=4),
    ShownColumn("CLIENT", "client_id", rank=2, may_overflow=True),
    ShownColumn("HOST", "client_host", rank=3),
    ShownColumn("PARTITIONS", _assigned, least=16),
    ShownColumn("SUBSCRIBED TO", lambda row: joined(row.subscribed_topics or ()), rank=5, least=16),
    shared=HEAD_COLUMNS,
    verdict=lambda rows: f"{counted(len(rows), 'member')} of {_groups(rows)}.",
)
GROUP_COMMIT = table_view(
    ShownColumn("RECORD", "offset_of_record", "number"),
    ShownColumn("TIME (UTC)", "timestamp", "time of day"),
    ShownColumn("TOPIC-PARTITION", _partition, may_overflow=True),
    ShownColumn("COMMITTED", lambda row: (row.previous_offset, row.committed_offset), "change", style="bold"),
    ShownColumn("", "change"),
    shared=HEAD_COLUMNS,
    severity=lambda row: {"back": "warning", "removed": "info"}.get(row.change),
    verdict=lambda rows: (
        f"{counted(len(rows), 'change')}: "
        f"{joined(f'{count} {change}' for change, count in Counter(row.change for row in rows).items())}."
    ),
)
