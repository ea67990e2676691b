"""`kcli epoch` on the command line: words, documents, exit statuses."""

import json

import jsonschema
import pytest
from typer.testing import CliRunner

from commands.app import app
from kcli.output.schema import document_schema
from tests.partitions import orders, put_range

LOG = (put_range(0, 10), put_range(10, 10, epoch=2))


def kcli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def directory(tmp_path):
    return orders(tmp_path / "d", *LOG, epochs=((0, 0), (2, 10)))


def document(command, *words):
    done = kcli(*command.split(), *words, "-o", "json")
    shown = json.loads(done.stdout)
    jsonschema.validate(shown, document_schema(command))
    return shown, done.exit_code


def test_end_offset_prints_a_row_for_each_epoch(directory):
    shown, status = document("epoch end-offset", "--epoch", "0,1,2,3", directory)
    assert [(row["requested_epoch"], row["leader_epoch"], row["end_offset"]) for row in shown["rows"]] == [
        (0, 0, 10),
        (1, 0, 10),
        (2, 2, 20),
        (3, -1, -1),
    ]
    assert (shown["findings"], shown["errors"], status) == ([], [], 0)


def test_all_epochs_with_a_given_log_end_offset(directory):
    shown, _ = document("epoch end-offset", "--epoch", "all", "--log-end-offset", "15", directory)
    assert [row["requested_epoch"] for row in shown["rows"]] == [-1, 0, 1, 2, 3]
    assert {row["log_end_offset_source"] for row in shown["rows"]} == {"given"}


def test_show_and_at_print_the_epochs_of_a_partition(directory):
    shown, _ = document("epoch show", "--from", "batches", directory)
    assert [(row["epoch"], row["end_offset"], row["source"]) for row in shown["rows"]] == [
        (0, 10, "batches"),
        (2, 20, "batches"),
    ]
    shown, _ = document("epoch at", "earliest", directory)
    assert [(row["offset"], row["epoch"]) for row in shown["rows"]] == [(0, 0)]


def test_a_running_broker_keeps_an_epoch_without_records(tmp_path):
    directory = orders(tmp_path / "r", *LOG, epochs=((0, 0), (2, 10), (3, 20)))
    for words, answer in ((("--broker", "running"), 3), ((), -1)):
        shown, _ = document("epoch end-offset", "--epoch", "3", *words, directory)
        assert shown["rows"][0]["leader_epoch"] == answer


@pytest.mark.parametrize(
    "words",
    [
        ("end-offset", "PATH"),
        ("end-offset", "--epoch", "x", "PATH"),
        ("end-offset", "--epoch", "2147483648", "PATH"),
        ("show", "--from", "rumours", "PATH"),
        ("show", "--broker", "dead", "PATH"),
        ("at", "soon", "PATH"),
        ("show",),
    ],
)
def test_wrong_options_are_usage_errors(directory, words):
    assert kcli("epoch", *(directory if word == "PATH" else word for word in words)).exit_code == 2


def test_one_bad_partition_does_not_stop_the_others(directory):
    other = directory.parent / "orders-1"
    other.mkdir()
    (other / "leader-epoch-checkpoint").write_text("nonsense")
    shown, status = document("epoch show", directory.parent)
    assert {row["partition"] for row in shown["rows"]} == {0}
    assert [error["path"] for error in shown["errors"]] == [f"{other}/leader-epoch-checkpoint"]
    assert status == 4


def test_files_that_are_no_partition_are_refused(directory):
    shown, status = document("epoch show", directory / "00000000000000000000.log")
    assert (shown["rows"], [error["error"] for error in shown["errors"]], status) == ([], ["wrong-kind"], 3)
    shown, status = document("epoch show", directory / "leader-epoch-checkpoint")
    assert (len(shown["rows"]), status) == (2, 0)


@pytest.mark.parametrize("command", ["show", "end-offset", "at"])
def test_help_has_an_example(command):
    done = kcli("epoch", command, "--help")
    assert done.exit_code == 0
    assert f"kcli epoch {command}" in done.stdout
