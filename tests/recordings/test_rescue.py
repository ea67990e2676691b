"""`truncate --leader --rescue` against a follower that truncated: what it lost is what was saved."""

import json

import pytest

from tests.partitions import records_of


@pytest.mark.parametrize("topic", ["quiet", "quiet-segments", "quiet-zstd", "quiet-txn", "all-lost"])
def test_what_was_saved_is_what_the_follower_has_no_more(recording, ask, topic, tmp_path):
    before, leader, after = (
        recording("truncation") / name
        for name in ("before-follower", "before-leader", "after-follower-stopped")
    )
    saved, name = tmp_path / "lost.ndjson", f"{topic}-0"
    ask("truncate", "--dry-run", "--leader", leader, "--rescue", saved, before / name)
    left = {record.offset for _, record in records_of(after / name, 0)}
    lost = [record.offset for _, record in records_of(before / name, 0) if record.offset not in left]
    assert lost
    assert [json.loads(line)["offset"] for line in saved.read_text().splitlines()] == lost
