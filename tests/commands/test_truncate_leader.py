"""`kcli truncate --leader` and `--leader-epochs`: pairs of replicas, described leaders, refusals."""

import json
import shutil
from functools import partial

import pytest

from tests.commands.answers import prediction
from tests.partitions import orders, put_range
from tests.recordings import pack


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pack.unpack("truncation", tmp_path_factory.mktemp("follow"))


ask = partial(
    prediction, lambda row: row["lost_offsets"] or row["outcome"] == "stuck", "truncate", "--dry-run"
)


def test_recorded_followers_truncate_to_where_their_broker_did(folder):
    said = pack.manifest("truncation")["facts"]["truncations"]
    rows = ask("--leader", folder / "before-leader", folder / "before-follower")["rows"]

    found = {row["topic"]: row for row in rows}
    assert {row["topic"]: row["offset"] for row in said} == {
        topic: found[topic]["target_offset"] for topic in (row["topic"] for row in said)
    }
    assert {row["outcome"] for row in rows} == {"converged"}
    assert {row["protocol"] for row in rows} == {"fetch"}
    for row in rows:
        assert row["leader_dir"] == str(folder / "before-leader" / f"{row['topic']}-0")
        if row["rounds"]:
            assert row["rounds"][-1]["truncate_to"] == row["target_offset"] == row["log_end_offset_after"]


def test_the_cut_is_that_of_an_offset(folder):
    follower = folder / "before-follower" / "segments-0"
    followed = ask("--leader", folder / "before-leader", follower)
    (row,) = followed["rows"]
    given = ask("--to-offset", str(row["target_offset"]), follower)

    for key in ("leader_dir", "protocol", "rounds", "outcome"):
        row.pop(key)
        given["rows"][0].pop(key)
    assert followed["rows"] == given["rows"]


@pytest.fixture
def follower(tmp_path):
    """A replica of epochs 0 and 3, of 60 records, its high watermark 15."""
    return orders(
        tmp_path / "d",
        put_range(0, 40, epoch=0),
        put_range(40, 20, epoch=3),
        epochs=((0, 0), (3, 40)),
        watermark=15,
    )


@pytest.mark.parametrize(
    ("words", "target", "kind", "outcome", "code"),
    [
        (["0:0,2:30@70"], 60, "none", "stuck", "TRUNC-005"),
        (["0:0,2:30@70", "--leader-epoch", "4"], 30, "partial", "converged", None),
        (["0:0,2:30@35"], 30, "partial", "out-of-range", "TRUNC-004"),
        (["4:80@90", "--leader-log-start", "80"], 80, "full", "out-of-range", "TRUNC-004"),
        (["0:0,2:30@70", "--protocol", "epoch"], 15, "partial", "converged", None),
        (["0:0,2:10@70", "--protocol", "high-watermark"], 15, "partial", "converged", "TRUNC-008"),
        (["@9", "--protocol", "high-watermark"], 9, "partial", "out-of-range", "TRUNC-004"),
    ],
)
def test_outcomes(follower, words, target, kind, outcome, code):
    document = ask("--fail-on", "never", "--leader-epochs", *words, follower)

    (row,) = document["rows"]
    assert (row["target_offset"], row["kind"], row["outcome"]) == (target, kind, outcome)
    found = [each["code"] for each in document["findings"] if each["code"] > "TRUNC-003"]
    assert [each for each in found if each.startswith("TRUNC")] == [code] * (code is not None)


@pytest.mark.parametrize(
    ("words", "error"),
    [(["--protocol", "high-watermark"], "unknown-high-watermark"), (["--leader-epoch", "2"], "older-epoch")],
)
def test_what_cannot_be_predicted_is_an_error(follower, words, error):
    (follower.parent / "replication-offset-checkpoint").unlink()
    described = ["--leader-epochs", "0:0,3:40@70", follower]

    assert ask(*described)["rows"][0]["outcome"] == "converged"
    document = ask(*words, *described, status=3)
    assert [error["error"] for error in document["errors"]] == [error]


def test_a_follower_without_leader_is_an_error_and_the_others_are_answered(folder, tmp_path):
    shutil.copytree(folder / "before-leader" / "plain-0", tmp_path / "plain-0")
    words = [folder / "before-follower" / f"{topic}-0" for topic in ("plain", "zstd")]
    document = ask("--leader", tmp_path / "plain-0", *words, status=4)

    assert [row["topic"] for row in document["rows"]] == ["plain"]
    (error,) = document["errors"]
    assert (error["error"], error["path"]) == ("no-leader", str(words[1]))


@pytest.mark.parametrize(
    "words",
    [
        ["--leader", "{there}", "--leader-epochs", "0:0@5"],
        ["--leader", "{there}", "--to-offset", "5"],
        ["--leader", "{there}/nothing"],
        ["--leader", "{there}", "--leader-log-start", "5"],
        ["--leader-epochs", "0:0"],
        ["--leader-epochs", "0:0,@5"],
        ["--leader-epochs", "1:0,0:3@5"],
        ["--leader-epochs", "0:6@5"],
        ["--leader-epochs", "0:-1@5"],
        ["--leader-epochs", "0:0@5", "--leader-log-start", "6"],
        ["--leader-epochs", "0:0@5", "--protocol", "raft"],
        ["--to-offset", "5", "--leader-epoch", "3"],
        ["--to-offset", "5", "--broker", "running", "--shutdown", "clean"],
    ],
)
def test_wrong_options_are_usage_errors(kcli, folder, words):
    there = folder / "before-follower" / "plain-0"
    done = kcli("truncate", "--dry-run", *(word.format(there=there) for word in words), there)

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_a_follower_of_the_metadata_log_that_needs_a_snapshot_is_refused(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 20, epoch=1), epochs=[(1, 0)])
    log = directory.rename(directory.parent / "__cluster_metadata-0")
    words = ("--leader-epochs", "1:300,3:350@500", "--leader-log-start", "400", log)
    (error,) = ask(*words, status=3)["errors"]
    assert error["error"] == "unsupported" and "snapshot" in error["message"]


def test_a_leader_on_disk_leads_in_an_epoch_that_neither_replica_has(follower, tmp_path):
    """The election gave it a new one: it has no record of the follower's epoch 3."""
    leader = orders(tmp_path / "leader", put_range(0, 50, epoch=0), epochs=((0, 0),))
    (row,) = ask("--leader", leader, follower)["rows"]

    assert (row["outcome"], row["target_offset"]) == ("converged", 40)


def test_a_log_that_begins_anew_past_its_end_is_not_below_its_first_segment(follower):
    words = ("--leader-epochs", "4:80@90", "--leader-log-start", "80", follower, "--fail-on", "never")
    (row,) = ask(*words)["rows"]

    assert row["kind"] == "full"
    assert not any("below the first one" in warning for warning in row["warnings"])


@pytest.fixture
def running(tmp_path):
    """A leader's replica, and that of a follower which led in epoch 3, and wrote nothing in it."""
    both = {"leader": [(0, 0)], "follower": [(0, 0), (3, 10)]}
    return [orders(tmp_path / name, put_range(0, 10), epochs=epochs) for name, epochs in both.items()]


def test_a_running_follower_keeps_an_epoch_that_its_leader_lacks(running):
    words = ("--leader", *running, "--fail-on", "never")
    document = ask(*words, "--broker", "running")
    (row,) = document["rows"]
    assert [finding["code"] for finding in document["findings"]] == ["TRUNC-005"]
    assert (row["outcome"], row["rounds"][0]["last_fetched_epoch"]) == ("stuck", 3)
    assert row["epochs_after"] == row["epochs_before"]

    (row,) = ask(*words, "--broker", "running", "--leader-epoch", "4")["rows"]
    assert row["outcome"] == "stuck"  # the leader's cache would have it
    document = ask(*words)
    assert [finding["code"] for finding in document["findings"]] == ["EPOCH-003"]
    assert document["rows"][0]["outcome"] == "converged"
    assert any("--broker running" in warning for warning in document["rows"][0]["warnings"])


def test_running_replicas_are_compared_and_elected_with_all_their_epochs(kcli, running):
    done = kcli("epoch", "diff", *running, "--broker", "running", "-o", "table")
    assert (done.exit_code, "alone holds an epoch without records" in done.stdout) == (0, True)
    done = kcli("replica", "elect", *running, "--broker", "running", "-o", "json")
    assert [row["rounds"] for row in json.loads(done.stdout)["rows"]] == [1, 0]
