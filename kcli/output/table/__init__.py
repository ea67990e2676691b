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

_DRAWN_BY = {
    "bundle": "bundle",
    "check": "epoch_check check run_diff salvage",
    "dump": "dump_batch dump_record dump_producer dump_layout",
    "epoch": "epoch end_offset position epoch_diff",
    "group": "group group_offset group_storage group_member group_commit",
    "lookup": "partition_for lookup_offset lookup_timestamp",
    "ls": "partition checkpoint disk_sum",
    "metadata": (
        "metadata_summary metadata_topic metadata_partition metadata_broker metadata_controller "
        "metadata_config metadata_feature metadata_acl metadata_quota metadata_scram metadata_token "
        "metadata_producer_ids metadata_voter metadata_change metadata_difference metadata_command"
    ),
    "replica": "replica_range fingerprint election simulation scenario failover failover_controller",
    "retention": "retention retention_partition compact_segment compact_partition compact_record",
    "rlmm": (
        "rlmm_event remote_segment remote_highest remote_history remote_replay remote_check rlmm_offsets "
        "rlmm_lookup_offset rlmm_lookup_timestamp rlmm_coverage rlmm_retention rlmm_follow "
        "rlmm_cluster_offset"
    ),
    "scan": "scan_partition scan_segment",
    "startup": "startup startup_broker startup_release",
    "transactions": "producer transaction open_transaction",
    "truncate": "truncation",
}
"""By module of views the row types that have one there: of `run_diff` RUN_DIFF, or `draw_run_diff`."""
DRAWINGS = {name: module for module, names in _DRAWN_BY.items() for name in names.split()}
"""By row type the module of its view, a TableView or a function; others have a column for each value."""

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


WITHOUT_ANSWER = ("input has no answer", "inputs have no answer")
"""Of one and of several: kcli could not read them, or what they hold leaves the question open."""
LACKING_WORDS = ("Incomplete", "May be incomplete")
"""What the first line of an answer begins with that is not whole, surely or maybe."""


def without_rows(row_type: str, findings: "Sequence[Finding]", failures: "Sequence[Failure]") -> list[str]:
    """Return what the first lines say where there is no row of a type; of errors what they hide."""
    lacks = [*filter(None, [lacking(row_type, findings, failures)])]
    if failures:
        return lacks if row_type in WITHOUT_ROWS and unread(failures) else []
    expired = sum(int(finding.found or 0) for finding in findings if finding.code == "PROD-010")
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
        suffix = "" if len(paths) == 1 else f" and {len(paths) - 1} more"
        parts.append(f"{counted(len(paths), *WITHOUT_ANSWER)} ({paths[0]}{suffix})")
    if missing:
        first, remaining = missing[0], len(missing) - 1
        file = first.file if first.path != first.dir else None
        parts.append(f"{'/'.join(filter(None, (basename(first.dir or ''), file)))}: {first.message}")
        parts += [counted(remaining, "more finding")] if remaining else []
    is_sure = paths or missing[0].severity != "info"
    return f"{LACKING_WORDS[not is_sure]}: {'; '.join(parts)}."


def not_whole(row_type: str, findings: "Sequence[Finding]") -> "list[Finding]":
    """Return the findings after which the answer that rows of a type are is not whole, the worst first."""
    codes = LACKING_AFTER.get(DRAWINGS.get(row_type, ""), ())
    return [finding for code in codes for finding in findings if finding.code == code]


def draw(row_type: "RowType", answer: "TableInput") -> "Drawn":
    """Return what Rich prints for rows of a type."""
    from kcli.output.table.table_view import TableView, default_view, draw_table

    if row_type.name not in DRAWINGS:
        return draw_table(default_view(row_type.columns, answer), answer)
    views = vars(import_module(f"kcli.output.table.{DRAWINGS[row_type.name]}"))
    view: Any = views.get(row_type.name.upper()) or views[f"draw_{row_type.name}"]
    view = view if isinstance(view, TableView) else view(answer)
    return draw_table(view, answer) if isinstance(view, TableView) else view
