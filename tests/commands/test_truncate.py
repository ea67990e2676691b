"""`kcli truncate`: words, refusals, exit statuses."""

import json

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.partitions import orders, put_range, snapshot


def kcli(*words):
    return CliRunner().invoke(app, ["truncate", *map(str, words)])


@pytest.fixture
def partition(tmp_path):
    return orders(tmp_path / "d", put_range(0, 10), put_range(10, 10), watermark=20)


def test_dry_run_may_be_left_out(partition):
    before = snapshot(partition)
    done, dry = (kcli("--to-offset", "5", *words, partition, "-o", "json") for words in ([], ["--dry-run"]))
    assert (done.exit_code, done.stdout) == (dry.exit_code, dry.stdout)
    assert snapshot(partition) == before


def test_given_values_reach_the_job(partition):
    offsets = ["--high-watermark", 3, "--log-start-offset", 2, "--recovery-point", 1]
    words = ["--shutdown", "unclean", "--index-interval-bytes", 0, "-o", "json", partition]
    done = kcli("--dry-run", "--to-high-watermark", *offsets, *words)
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["target_offset"], row["log_start_offset_before"], row["recovery_point_before"]) == (3, 2, 2)
    assert row["segments"][0]["offset_index_entries_before"] == 1
