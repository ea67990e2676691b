"""The views of `failover`: partitions before and after, and the quorum of controllers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, Kind, ShownColumn
from kcli.output.table.marks import joined
from kcli.output.table.tables import TableView, draw_table
from kcli.output.units import counted, number
from kcli.output.values import one_line
from kcli.rows.failover import FailoverControllerRow, FailoverRow

STEP = Kind(lambda pair, symbols: f" {symbols.arrow} ".join(map(str, dict.fromkeys(pair))))
"""A pair: what is now, and what is then where it changes."""


def _severity(row: FailoverRow) -> str | None:
    if row.outcome == "offline":
        return "error"
    return "warning" if row.unclean or not row.writable else None


def _brokers(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers)) or "none"


def _leader(broker: int) -> str:
    return "none" if broker < 0 else str(broker)


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
    count = Counter(row.outcome for row in rows)
    unclean = sum(row.unclean for row in rows)
    unwritable = sum(row.next_leader >= 0 and not row.writable for row in rows)
    said = joined(
        (
            f"{number(count['new-leader'])} get another leader" if count["new-leader"] else "",
            f"{number(count['offline'])} offline" if count["offline"] else "",
            f"{number(count['isr-shrinks'])} lose a follower" if count["isr-shrinks"] else "",
            f"{number(count['unchanged'])} unchanged" if count["unchanged"] else "",
            f"{number(unclean)} by unclean election" if unclean else "",
            f"{number(unwritable)} below min.insync.replicas" if unwritable else "",
        )
    )
    return f"{counted(len(rows), 'partition')}: {said}."


def draw_failover(
    rows: Sequence[FailoverRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the partitions; without one what that means."""
    dirs = {row.dir for row in rows}
    view = FAILOVER if len(dirs) < 2 else FAILOVER._replace(columns=(*FAILOVER.columns, _DIR), facts=None)
    yield from draw_table(view, rows, screen, findings)


_DIR = ShownColumn("METADATA", "dir", rank=1)


def _partition(row: Any) -> str:
    return f"{row.topic}-{row.partition}"


FAILOVER = TableView(
    columns=(
        ShownColumn("TOPIC-PARTITION", _partition, may_overflow=True),
        ShownColumn("REPLICAS", lambda row: _brokers(row.replicas), rank=3),
        ShownColumn(
            "LEADER", lambda row: (_leader(row.leader), _leader(row.next_leader)), STEP, style="bold"
        ),
        ShownColumn("ISR", lambda row: (_brokers(row.isr), _brokers(row.next_isr)), STEP),
        ShownColumn("EPOCH", lambda row: (row.leader_epoch, row.next_leader_epoch), STEP),
        ShownColumn("", _note, rank=1, least=16, style="yellow"),
    ),
    verdict=_total,
    severity=_severity,
    facts=lambda rows: [f"metadata of {one_line(rows[0].dir)}"],
)


def _electorate(row: FailoverControllerRow) -> str:
    if row.majority is None:
        return "unknown"
    return f"{0 if row.votes is None else row.votes} of {row.majority}"


def _can_lead(row: FailoverControllerRow) -> str:
    return {True: "yes", False: "no", None: "?"}[row.electable]


def _next_controller(rows: Sequence[FailoverControllerRow]) -> str:
    """Return which of the nodes can lead without the active controller."""
    named = {row.node_id for row in rows}
    lacking = sorted({voter for row in rows for voter in row.voters} - named - {row.leader for row in rows})
    can = [str(row.node_id) for row in rows if row.electable]
    said = f"Without the leader {' or '.join(can)} can lead." if can else "No node here can lead for sure."
    return f"{said} Name the logs of {_brokers(lacking)}, too." if lacking else said


CONTROLLERS = TableView(
    columns=(
        ShownColumn("METADATA", "dir", may_overflow=True),
        ShownColumn("NODE", "node_id", NUMBER),
        ShownColumn("LEADER", "leader", NUMBER),
        ShownColumn("EPOCH", "leader_epoch", NUMBER),
        ShownColumn("NEXT", "next_leader_epoch", NUMBER),
        ShownColumn("VOTERS", lambda row: _brokers(row.voters), rank=1),
        ShownColumn("VOTES", _electorate),
        ShownColumn("LAST EPOCH", "last_epoch", NUMBER),
        ShownColumn("LOG END", "log_end_offset", NUMBER),
        ShownColumn("CAN LEAD NEXT", _can_lead, style="bold"),
    ),
    closing=_next_controller,
)
