"""What kcli predicts of a truncation, held against what the judge did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kcli.jobs.truncate import WOULD_FAIL, Request, dry_run
from kcli.kafka.kraft.partition_start import LOAD_FAILED
from tests.oracle.damages import names
from tests.partitions import unit
from tests.rows import named

SPLIT = "split"
"""In place of an exception: the broker splits a segment, and kcli says that it cannot tell."""


def predicted(directory: Path, request: Request) -> tuple[dict[str, Any] | None, str | None]:
    """Return the row of a dry run, the exception's name where the log does not load, or SPLIT."""
    outcome = dry_run(unit(directory), request=request)
    if outcome.error is not None:
        if outcome.error.error == "unsupported":
            assert "the broker splits the segment" in outcome.error.message
            return None, SPLIT
        assert outcome.error.error in {LOAD_FAILED, WOULD_FAIL}, outcome.error
        return None, outcome.error.message.split(": ")[1]
    return named(outcome.rows[0]), None


def thrown(judged: dict[str, Any]) -> str | None:
    """Return the first exception that the judge met, at the load or the truncation."""
    errors = (judged.get(stage, {}).get("error") for stage in ("loaded", "truncated"))
    return next(filter(None, errors), None)


def snapshots(report: dict[str, Any]) -> set[int]:
    return {int(name.partition(".")[0]) for name in report["files"] if name.endswith(".snapshot")}


COUNTS = ("offset_index_entries", "time_index_entries", "txn_index_entries")


def segments(row: dict[str, Any], when: str) -> list[dict[str, int]]:
    gone = {"before": "create", "after": "delete"}[when]
    return [
        {
            "base_offset": s["base_offset"],
            "size": s[f"size_{when}"],
            **{name: s[f"{name}_{when}"] for name in COUNTS},
        }
        for s in row["segments"]
        if s["action"] != gone
    ]


def entries(rows: list[dict[str, int]]) -> list[list[int]]:
    return [[row["epoch"], row["start_offset"]] for row in rows]


def facts(row: dict[str, Any], when: str) -> dict[str, Any]:
    """Return what the row says of a stage in the judge's words."""
    return {
        "log_end_offset": row[f"log_end_offset_{when}"],
        "log_start_offset": row[f"log_start_offset_{when}"],
        "high_watermark": row[f"high_watermark_{when}"],
        "recovery_point": row[f"recovery_point_{when}"],
        "epochs": entries(row[f"epochs_{when}"]),
        "segments": segments(row, when),
    }


def agree(row: dict[str, Any], answer: dict[str, Any], before: set[int]) -> None:
    for when, stage in (("before", "loaded"), ("after", "truncated")):
        ours = facts(row, when)
        assert ours == {name: answer[stage][name] for name in ours}, stage
    left = snapshots(answer["truncated"])
    expected = [
        {
            "offset": offset,
            "action": "delete" if offset not in left else "keep" if offset in before else "create",
        }
        for offset in sorted(before | left)
    ]
    assert row["producer_snapshots"] == expected
    reopened = answer["reopened"]
    assert row["log_end_offset_after_restart"] == (
        None if "error" in reopened else reopened["log_end_offset"]
    )
    size = lambda stage: sum(segment["size"] for segment in answer[stage]["segments"])
    assert row["bytes_removed"] == size("loaded") - size("truncated")
    assert answer["truncated"]["truncated"] == (row["kind"] != "none")


def judged_producer(producer: dict[str, Any]) -> tuple[int | None, ...]:
    """Return what Kafka holds of a producer in the order of kcli's fields, its id first."""
    last = producer["batches"][-1:] or [{"last_sequence": -1, "last_offset": -1, "offset_delta": 0}]
    return (
        producer["producer_id"],
        producer["last_timestamp"],
        producer["current_txn_first_offset"],
        producer["producer_epoch"],
        *(last[0][key] for key in ("last_sequence", "last_offset", "offset_delta")),
        producer["coordinator_epoch"],
    )


def assert_split(loaded: dict[str, Any], directory: Path) -> None:
    """The broker makes more segments of the one in which an offset overflows, or fails to."""
    bases = {int(path.name.partition(".")[0]) for path in names(directory, ".log", ".log.swap")}
    assert "error" in loaded or {segment["base_offset"] for segment in loaded["segments"]} - bases, loaded
