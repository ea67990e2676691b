"""Views for people: how rows of each type are shown on a terminal.

Most views are a declaration, a `TableView`. Others give one, or what Rich prints, for a `TableInput`. They
are imported when they are drawn: Rich is slow to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.output.table.table_view import Drawn, TableInput

DRAWINGS = {
    "partition": "ls.view_partitions",
    "epoch": "epoch.EPOCHS",
    "end_offset": "epoch.END_OFFSETS",
    "epoch_at": "epoch.EPOCH_AT",
    "position": "epoch.POSITIONS",
    "epoch_diff": "epoch.view_diffs",
    "epoch_check": "check.EPOCH_CHECKS",
    "startup": "startup.draw_startup",
    "startup_broker": "startup.draw_startup",
    "truncation": "truncate.TRUNCATIONS",
    "checkpoint": "checkpoint.CHECKPOINTS",
    "replica_range": "replica.RANGES",
    "check": "check.view_checks",
    "run_diff": "diff.DIFFERENCES",
    "fingerprint": "replica.FINGERPRINTS",
    "election": "replica.view_elections",
    "salvage": "salvage.view_salvages",
    "simulation": "simulation.draw_story",
    "scenario": "simulation.SCENARIOS",
    "failover": "failover.FAILOVER",
    "failover_controller": "failover.CONTROLLERS",
    "scan_partition": "scan.view_partitions",
    "scan_segment": "scan.view_segments",
    "lookup_offset": "lookup.OFFSETS",
    "lookup_timestamp": "lookup.TIMESTAMPS",
    "partition_for": "identifiers.PARTITIONS_FOR",
    "uuid": "identifiers.UUIDS",
    "rlmm_event": "rlmm_events.view_events",
    "rlmm_snapshot": "rlmm_events.SNAPSHOTS",
    "rlmm_committed_offset": "rlmm_events.COMMITTED_OFFSETS",
    "rlmm_partition": "rlmm_events.PARTITIONS",
    "rlmm_kip_partition": "rlmm_events.KIP_PARTITIONS",
    "rlmm_kip_event": "rlmm_events.KIP_EVENTS",
    "rlmm_kip_file": "rlmm_events.KIP_FILES",
    "remote_segment": "rlmm_state.draw_segments",
    "remote_highest": "rlmm_state.HIGHEST",
    "remote_history": "rlmm_state.HISTORY",
    "remote_replay": "rlmm_state.REPLAYS",
    "remote_check": "rlmm_state.CHECKS",
    "rlmm_offsets": "rlmm_tiers.OFFSETS",
    "rlmm_lookup_offset": "rlmm_tiers.LOOKUPS",
    "rlmm_lookup_timestamp": "rlmm_tiers.LOOKUPS",
    "rlmm_coverage": "rlmm_tiers.draw_coverage",
    "rlmm_retention": "rlmm_tiers.RETENTION",
    "rlmm_follow": "rlmm_tiers.FOLLOWERS",
    "rlmm_cluster_offset": "rlmm_tiers.draw_cluster_offsets",
    "dump_batch": "dump.BATCHES",
    "dump_record": "dump.view_records",
    "dump_index": "dump.OFFSET_INDEX",
    "dump_timeindex": "dump.TIME_INDEX",
    "dump_txnindex": "dump.TXN_INDEX",
    "dump_producer": "dump.PRODUCERS",
    "dump_leader_epoch": "dump.LEADER_EPOCHS",
    "dump_offset": "dump.CHECKPOINTED_OFFSETS",
    "dump_meta_properties": "dump.META_PROPERTIES",
    "dump_partition_metadata": "dump.PARTITION_METADATA",
    "dump_quorum_state": "dump.QUORUM_STATE",
    "dump_rsm_manifest": "dump.SEGMENT_MANIFEST",
    "dump_clean_shutdown": "dump.CLEAN_SHUTDOWN",
    "dump_layout": "dump.LAYOUT",
    "dump_file": "dump.FILES",
}
"""The view of each row type: a TableView or a function of a module here."""


def draw(row_type: str, answer: "TableInput") -> "Drawn":
    """Return what Rich prints for rows of a type."""
    from kcli.output.table.table_view import TableView, draw_table

    module, _, name = DRAWINGS[row_type].partition(".")
    view: Any = getattr(import_module(f"kcli.output.table.{module}"), name)
    drawn = view if isinstance(view, TableView) else view(answer)
    return draw_table(drawn, answer) if isinstance(drawn, TableView) else drawn
