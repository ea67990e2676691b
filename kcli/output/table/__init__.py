"""Views for people: how rows of each type are shown on a terminal.

Most views are a declaration, a `TableView`. Others give one, or what Rich prints, for a `TableInput`. They
are imported when they are drawn: Rich is slow to import.
"""

from importlib import import_module
from os.path import basename
from typing import TYPE_CHECKING, Any

from kcli.output.text import unread
from kcli.output.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.kafka.findings.findings import Finding
    from kcli.output.table.table_view import Drawn, TableInput
    from kcli.rows import Failure
    from kcli.rows.declare import RowType

DRAWINGS = {
    "partition": "ls.view_partitions",
    "epoch": "epoch.EPOCH_VIEW",
    "end_offset": "epoch.END_OFFSETS",
    "position": "epoch.POSITIONS",
    "epoch_diff": "epoch.view_diffs",
    "epoch_check": "check.EPOCH_CHECKS",
    "startup": "startup.draw_startup",
    "startup_broker": "startup.draw_startup",
    "startup_release": "startup.BY_RELEASE",
    "truncation": "truncate.TRUNCATIONS",
    "checkpoint": "ls.CHECKPOINT_VIEW",
    "replica_range": "replica.RANGES",
    "check": "check.view_checks",
    "run_diff": "check.DIFFERENCES",
    "fingerprint": "replica.FINGERPRINTS",
    "partition_for": "lookup.PARTITIONS_FOR",
    "election": "replica.view_elections",
    "salvage": "check.view_salvages",
    "bundle": "bundle.BUNDLE_VIEW",
    "simulation": "replica.view_story",
    "scenario": "replica.SCENARIOS",
    "failover": "replica.FAILOVER_VIEW",
    "failover_controller": "replica.CONTROLLERS",
    "producer": "transactions.view_producers",
    "metadata_summary": "metadata.SUMMARY_TABLE",
    "metadata_topic": "metadata.TOPIC_TABLE",
    "metadata_partition": "metadata.PARTITION_TABLE",
    "metadata_broker": "metadata.BROKER_TABLE",
    "metadata_controller": "metadata.CONTROLLER_TABLE",
    "metadata_config": "metadata.CONFIG_TABLE",
    "metadata_feature": "metadata.FEATURE_TABLE",
    "metadata_acl": "metadata.ACL_TABLE",
    "metadata_quota": "metadata.QUOTA_TABLE",
    "metadata_scram": "metadata.SCRAM_TABLE",
    "metadata_token": "metadata.TOKEN_TABLE",
    "metadata_producer_ids": "metadata.PRODUCER_ID_TABLE",
    "metadata_voter": "metadata.VOTER_TABLE",
    "metadata_change": "metadata.view_changes",
    "metadata_difference": "metadata.DIFFERENCE_TABLE",
    "metadata_command": "metadata.COMMAND_TABLE",
    "group": "group.GROUP_VIEW",
    "group_offset": "group.COMMIT_VIEW",
    "group_storage": "group.STORAGE_VIEW",
    "group_member": "group.MEMBER_VIEW",
    "group_commit": "group.CHANGE_VIEW",
    "transaction": "transactions.TRANSACTIONAL_IDS",
    "open_transaction": "transactions.OPEN_TRANSACTIONS",
    "disk_sum": "ls.DISK_SUMS",
    "retention": "retention.draw_segments",
    "retention_partition": "retention.COMPACTED_LOGS",
    "compact_segment": "retention.CLEANED_SEGMENTS",
    "compact_partition": "retention.view_cleaned",
    "compact_record": "retention.CLEANED_RECORDS",
    "scan_partition": "scan.view_partitions",
    "scan_segment": "scan.view_segments",
    "lookup_offset": "lookup.OFFSET_VIEW",
    "lookup_timestamp": "lookup.TIMESTAMPS",
    "rlmm_event": "rlmm.EVENTS",
    "remote_segment": "rlmm.draw_segments",
    "remote_highest": "rlmm.HIGHEST",
    "remote_history": "rlmm.HISTORY",
    "remote_replay": "rlmm.REPLAYS",
    "remote_check": "rlmm.CHECKS",
    "rlmm_offsets": "rlmm.TIER_OFFSETS",
    "rlmm_lookup_offset": "rlmm.LOOKUPS",
    "rlmm_lookup_timestamp": "rlmm.LOOKUPS",
    "rlmm_coverage": "rlmm.draw_coverage",
    "rlmm_retention": "rlmm.view_retention",
    "rlmm_follow": "rlmm.FOLLOWERS",
    "rlmm_cluster_offset": "rlmm.CLUSTER_OFFSETS",
    "dump_batch": "dump.BATCH_VIEW",
    "dump_record": "dump.view_records",
    "dump_producer": "dump.PRODUCERS",
    "dump_layout": "dump.LAYOUT",
}
"""The view of a row type: a TableView or a function of a module here. Others have a column for each value."""

LOST_FILES = ("LOG-012", "LOG-008", "LOG-007", "LOG-002")
LACKING_AFTER = {
    "metadata": ("META-001", "META-003", "LOG-001"),
    "group": ("COORD-001", "COORD-004", "COORD-002", *LOST_FILES, "LOG-003", "LOG-001", "COORD-005"),
    "transactions": ("COORD-001", "COORD-004", "TXN-001", *LOST_FILES, "LOG-003", "LOG-025", "COORD-005"),
    "rlmm": ("RLMM-032", "RLMM-037", "RLMM-036", "RLMM-035", "RLMM-001", "RLMM-002", *LOST_FILES, "LOG-003"),
}
"""By module of views of what a log comes to: the findings after which the first line says it is not whole."""


WITHOUT_ROWS = {
    "metadata_difference": "They are equal.",
    "group": "No groups.",
    "group_offset": "No offsets.",
    "group_member": "No members.",
    "transaction": "No transactional ids.",
    "open_transaction": "No open transactions.",
}
"""The first line where there is no row of a type."""


LACKING_WORDS = ("Incomplete", "May be incomplete")
"""What the first line of an answer begins with that is not whole, surely or maybe."""


def without_rows(row_type: str, findings: "Sequence[Finding]", failures: "Sequence[Failure]") -> list[str]:
    """Return what the first lines say where there is no row of a type; of errors what they hide."""
    lacks = [*filter(None, [lacking(row_type, findings, failures)])]
    if failures:
        return lacks if row_type in WITHOUT_ROWS and unread(failures) else []
    expired = sum(int(one.found or 0) for one in findings if one.code == "PROD-010")
    nothing = WITHOUT_ROWS.get(row_type, "No rows.")
    if row_type == "producer" and expired:
        nothing = f"{counted(expired, 'producer')} known, all expired by now: --at TIME shows them."
    return [*lacks, nothing]


def lacking(row_type: str, findings: "Sequence[Finding]", failures: "Sequence[Failure]") -> str:
    """Return a sentence about what is not whole of the answer that rows of a type are, "" of a whole one."""
    missing = not_whole(row_type, findings)
    paths = [*dict.fromkeys(failure.path for failure in unread(failures) if failure.path)]
    if not (missing or paths):
        return ""
    parts = []
    if paths:
        were, more = ("was", "") if len(paths) == 1 else ("were", f" and {len(paths) - 1} more")
        parts.append(f"{counted(len(paths), 'input')} {were} not read ({paths[0]}{more})")
    if missing:
        first, others = missing[0], len(missing) - 1
        file = first.file if first.path != first.dir else None
        parts.append(f"{'/'.join(filter(None, (basename(first.dir or ''), file)))}: {first.message}")
        parts += [counted(others, "more finding")] if others else []
    is_sure = paths or missing[0].severity != "info"
    return f"{LACKING_WORDS[not is_sure]}: {'; '.join(parts)}."


def not_whole(row_type: str, findings: "Sequence[Finding]") -> "list[Finding]":
    """Return the findings after which the answer that rows of a type are is not whole, the worst first."""
    module, _, _ = DRAWINGS.get(row_type, "").partition(".")
    codes = LACKING_AFTER.get(module, ())
    return [finding for code in codes for finding in findings if finding.code == code]


def draw(row_type: "RowType", drawn: "TableInput") -> "Drawn":
    """Return what Rich prints for rows of a type."""
    from kcli.output.table.table_view import TableView, default_view, draw_table

    module, _, name = DRAWINGS.get(row_type.name, "").partition(".")
    view: Any = default_view(row_type.columns, drawn)
    if name:
        view = getattr(import_module(f"kcli.output.table.{module}"), name)
    view = view if isinstance(view, TableView) else view(drawn)
    return draw_table(view, drawn) if isinstance(view, TableView) else view
