"""The one rule of exit status 1 for answers: which rows are bad news, and which findings of a start.

A broker would not start as usual, or waits; records would be lost; a partition that has a leader would have
none; replicas or a consumer's position have parted; a transaction hangs. Findings of the level of --fail-on
end a run with 1, too, and `--fail-on never` is for who only looks.
"""

from collections.abc import Callable
from typing import Any

from kcli.kafka.findings.findings import Finding
from kcli.rows import Item, row_types, type_name

NO_LEADER = -1


def loses_records(row: Any) -> bool:
    """Whether a truncation removes records that are nowhere else, and were not deleted before."""
    removed = row.first_removed_offset
    if removed is not None and removed < row.log_start_offset_before and row.lost_offsets is None:
        return False
    return bool(row.bytes_removed) and (row.outcome != "tiered" or row.rescue_command is not None)


def has_other_epochs(row: Any) -> bool:
    """Whether a replica_range holds the same records in other leader epochs: one replica truncates them."""
    return bool(row.verdict == "equal" and row.leader_epoch != row.other_leader_epoch)


BAD_NEWS: dict[str, Callable[[Any], bool]] = {
    "startup": lambda row: row.records_lost != 0,
    "startup_broker": lambda row: row.outcome != "starts",
    "truncation": lambda row: loses_records(row) or row.outcome in {"failed", "stuck"},
    "failover": lambda row: (
        row.next_leader == NO_LEADER != row.leader or bool(row.unclean and row.outcome == "new-leader")
    ),
    "election": lambda row: bool(row.would_be_elected is not False and row.committed_records_lost),
    "epoch_diff": lambda row: row.divergence_offset is not None,
    "replica_range": lambda row: row.verdict == "differs" or has_other_epochs(row),
    "metadata_difference": lambda _: True,
    "group_offset": lambda row: (
        row.removed_by is None and (row.position in {"out-of-range", "diverged"} or row.waits)
    ),
    "open_transaction": lambda row: row.hanging is True,
    "position": lambda row: (
        row.outcome in {"truncated", "undefined", "out-of-range"} or row.error == "UNKNOWN_LEADER_EPOCH"
    ),
}
"""By type of row. What `check`, `diff`, `salvage` and `rlmm check` find are findings."""
FORETELL_A_START = frozenset({"check", "ls", "startup"})
"""Commands that say what a start makes of log dirs: they agree."""
WHERE_EXPECTED = frozenset({"START-012", "START-014"})
"""Findings of a lost topic id or metadata log: bad news where the finding says what is expected."""
START_LOSSES = WHERE_EXPECTED | {"START-001", "START-013", "START-019", "START-020", "START-024"}
"""Findings of records that a start cuts, leaves -stray, begins empty or discards, whatever their severity."""


def bad_news_of(command: str) -> Callable[[Item], bool] | None:
    """Return what finds the rows of a command that end it with exit status 1; None where none does."""
    return is_bad_news if any(row_type.name in BAD_NEWS for row_type in row_types(command)) else None


def is_bad_news(row: Item) -> bool:
    """Whether a row ends its command with exit status 1."""
    rule = BAD_NEWS.get(type_name(row)) if isinstance(row, tuple) else None
    return rule is not None and rule(row)


def is_bad_finding(command: str, finding: Finding) -> bool:
    """Whether a finding ends a command with exit status 1, below the level of --fail-on, too."""
    is_sure = finding.code not in WHERE_EXPECTED or finding.expected is not None
    return command in FORETELL_A_START and finding.code in START_LOSSES and is_sure
