"""Starts of real brokers of several releases over changed log dirs, as `observe` recorded them, foretold."""

from pathlib import Path

import pytest

from kcli.kafka.kraft.meta_properties import BOOTSTRAP_READ, BrokerConfig
from kcli.kafka.kraft.releases import RELEASES
from kcli.kafka.kraft.start_plan import start_plans
from tests.starts.observe import prepare
from tests.starts.predicted import RECORDED, difference, predicted
from tests.starts.states import CHANGES


@pytest.mark.parametrize(("base", "release", "change"), sorted(RECORDED))
def test_a_recorded_start_is_foretold(tmp_path: Path, base: str, release: str, change: str):
    said = predicted(release, prepare(base, change, tmp_path))
    assert difference(release, said, RECORDED[base, release, change]) is None


FIRST_STARTING = {"3.5.2": (3, 5), "3.9.2": (3, 9), "4.3.1": (4, 3), "4.4.0": (4, 4)}
"""Release that made the log dirs -> the first that starts over them: no older one did, and each newer one."""


@pytest.mark.parametrize("base", FIRST_STARTING)
def test_no_older_release_starts_and_every_newer_one_does(tmp_path: Path, base: str):
    prepare(base, "healthy", tmp_path)
    for release in RELEASES:
        if release >= BOOTSTRAP_READ:
            (plan,) = start_plans([f"{tmp_path}/d0", f"{tmp_path}/d1"], BrokerConfig(release))
            assert bool(plan.stops) == (release < FIRST_STARTING[base]), (release, plan.stops)


def test_every_change_was_tried():
    assert {change for _, _, change in RECORDED} == set(CHANGES)
