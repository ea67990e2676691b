"""The rule of exit status 1: bad news, whichever command says it; --fail-on never is for who only looks."""

import pytest

from tests.partitions import orders, put_range
from tests.starts.observe import prepare


@pytest.fixture
def partition(tmp_path):
    """A log of three records that this replica alone holds."""
    batches = [put_range(offset, 1) for offset in range(3)]
    return orders(tmp_path / "d", *batches, epochs=((0, 0),))


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--to-offset", "1"), 1),
        (("--to-offset", "1", "--fail-on", "never"), 0),
        (("--to-offset", "1", "-q"), 1),
        (("--to-offset", "3"), 0),
        (("--leader-epochs", "0:0@2"), 1),
        (("--leader-epochs", "0:0@3"), 0),
    ],
)
def test_a_truncation_that_loses_records_is(kcli, partition, words, status):
    assert kcli("truncate", *words, partition).exit_code == status


def test_a_partition_without_a_leader_is_if_it_had_one(kcli, tmp_path):
    """A broker that was stopped led nothing any more."""
    prepare("4.3.1", "healthy", tmp_path)
    assert kcli("failover", "--broker", "1", tmp_path / "d0").exit_code == 0


def test_a_broker_that_starts_without_a_log_dir_is(kcli, tmp_path):
    prepare("4.3.1", "healthy", tmp_path)
    dirs = tmp_path / "d0", tmp_path / "d1"
    assert kcli("startup", *dirs).exit_code == 0
    (dirs[1] / "recovery-point-offset-checkpoint").write_bytes(bytes(9))
    assert [kcli("startup", *dirs, "--fail-on", level).exit_code for level in ("error", "never")] == [1, 0]
