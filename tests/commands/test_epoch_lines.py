"""`kcli epoch check`, and the checkpoint that the batches give."""

import json

import pytest

from tests.partitions import orders, put_range

LOG = (put_range(0, 20), put_range(20, 10, 2), put_range(30, 10, 5))


def ask(kcli, *words, status=0):
    done = kcli("epoch", *words, "-o", "json")
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("lines", "verdicts", "status"),
    [
        ([(0, 0), (2, 20), (5, 30)], {0: "equal", 2: "equal", 5: "equal"}, 0),
        ([(0, 0), (5, 30)], {0: "equal", 2: "missing", 5: "equal"}, 1),
        ([(0, 0), (2, 20), (3, 25), (5, 30)], {0: "equal", 2: "equal", 3: "extra", 5: "equal"}, 0),
        ([(0, 0), (2, 25), (5, 30)], {0: "equal", 2: "shifted", 5: "equal"}, 1),
        ([(0, 0), (2, 10), (5, 30)], {0: "equal", 2: "shifted", 5: "equal"}, 0),
        ([(0, 0), (2, 20), (5, 30), (7, 40)], {0: "equal", 2: "equal", 5: "equal", 7: "past-end"}, 0),
        ([], {0: "missing", 2: "missing", 5: "missing"}, 1),
    ],
)
def test_check(kcli, tmp_path, lines, verdicts, status):
    rows = ask(kcli, "check", orders(tmp_path / "d", *LOG, epochs=lines), status=status)["rows"]

    assert {row["epoch"]: row["verdict"] for row in rows} == verdicts
    starts = dict(lines)
    assert [row["start_offset"] for row in rows] == [starts.get(epoch) for epoch in verdicts]
    batches = {0: 0, 2: 20, 5: 30}
    assert [row["batches_start_offset"] for row in rows] == [batches.get(epoch) for epoch in verdicts]


def test_the_log_start_moves_the_first_entry(kcli, tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=[(0, 0), (2, 20), (5, 30)], log_start=24)
    rows = ask(kcli, "check", directory)["rows"]

    assert [(row["epoch"], row["batches_start_offset"], row["verdict"]) for row in rows] == [
        (0, None, "below-start"),
        (2, 24, "equal"),
        (5, 30, "equal"),
    ]


def test_the_file_itself(kcli, tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=None)
    done = kcli("epoch", "show", "--from", "batches", directory, "-o", "text")
    assert (done.exit_code, done.stdout) == (0, "0\n3\n0 0\n2 20\n5 30\n")

    (directory / "leader-epoch-checkpoint").write_text(done.stdout)
    rows = ask(kcli, "check", directory)["rows"]
    assert [row["verdict"] for row in rows] == ["equal"] * 3


@pytest.mark.parametrize("words", [("--limit", "1"), ("--sort", "epoch"), ("--where", "epoch > 0"), ()])
def test_the_file_of_a_partition_is_whole_and_alone(kcli, tmp_path, words):
    directory = orders(tmp_path / "d", *LOG)
    orders(tmp_path / "e", *LOG)
    paths = [directory] if words else [directory, tmp_path / "e"]
    done = kcli("epoch", "show", "--from", "batches", *paths, "-o", "text", *words)

    assert (done.exit_code, done.stdout) == (2, "")


def test_the_file_on_disk_is_not_printed_again(kcli, tmp_path):
    done = kcli("epoch", "show", orders(tmp_path / "d", *LOG), "-o", "text")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "use --from batches" in done.stderr
