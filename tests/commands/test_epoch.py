"""`kcli epoch` on the command line: words, documents, exit statuses."""

import pytest

from tests.commands.answers import ask
from tests.partitions import orders, put_range

LOG = (put_range(0, 10), put_range(10, 10, epoch=2))


@pytest.fixture
def directory(tmp_path):
    return orders(tmp_path / "d", *LOG, epochs=((0, 0), (2, 10)))


def test_all_epochs_with_a_given_log_end_offset(directory):
    shown, _ = ask("epoch", "end-offset", "--epoch", "all", "--log-end-offset", "15", directory)
    assert [row["requested_epoch"] for row in shown["rows"]] == [-1, 0, 1, 2, 3]
    assert {row["log_end_offset_source"] for row in shown["rows"]} == {"given"}


def test_a_running_broker_keeps_an_epoch_without_records(tmp_path):
    directory = orders(tmp_path / "r", *LOG, epochs=((0, 0), (2, 10), (3, 20)))
    for words, answer in ((("--broker", "running"), 3), ((), -1)):
        shown, _ = ask("epoch", "end-offset", "--epoch", "3", *words, directory)
        assert shown["rows"][0]["leader_epoch"] == answer


def test_files_that_are_no_partition_are_refused(directory):
    shown, status = ask("epoch", "show", directory / "00000000000000000000.log")
    assert (shown["rows"], [error["error"] for error in shown["errors"]], status) == ([], ["wrong-kind"], 3)
    shown, status = ask("epoch", "show", directory / "leader-epoch-checkpoint")
    assert (len(shown["rows"]), status) == (2, 0)
