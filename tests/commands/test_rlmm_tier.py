"""`rlmm` about tiers: a recorded tiered cluster, and what it answered while it ran."""

import json

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.tiered import cluster

SPECS = ("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload")


def ask(*words):
    done = CliRunner().invoke(app, [*map(str, words), "-o", "json"])
    document = json.loads(done.stdout)
    return document, done.exit_code


def test_every_special_offset_is_what_the_live_cluster_answered():
    node1, _, answers = cluster()
    document, status = ask("rlmm", "offsets", node1)
    said = {
        (each["topic"], each["partition"], each["spec"]): (each["offset"], each["leader_epoch"])
        for each in answers["offsets"]
    }
    mine = {
        (row["topic"], row["partition"], spec): tuple(
            row[f"{spec.replace('-', '_')}_{field}"] for field in ("offset", "epoch")
        )
        for row in document["rows"]
        for spec in SPECS
    }

    assert (status, document["errors"], document["findings"]) == (0, [], [])
    assert len(said) == 66
    assert mine == said


def test_remote_metadata_may_be_elsewhere(tmp_path):
    node1 = cluster().node1
    alone, _ = ask("rlmm", "offsets", node1 / "t-plain-0")
    (row,) = alone["rows"]
    assert (row["remote_storage"], row["latest_tiered_offset"]) == (True, -1)

    found, status = ask("rlmm", "offsets", node1 / "t-plain-0", "--remote-metadata", node1)
    rows = {(row["topic"], row["partition"]): row["latest_tiered_offset"] for row in found["rows"]}
    assert status == 0
    assert rows["t-plain", 0] == 342


def test_replicas_of_a_metadata_partition_count_once(tmp_path):
    node1 = cluster().node1
    (tmp_path / "other").mkdir()
    for directory in node1.glob("__remote_log_metadata-*"):
        (tmp_path / "other" / directory.name).symlink_to(directory)
    once, _ = ask("rlmm", "offsets", node1)
    twice, status = ask("rlmm", "offsets", node1, "--remote-metadata", tmp_path / "other")

    assert status == 0
    assert twice["rows"] == once["rows"]


@pytest.mark.parametrize("words", [("--topic", "t-plain", "--partition", "1"), ("--topic-regex", "t-pl.*")])
def test_options_about_topics_are_about_those_of_the_user(words):
    document, status = ask("rlmm", "offsets", cluster().node1, *words)

    assert status == 0
    assert {row["topic"] for row in document["rows"]} == {"t-plain"}
    assert all(row["latest_tiered_offset"] in {326, 342} for row in document["rows"])
    assert len(document["rows"]) == (1 if "--partition" in words else 2)


def test_damage_of_the_metadata_is_reported_once(tmp_path):
    node1 = cluster().node1
    source = next(node1.glob("__remote_log_metadata-0/*.log")).read_bytes()
    (tmp_path / "__remote_log_metadata-9").mkdir()
    (tmp_path / "__remote_log_metadata-9" / f"{0:020}.log").write_bytes(source[:-3])
    document, status = ask("rlmm", "offsets", node1, "--remote-metadata", tmp_path)

    assert (status, len(document["rows"])) == (0, 11)
    assert [finding["file"] for finding in document["findings"]] == [f"{0:020}.log"]
