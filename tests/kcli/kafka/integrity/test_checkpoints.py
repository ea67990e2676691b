"""Offsets of checkpoint files that cannot all be right."""

import pytest

from kcli.kafka.integrity.checkpoints import Offsets, violations

RIGHT = Offsets(
    log_start=5, recovery_point=10, high_watermark=10, cleaner_point=10, epoch_start=10, log_end=10
)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"log_start": 11}, [("log-start-above-high-watermark", 11, 10)]),
        ({"high_watermark": 11}, [("high-watermark-above-log-end", 11, 10)]),
        ({"recovery_point": 11}, [("recovery-point-above-log-end", 11, 10)]),
        ({"cleaner_point": 11}, [("cleaner-point-above-log-end", 11, 10)]),
        ({"epoch_start": 11}, [("epoch-start-above-log-end", 11, 10)]),
        ({"log_start": 11, "high_watermark": None}, []),
        ({"log_end": None, "recovery_point": 99}, []),
    ],
)
def test_what_does_not_hold_is_named_and_what_is_unknown_violates_nothing(changed, expected):
    assert [found[:3] for found in violations(RIGHT._replace(**changed))] == expected
