"""The view of `check`: a file that cannot be read is marked where it belongs."""

import pytest

from kcli.kafka.findings.findings import Finding
from kcli.rows.checks import CheckRow
from kcli.rows.partitions import Where
from tests.kcli.output.writing import draw_lines


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        (f"{0:020d}.log", "batches"),
        (f"{0:020d}.timeindex", "indexes"),
        (f"{0:020d}.snapshot", "producers"),
        ("leader-epoch-checkpoint", "leader epochs"),
        ("recovery-point-offset-checkpoint", "checkpoints"),
    ],
)
def test_a_file_that_cannot_be_read_is_marked_where_it_belongs(name, phase):
    row = CheckRow(Where("d/t-0", 1, None, "t", 0), "damaged", 1, 1, 0, 1, 1, 100, 5)
    unreadable = Finding("LOG-008", "permission denied", "d/t-0", f"d/t-0/{name}")
    lines = draw_lines([row], unreadable, width=100)
    (line,) = [line for line in lines if line.startswith("✗") and line.endswith("LOG-008")]
    assert line.startswith(f"✗  {phase} ")
