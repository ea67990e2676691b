"""`kcli replica diff` where one replica lacks batches: compaction, or a lost segment."""

import json

import pytest

from tests.partitions import epoch_lines, put_range, segment


def replica(root, *bases, cleaned=None):
    directory = root / "orders-0"
    directory.mkdir(parents=True)
    for base in bases:
        segment(directory, base, put_range(base, 10))
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0)))
    (root / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
    (root / ".kafka_cleanshutdown").write_text("")
    if cleaned is not None:
        (root / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {cleaned}\n")
    return root


def compared(kcli, *paths):
    result = kcli("replica", "diff", *paths, "-o", "json")
    document = json.loads(result.stdout)
    rows = [(row["first_offset"], row["verdict"], row["reason"]) for row in document["rows"]]
    found = {
        finding["code"]: finding["dir"] for finding in document["findings"] if finding["severity"] != "info"
    }
    return result.exit_code, rows, found


WHOLE = (0, 10, 20, 30)
MIDDLE = [(10, "only-here", "missing"), (20, "equal", None)]


@pytest.mark.parametrize("is_alone", [False, True], ids=["log-dir", "partition-directory"])
def test_a_lost_segment_is_missing(kcli, tmp_path, is_alone):
    whole, other = replica(tmp_path / "a", *WHOLE), replica(tmp_path / "b", 0, 20, 30)
    if is_alone:
        whole, other = whole / "orders-0", other / "orders-0"
        for path in (tmp_path / "a", tmp_path / "b"):
            (path / "meta.properties").unlink()
    status, rows, found = compared(kcli, whole, other)

    assert (status, rows) == (1, [(0, "equal", None), *MIDDLE])
    assert found == {"REPL-005": str(tmp_path / "b" / "orders-0")}
    status, rows, found = compared(kcli, other, whole)
    assert (status, rows[1]) == (1, (10, "only-there", "missing"))
    assert found == {"REPL-005": str(tmp_path / "b" / "orders-0")}


def test_where_a_cleaner_knows_the_partition_it_is_compacted(kcli, tmp_path):
    whole, other = replica(tmp_path / "a", *WHOLE), replica(tmp_path / "b", 0, 20, 30, cleaned=20)
    rows = [(0, "equal", None), (10, "compacted", None), (20, "equal", None)]
    assert compared(kcli, whole, other) == (0, rows, {})


def test_where_another_hole_shows_compaction_it_is_compacted(kcli, tmp_path):
    whole, other = replica(tmp_path / "a", *WHOLE[:2]), replica(tmp_path / "b", 0)
    segment(whole / "orders-0", 20, put_range(20, 5) + put_range(25, 5) + put_range(30, 5))
    segment(other / "orders-0", 20, put_range(20, 5) + put_range(30, 5))
    rows = [(0, "equal", None), (10, "compacted", None), (30, "equal", None)]
    assert compared(kcli, whole, other) == (0, rows, {})


@pytest.mark.parametrize(
    ("lost", "rows"),
    [
        ({20}, [(0, "equal", None), (20, "only-here", "missing"), (25, "equal", None)]),
        ({5, 20}, [(0, "equal", None), (5, "compacted", None), (25, "equal", None)]),
    ],
    ids=["one-hole", "two-holes"],
)
def test_one_hole_within_a_segment_is_missing_and_two_are_compaction(kcli, tmp_path, lost, rows):
    whole, other = replica(tmp_path / "a"), replica(tmp_path / "b")
    for root, gone in ((whole, set()), (other, lost)):
        segment(root / "orders-0", 0, b"".join(put_range(i, 5) for i in range(0, 35, 5) if i not in gone))
    status, found, _ = compared(kcli, whole, other)
    assert (status, found) == (int(len(lost) == 1), rows)


def test_fingerprints_show_a_lost_segment(kcli, tmp_path):
    whole, other = replica(tmp_path / "a", *WHOLE), replica(tmp_path / "b", 0, 20, 30)
    manifest = tmp_path / "a.ndjson"
    kcli("replica", "fingerprint", whole, "--every", "10", "-o", "ndjson", "--out", manifest)
    status, rows, found = compared(kcli, manifest, other)
    assert (status, rows) == (1, [(0, "equal", None), *MIDDLE])
    assert found == {"REPL-005": str(other / "orders-0")}


SAME, LACKS = "What both hold is the same. ", "The {} lacks offsets {} to {}, which the other holds."
OF_SEVERAL = "None of 3 pairs of replicas differ. In 2 pairs one replica holds records which the other lacks."


@pytest.mark.parametrize(
    ("bases", "said"),
    [
        ((WHOLE, WHOLE), "They hold the same."),
        ((WHOLE[:3], WHOLE), SAME + LACKS.format("first", 30, 39)),
        ((WHOLE, WHOLE[1:]), SAME + LACKS.format("second", 0, 9)),
        ((WHOLE, (0, 20)), f"{LACKS.format('second', 10, 19)} {LACKS.format('second', 30, 39)}"),
        ((WHOLE, WHOLE, WHOLE[:3], WHOLE[1:]), OF_SEVERAL),
    ],
)
def test_the_verdict_says_what_lies_outside_of_one_log(kcli, tmp_path, bases, said):
    replicas = [replica(tmp_path / str(number), *some) for number, some in enumerate(bases)]
    drawn = kcli("replica", "diff", *replicas, "-o", "table").stdout
    assert " ".join(drawn.partition("\n\n")[0].split()) == said
