"""What a start makes of strange names in a partition directory (ends, becomes a segment), by LogLoader."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from formats.names import canonical_name, file_prefix, has_no_offset
from kcli.kafka.kraft.partition_start import load
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from tests.oracle.written import truncated, written
from tests.partitions import unit
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

STEMS = (
    "x",
    "",
    " ",
    "87",
    "+87",
    "-1",
    "100",
    "-0",
    f"{100:021d}",
    f"{87:020d}",
    "\u0668\u0667",
    "9223372036854775807",
    "9223372036854775808",
    "1_0",
    "0x1",
)
BETWEEN = ("", "", ".old", ".log", ".x.y")
LAST = file_prefix(2**63 - 1)
OUTCOMES = {"x.log": "stops", f"{87:020d}.log": "file", "87.log": "segment"}
"""What a file of each name comes to."""
KINDS = (
    ".log",
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    ".swap",
    ".cleaned",
    ".deleted",
    ".tmp",
    "",
)


def loaded_bases(partition: Partition) -> set[int]:
    loaded = load(partition, clean=True, recovery_point=0, log_start_offset=0)
    return {segment.base_offset for segment in loaded.segments}


def came_of(oracle: Oracle, directory: Path, bases: set[int], name: str) -> str:
    """Compare what Kafka and kcli make of a directory; return what a file of this name came to."""
    partition = Partition(unit(directory).target)
    loaded = truncated(oracle, directory, None)["loaded"]
    answer = [note.kind for note in partition.unexpected_names]
    if loaded.get("error") == "NumberFormatException":
        assert (has_no_offset(name), answer) == (True, ["no-offset"])
        return "stops"
    assert not has_no_offset(name), loaded
    opened = canonical_name(name.removesuffix(".swap")) or ""
    # with no cleaned file a swap is taken for older than one of the last offset
    is_dropped = name.endswith(".swap") and opened.startswith(LAST)
    opened = "" if is_dropped else opened
    before = {f"{file_prefix(base)}.log" for base in bases}
    found = {f"{file_prefix(segment['base_offset'])}.log" for segment in loaded["segments"]}
    assert found == before | ({opened} if opened.endswith(".log") else set()), (name, loaded)
    if found == before or name.removesuffix(".swap") == opened:
        assert answer == []
        assert {f"{file_prefix(base)}.log" for base in loaded_bases(partition)} == found
        return "file"
    assert answer == ["non-canonical-name"]
    with pytest.raises(FileError, match="begins that as an empty segment"):
        loaded_bases(partition)
    return "segment"


def test_unexpected_names_stop_the_start_or_become_segments_as_predicted(oracle: Oracle, oracle_seed: int):
    choose = random.Random(oracle_seed)
    directory, facts = written(oracle, batches=30, roll_every=10)
    bases = {segment["base_offset"] for segment in facts["segments"]}
    chosen = [choose.choice(STEMS) + choose.choice(BETWEEN) + choose.choice(KINDS) for _ in range(cases(80))]
    for name in (*OUTCOMES, *chosen):
        strange = directory / name
        if strange == directory or strange.exists():
            continue
        strange.write_bytes(b"")
        outcome = came_of(oracle, directory, bases, name)
        assert outcome == OUTCOMES.get(name, outcome)
        strange.unlink()
