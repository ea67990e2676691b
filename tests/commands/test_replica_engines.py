"""Commands about several replicas give the same bytes with --jobs and over Spark, for many partitions."""

import os

import pytest

from tests.recordings import pack

LEADER, FOLLOWER, AFTER = "before-leader", "before-follower", "after-follower-stopped"
COMMANDS = (
    f"epoch diff {LEADER} {FOLLOWER} {AFTER}",
    f"epoch check {LEADER} {FOLLOWER}",
    f"epoch show --from batches {LEADER} {FOLLOWER}",
    f"epoch validate --position 30:0,60:1 --current-leader-epoch 1 {LEADER} {FOLLOWER}",
    f"epoch end-offset --epoch all --current-leader-epoch 9 {LEADER}",
    f"replica diff {LEADER} {FOLLOWER} {AFTER}",
    f"replica elect --isr 2 {LEADER} {FOLLOWER}",
    f"replica fingerprint --every 20 {LEADER}",
    f"truncate --dry-run --leader {LEADER} {FOLLOWER}",
    f"truncate --dry-run --leader {LEADER} {FOLLOWER} --protocol epoch",
    f"checkpoint show {LEADER} {FOLLOWER}",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of replicas; paths below are relative to it, as operators type them."""
    return pack.unpack("truncation", tmp_path_factory.mktemp("engines"))


def answer(kcli, folder, command, *engine):
    before = os.getcwd()
    os.chdir(folder)
    try:
        done = kcli(*command.split(), "-o", "ndjson", *engine)
    finally:
        os.chdir(before)
    assert done.exit_code in {0, 1}, done.output
    assert len(done.stdout.splitlines()) >= 11, "a line for each partition at least"
    return done.stdout, done.exit_code


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_with_jobs(kcli, folder, command):
    assert answer(kcli, folder, command, "--jobs", "2") == answer(kcli, folder, command)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("command", COMMANDS)
def test_over_spark(kcli, folder, command):
    assert answer(kcli, folder, command, "--spark") == answer(kcli, folder, command)
