"""`kcli epoch check`, and the checkpoint that the batches give."""

import json
from functools import partial

import pytest

from tests.commands.answers import document
from tests.partitions import orders, put_range

LOG = (put_range(0, 20), put_range(20, 10, 2), put_range(30, 10, 5))


ask = partial(document, "epoch")


@pytest.mark.parametrize(
    ("lines", "codes", "status"),
    [
        ([(0, 0), (2, 20), (5, 30)], set(), 0),
        ([(0, 0), (5, 30)], {"EPOCH-007"}, 1),
        ([(0, 0), (2, 20), (3, 25), (5, 30)], set(), 0),
        ([(0, 0), (2, 25), (5, 30)], {"EPOCH-007"}, 1),
        ([(0, 0), (5, 30), (2, 20)], {"EPOCH-002", "EPOCH-007"}, 1),
        ([(0, 10), (2, 20), (5, 30)], set(), 0),
        ([(2, 20), (5, 30)], {"EPOCH-009"}, 0),
        ([(0, 25), (2, 28), (5, 30)], {"EPOCH-007"}, 1),
        ([], {"EPOCH-001", "EPOCH-009"}, 0),
    ],
)
def test_check_finds_what_check_finds_about_epochs(kcli, tmp_path, lines, codes, status):
    directory = orders(tmp_path / "d", *LOG, epochs=lines)
    (directory / "unknown").touch()
    document = ask("check", directory, status=status)
    whole = json.loads(kcli("check", directory, "-o", "json").stdout)

    assert {finding["code"] for finding in document["findings"]} == codes
    assert document["findings"] == [
        finding for finding in whole["findings"] if finding["code"].startswith("EPOCH-")
    ]
    (row,) = document["rows"]
    assert (row["findings"], row["result"]) == (len(codes), "damaged" if status else row["result"])


def test_a_checkpoint_that_stops_the_load_is_shown(tmp_path):
    directory = orders(tmp_path / "d", *LOG)
    (directory / "leader-epoch-checkpoint").write_text("version: 0\n")
    document = ask("check", directory, status=1)
    assert document["findings"][0]["code"] == "START-008"
    assert document["rows"][0]["result"] == "will-not-load"


def test_the_file_itself(kcli, tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=None)
    done = kcli("epoch", "show", "--from", "batches", directory, "-o", "text")
    assert (done.exit_code, done.stdout) == (0, "0\n3\n0 0\n2 20\n5 30\n")

    (directory / "leader-epoch-checkpoint").write_text(done.stdout)
    assert ask("check", directory)["findings"] == []


@pytest.mark.parametrize("words", [("--limit", "1"), ("--sort", "epoch"), ("--where", "epoch > 0"), ()])
def test_the_file_of_a_partition_is_whole_and_alone(kcli, tmp_path, words):
    directory = orders(tmp_path / "d", *LOG)
    orders(tmp_path / "e", *LOG)
    paths = [directory] if words else [directory, tmp_path / "e"]
    done = kcli("epoch", "show", "--from", "batches", *paths, "-o", "text", *words)

    assert (done.exit_code, done.stdout) == (2, "")


def test_a_given_log_end_reaches_the_job(tmp_path):
    rows = ask("end-offset", "--epoch", "all", "--log-end-offset", "35", orders(tmp_path / "d", *LOG))["rows"]
    assert {(row["log_end_offset"], row["log_end_offset_source"]) for row in rows} == {(35, "given")}


def test_the_file_on_disk_is_not_printed_again(kcli, tmp_path):
    done = kcli("epoch", "show", orders(tmp_path / "d", *LOG), "-o", "text")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "use --from batches" in done.stderr
