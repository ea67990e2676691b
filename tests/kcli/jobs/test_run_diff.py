"""What two runs say of a partition: one verdict, and a finding for what a log does not do by itself."""

import pytest

from kcli.jobs.run_diff import RunFinding, compare
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
        (ONE, of(log_start_offset=9), "changed", ["DIFF-006"]),
        (ONE, of(epochs=((1, 5), (3, 30), (4, 50)), latest_epoch=4, log_end_offset=60), "grown", []),
        (ONE, of(log_start_offset=20, epochs=((1, 20), (3, 30))), "trimmed", []),
        (ONE, of(log_start_offset=35, epochs=((3, 35),)), "trimmed", []),
        (ONE, of(epochs=((1, 5), (3, 31))), "rewritten", ["DIFF-003"]),
        (ONE, of(epochs=((1, 5), (2, 30), (4, 40)), log_end_offset=60), "rewritten", ["DIFF-003"]),
        (ONE, of(epochs=((1, 5),), log_end_offset=30), "rewritten", ["DIFF-003", "DIFF-003"]),
        (of(epochs=None), of(epochs=None, latest_epoch=2, log_end_offset=60), "rewritten", ["DIFF-003"]),
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

    assert (row.verdict, sorted(finding.code for finding in findings)) == (verdict, codes)
    assert row.verdict in VERDICTS


def test_messages_say_both_values():
    _, findings = compare(ONE, of(log_end_offset=40, log_start_offset=0, epochs=((1, 5), (3, 29))))

    assert [finding.message for finding in findings] == [
        "the log ended at 50 before, it ends at 40 now",
        "leader epoch 3 began at 30 before, it begins at 29 now",
        "the log began at 10 before, it begins at 0 now",
    ]
