"""Views for people: how rows of each type are shown on a terminal.

A view is a function of rows, the screen and the run's findings that gives what Rich prints. Most are a
declaration, a `TableView`. They are imported when they are drawn: Rich is slow to import.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen

if TYPE_CHECKING:
    from rich.console import RenderableType

Draw: TypeAlias = Callable[[Sequence[Any], Screen, Sequence[Finding]], "Iterable[RenderableType]"]

DRAWINGS = {
    "partition": "partitions.draw_partitions",
    "epoch": "epochs.draw_epochs",
    "end_offset": "end_offsets.draw_end_offsets",
    "epoch_at": "epochs.EPOCH_AT",
    "position": "positions.POSITIONS",
    "epoch_diff": "epoch_diffs.draw_diffs",
    "epoch_check": "epoch_lines.CHECKED",
    "startup": "startups.draw_startup",
    "startup_broker": "startups.draw_startup",
    "truncation": "truncations.draw_truncations",
    "checkpoint": "checkpoints.CHECKPOINTS",
    "replica_range": "replica_ranges.draw_ranges",
    "check": "checks.draw_checks",
    "run_diff": "run_diffs.DIFFERENCES",
    "fingerprint": "replica_ranges.FINGERPRINTS",
    "election": "elections.draw_elections",
    "salvage": "salvages.draw_salvages",
    "simulation": "simulation.draw_story",
    "scenario": "simulation.SCENARIOS",
    "failover": "failover.draw_failover",
    "failover_controller": "failover.CONTROLLERS",
    "scan_partition": "scans.draw_partitions",
    "scan_segment": "scans.draw_segments",
    "lookup_offset": "lookups.draw_offsets",
    "lookup_timestamp": "lookups.draw_timestamps",
    "partition_for": "identifiers.PARTITIONS_FOR",
    "uuid": "identifiers.UUIDS",
    "rlmm_event": "remote.draw_events",
    "rlmm_snapshot": "remote.SNAPSHOTS",
    "rlmm_committed_offset": "remote.COMMITTED_OFFSETS",
    "rlmm_partition": "remote.PARTITIONS",
    "rlmm_kip_partition": "remote.KIP_PARTITIONS",
    "rlmm_kip_event": "remote.KIP_EVENTS",
    "rlmm_kip_file": "remote.KIP_FILES",
    "remote_replay": "remote_state.draw_replays",
    "rlmm_offsets": "tiers.OFFSETS",
    "remote_segment": "remote_state.draw_segments",
    "remote_highest": "remote_state.draw_highest",
    "remote_check": "remote_state.draw_checks",
    "remote_history": "remote_state.draw_history",
    "rlmm_lookup_offset": "tiers.draw_lookups",
    "rlmm_lookup_timestamp": "tiers.draw_lookups",
    "rlmm_coverage": "tiers.draw_coverage",
    "rlmm_retention": "tiers.RETENTION",
    "rlmm_follow": "tiers.draw_follow",
    "rlmm_cluster_offset": "cluster_offsets.draw_offsets",
    "dump_batch": "dumps.draw_batches",
    "dump_record": "dumps.draw_records",
    "dump_index": "dumps.OFFSET_INDEX",
    "dump_timeindex": "dumps.TIME_INDEX",
    "dump_txnindex": "dumps.TXN_INDEX",
    "dump_producer": "dumps.PRODUCERS",
    "dump_leader_epoch": "dumps.LEADER_EPOCHS",
    "dump_offset": "dumps.CHECKPOINTED_OFFSETS",
    "dump_meta_properties": "dumps.META_PROPERTIES",
    "dump_partition_metadata": "dumps.PARTITION_METADATA",
    "dump_quorum_state": "dumps.QUORUM_STATE",
    "dump_rsm_manifest": "dumps.SEGMENT_MANIFEST",
    "dump_clean_shutdown": "dumps.CLEAN_SHUTDOWN",
    "dump_layout": "dumps.LAYOUT",
    "dump_file": "dumps.FILES",
}
"""The view of each row type: a function or a TableView of a module here."""


def drawing_of(row_type: str) -> Draw | None:
    """Return the view of a row type; None where there is none."""
    if row_type not in DRAWINGS:
        return None
    module, _, name = DRAWINGS[row_type].partition(".")
    found: Any = getattr(import_module(f"kcli.output.table.{module}"), name)
    if callable(found):
        draw: Draw = found
        return draw
    from kcli.output.table.tables import draw_table

    return partial(draw_table, found)
