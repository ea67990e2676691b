"""Real brokers of 3.9, 4.3 and 4.4 start over changed log dirs; the prediction comes first."""

import os
from pathlib import Path

import pytest

from tests.recordings.brokers import LONGEST
from tests.starts.observe import observed, prepare
from tests.starts.predicted import RECORDED, difference, predicted
from tests.starts.releases import WAITS_AFTER

pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.random]

FEW = [
    ("3.9.2", "3.9.2", "partition.metadata missing"),
    ("3.9.2", "4.4.0", "healthy"),
    ("4.3.1", "3.9.2", "healthy"),
    ("4.3.1", "4.3.1", "volume with a new id"),
    ("4.3.1", "4.3.1", "only a -future log, not assigned"),
    ("4.3.1", "4.3.1", "-future log behind, assigned"),
    ("4.3.1", "4.3.1", "recovery-point of NUL bytes in d1"),
    ("4.3.1-dynamic", "4.3.1", "metadata log gone"),
    ("4.3.1", "4.3.1", "zeros after a crash"),
    ("4.3.1-snapshot", "4.3.1", "newest snapshot flipped"),
    ("4.4.0", "4.3.1", "healthy"),
    ("4.4.0", "4.4.0", "topic deleted"),
    ("4.4.0", "4.4.0", "unknown record type"),
    ("4.4.0", "4.4.0", "reassigned away"),
]
"""For `make test`; `make soak` starts all that is recorded, and with it every release over every base."""


@pytest.mark.parametrize(
    ("base", "release", "change"), sorted(RECORDED) if os.environ.get("KCLI_STARTS") == "all" else FEW
)
def test_a_broker_starts_as_foretold(tmp_path: Path, base: str, release: str, change: str):
    properties = prepare(base, change, tmp_path)
    said = predicted(release, properties)
    patience = WAITS_AFTER if said["outcome"] == "waits" else LONGEST
    happened = observed(release, properties, patience, lambda found: not difference(release, said, found))
    assert difference(release, said, happened) is None
