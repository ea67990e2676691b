"""`kcli replica diff` where one replica lacks batches: compaction, or a lost segment."""

import json

import pytest

from tests.partitions import epoch_lines, put_range, segment


def replica(root, *bases, cleaned=None):
    directory = root / "orders-0"
    for base in bases:
        segment(directory, base, put_range(base, 10))
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0)))
    (root / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
    (root / ".kafka_cleanshutdown").write_text("")
    if cleaned is not None:
        (root / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {cleaned}\n")
    return root


@pytest.mark.parametrize(("cleaned", "codes"), [(None, {"REPL-005"}), (20, set())])
def test_a_lost_segment_is_not_taken_for_compaction(kcli, tmp_path, cleaned, codes):
    whole = replica(tmp_path / "a", 0, 10, 20)
    other = replica(tmp_path / "b", 0, 20, cleaned=cleaned)
    document = json.loads(kcli("replica", "diff", whole, other, "-o", "json").stdout)

    assert [(row["first_offset"], row["verdict"]) for row in document["rows"]] == [
        (0, "equal"),
        (10, "compacted"),
        (20, "equal"),
    ]
    found = {one["code"]: one["dir"] for one in document["findings"] if one["severity"] != "info"}
    assert found.keys() == codes
    assert not codes or found["REPL-005"] == str(other / "orders-0")
