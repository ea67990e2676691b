"""The views of `failover`: partitions before and after, and the quorum of controllers."""

from collections import Counter
from collections.abc import Callable, Sequence

from kcli.output.table.columns import CHANGE, NUMBER, ShownColumn
from kcli.output.table.shared_columns import SharedColumn
from kcli.output.table.table_view import TableView
from kcli.output.units import counted, joined, number
from kcli.rows.replicas import FailoverControllerRow, FailoverRow


def _severity(row: FailoverRow) -> str | None:
    if row.outcome == "offline":
        return "error"
    return "warning" if row.unclean or not row.writable else None


def _brokers(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers)) or "none"


def _pair(field: str) -> Callable[[FailoverRow], tuple[object, object]]:
    """Return what gives the values of a field now and after the failover; no leader is -1."""

    def pair(row: FailoverRow) -> tuple[object, object]:
        now, then = (getattr(row, name) for name in (field, f"next_{field}"))
        if isinstance(now, tuple):
            return _brokers(now), _brokers(then)
        return (None if now < 0 else now), (None if then < 0 else then)

    return pair


def _note(row: FailoverRow) -> str:
    """Return what is unusual about a partition."""
    notes = (
        f"waits for {_brokers(row.next_elr or row.next_isr)}" if row.outcome == "offline" else "",
        "unclean" if row.unclean else "",
        "no acks=all" if row.next_leader >= 0 and not row.writable else "",
        f"ELR {_brokers(row.next_elr)}" if row.next_elr and row.next_leader >= 0 else "",
        f"adding {_brokers(row.adding_replicas)}" if row.adding_replicas else "",
        f"removing {_brokers(row.removing_replicas)}" if row.removing_replicas else "",
    )
    return joined(notes)


def _total(rows: Sequence[FailoverRow]) -> str:
    outcomes = Counter(row.outcome for row in rows)
    counts = {
        "get another leader": outcomes["new-leader"],
        "offline": outcomes["offline"],
        "lose a follower": outcomes["isr-shrinks"],
        "unchanged": outcomes["unchanged"],
        "by unclean election": sum(row.unclean for row in rows),
        "below min.insync.replicas": sum(row.next_leader >= 0 and not row.writable for row in rows),
    }
    words = joined(f"{number(count)} {what}" for what, count in counts.items() if count)
    return f"{counted(len(rows), 'partition')}: {words}."


FAILOVER = TableView(
    columns=(
        ShownColumn("TOPIC-PARTITION", lambda row: f"{row.topic}-{row.partition}", may_overflow=True),
        ShownColumn("REPLICAS", lambda row: _brokers(row.replicas), rank=3),
        ShownColumn("LEADER", _pair("leader"), CHANGE, style="bold"),
        ShownColumn("ISR", _pair("isr"), CHANGE),
        ShownColumn("EPOCH", _pair("leader_epoch"), CHANGE),
        ShownColumn("", _note, rank=1, least=16, style="yellow"),
    ),
    shared=(SharedColumn("METADATA", lambda row: row.dir, "metadata of {}", rank=2, is_last=True),),
    verdict=_total,
    severity=_severity,
)


def _votes(row: FailoverControllerRow) -> str:
    return "unknown" if row.majority is None else f"{row.votes or 0} of {row.majority}"


def _next_controller(rows: Sequence[FailoverControllerRow]) -> str:
    """Return which of the nodes can lead without the active controller."""
    nodes = {row.node_id for row in rows}
    lacking = sorted({voter for row in rows for voter in row.voters} - nodes - {row.leader for row in rows})
    can = [str(row.node_id) for row in rows if row.electable]
    words = f"Without the leader {' or '.join(can)} can lead." if can else "No node here can lead for sure."
    return f"{words} Name the logs of {_brokers(lacking)}, too." if lacking else words


CONTROLLERS = TableView(
    columns=(
        ShownColumn("METADATA", "dir", may_overflow=True),
        ShownColumn("NODE", "node_id", NUMBER),
        ShownColumn("LEADER", "leader", NUMBER),
        ShownColumn("EPOCH", "leader_epoch", NUMBER),
        ShownColumn("NEXT", "next_leader_epoch", NUMBER),
        ShownColumn("VOTERS", lambda row: _brokers(row.voters), rank=1),
        ShownColumn("VOTES", _votes),
        ShownColumn("LAST EPOCH", "last_epoch", NUMBER),
        ShownColumn("LOG END", "log_end_offset", NUMBER),
        ShownColumn(
            "CAN LEAD NEXT", lambda row: {True: "yes", False: "no", None: "?"}[row.electable], style="bold"
        ),
    ),
    closing=_next_controller,
)
