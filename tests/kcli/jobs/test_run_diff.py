"""What two runs say of a partition: one verdict, and a finding for what a log does not do by itself."""

import pytest

from kcli.jobs.run_diff import CONTENTS, RunFinding, compare
from kcli.rows.checks import VERDICTS
from kcli.rows.partitions import Where

ONE = {
    "where": Where("d", 1, None, "t", 0),
    "log_start_offset": 10,
    "log_end_offset": 50,
    "latest_epoch": 3,
    "log_bytes": 900,
    "segments": 2,
    "epochs": ((1, 5), (3, 30)),
}
ERROR = RunFinding(-2, "LOG-003", "0.log", 61)
WARNING = RunFinding(-1, "LOG-001", "0.log", 61)
NOTE = RunFinding(0, "START-003", "", 0)


def segment(size, batches="x", **columns):
    return {**dict.fromkeys(CONTENTS), "log_bytes": size, "batches": batches, **columns}


def of(**changes):
    return {**ONE, **changes}


@pytest.mark.parametrize(
    ("before", "after", "verdict", "codes"),
    [
        (ONE, ONE, "unchanged", []),
        (ONE, of(findings=frozenset({NOTE})), "unchanged", []),
        (ONE, of(log_end_offset=51, log_bytes=950), "grown", []),
        (ONE, of(log_start_offset=20, log_bytes=500, segments=1), "trimmed", []),
        (ONE, of(log_start_offset=20, log_end_offset=60), "grown", []),
        (ONE, of(log_bytes=800), "changed", []),
        (ONE, of(log_end_offset=49), "shrunk", ["DIFF-003"]),
        (ONE, of(log_end_offset=None), "changed", []),
        (ONE, of(log_start_offset=9), "changed", ["DIFF-005"]),
        (ONE, of(epochs=((1, 5), (3, 30), (4, 50)), latest_epoch=4, log_end_offset=60), "grown", []),
        (ONE, of(log_start_offset=20, epochs=((1, 20), (3, 30))), "trimmed", []),
        (ONE, of(log_start_offset=35, epochs=((3, 35),)), "trimmed", []),
        (ONE, of(epochs=((1, 5), (3, 31))), "rewritten", ["DIFF-004"]),
        (ONE, of(epochs=((1, 5), (2, 30), (4, 40)), log_end_offset=60), "rewritten", ["DIFF-004"]),
        (ONE, of(epochs=((1, 5),), log_end_offset=30), "rewritten", ["DIFF-003", "DIFF-004"]),
        (of(epochs=None), of(epochs=None, latest_epoch=2, log_end_offset=60), "rewritten", ["DIFF-004"]),
        (ONE, of(findings=frozenset({ERROR})), "damaged", ["DIFF-001"]),
        (
            ONE,
            of(findings=frozenset({ERROR, WARNING}), log_end_offset=1),
            "damaged",
            ["DIFF-001", "DIFF-002", "DIFF-003"],
        ),
        (ONE, of(findings=frozenset({WARNING})), "changed", ["DIFF-002"]),
        (of(findings=frozenset({ERROR})), of(findings=frozenset({ERROR})), "unchanged", []),
        (
            of(findings=frozenset({ERROR})),
            of(findings=frozenset({ERROR._replace(position=90)})),
            "damaged",
            ["DIFF-001"],
        ),
        (of(findings=frozenset({ERROR})), ONE, "repaired", []),
        (of(result="clean"), of(result="unreadable"), "damaged", ["DIFF-001"]),
        (of(result="loads"), of(result="fails"), "damaged", ["DIFF-001"]),
        (of(result="damaged"), of(result="clean"), "repaired", []),
        (ONE, None, "gone", ["DIFF-006"]),
        (None, ONE, "new", []),
        (None, of(findings=frozenset({ERROR})), "damaged", ["DIFF-001"]),
    ],
)
def test_verdict_and_findings(before, after, verdict, codes):
    row, findings = compare(before, after)

    assert (row.verdict, sorted(one.code for one in findings)) == (verdict, codes)
    assert row.verdict in VERDICTS


def test_segments_are_new_gone_or_changed_but_may_grow():
    def logs(**sizes):
        return {name: segment(size, what) for name, (size, what) in sizes.items()}

    before = of(logs=logs(a=(10, "x"), b=(10, "x"), c=(10, "x"), d=(10, "x"), e=(10, "x")))
    after = of(logs=logs(b=(10, "x"), c=(11, "y"), d=(9, "x"), e=(10, "y"), f=(1, "z")))

    row, _ = compare(before, after)

    assert (row.segments_new, row.segments_gone, row.segments_changed) == (("f",), ("a",), ("d", "e"))


def logs_of(*bases, **changed):
    return {f"{base:020d}.log": changed.get(f"at{base}", segment(10, "x")) for base in bases}


@pytest.mark.parametrize(
    ("after", "codes"),
    [
        (logs_of(5, 20, 30), ["DIFF-007"]),
        (logs_of(10, 20, 30), []),
        (logs_of(5, 20, 30, at5=segment(15, "y")), []),
        (logs_of(5, 20, 30, at5=segment(9, "y")), []),
        (logs_of(5, 10, 20), []),
        (logs_of(30), []),
    ],
    ids=["lost", "retention", "merged", "compacted", "cut", "retention-of-all-but-one"],
)
def test_a_segment_goes_from_the_middle(after, codes):
    _, findings = compare(of(logs=logs_of(5, 10, 20, 30)), of(logs=after))
    assert [one.code for one in findings] == codes


def test_a_snapshot_of_the_metadata_log_is_no_segment():
    name = f"{10:020d}-0000000001.checkpoint"
    _, findings = compare(of(logs={**logs_of(5, 20), name: segment(1)}), of(logs=logs_of(5, 20)))
    assert findings == []


def test_a_segment_tells_that_older_epochs_were_rewritten():
    """The newest leader epoch may be the same."""

    def with_ends(first, last):
        names = ("base_offset", "first_epoch", "last_offset", "last_epoch")
        return of(
            epochs=None, logs={f"{5:020d}.log": segment(10, **dict(zip(names, first + last, strict=True)))}
        )

    before = with_ends((5, 1), (29, 2))
    for after, codes in (
        (with_ends((5, 1), (29, 3)), ["DIFF-004"]),
        (with_ends((5, 2), (29, 2)), ["DIFF-004"]),
        (with_ends((7, 2), (29, 2)), []),
        (with_ends((5, 1), (35, 3)), []),
        (with_ends((None, None), (None, None)), []),
    ):
        assert [one.code for one in compare(before, after)[1]] == codes


def test_messages_say_both_values():
    _, findings = compare(ONE, of(log_end_offset=40, log_start_offset=0, epochs=((1, 5), (3, 29))))

    assert [one.message for one in findings] == [
        "the log ended at 50 before, it ends at 40 now",
        "leader epoch 3 began at 30 before, it begins at 29 now",
        "the log began at 10 before, it begins at 0 now",
    ]
