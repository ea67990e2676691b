"""`kcli rlmm dump` and `kcli rlmm partition`: words, formats, exit statuses."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.rlmm import app

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data" / "rlmm"
EVENTS = json.loads(gzip.decompress((DATA / "tiered" / "events.json.gz").read_bytes()))
LOG = "00000000000000000000.log"


@pytest.fixture
def log_dir(tmp_path):
    for packed in sorted((DATA / "tiered").glob("*/*.log.gz")):
        directory = tmp_path / "d0" / packed.parent.name
        directory.mkdir(parents=True)
        (directory / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    (tmp_path / "d0" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    return tmp_path / "d0"


def kcli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_range_of_user_partitions():
    rows = json.loads(kcli("partition", "u4NdSfWRQjaZ_ENyxMXLJA:0..2", "-o", "json").stdout)["rows"]
    single = json.loads(kcli("partition", "u4NdSfWRQjaZ_ENyxMXLJA:2", "-o", "json").stdout)["rows"]
    assert ([row["partition"] for row in rows], rows[2:]) == ([0, 1, 2], single)


def test_partitions_changes_the_number_of_metadata_partitions():
    done = kcli("partition", "-o", "tsv", "--no-headers", "--partitions", "5", "u4NdSfWRQjaZ_ENyxMXLJA:7")

    assert (done.exit_code, done.stdout) == (0, "u4NdSfWRQjaZ_ENyxMXLJA\t7\t3\n")


TOPICS = {event["topic"] for event in EVENTS}
SOME = min(TOPICS)


def selected(*words):
    done = kcli("dump", "-o", "json", *words)
    return [row["metadata_offset"] for row in json.loads(done.stdout)["rows"]], done


def offsets_of(topics, partitions):
    return [
        event["metadata_offset"]
        for event in EVENTS
        if event["topic"] in topics and event["partition"] in partitions
    ]


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--jobs", 2), pytest.param(("--spark",), marks=pytest.mark.spark)])
def test_topic_and_partition_are_the_users(log_dir, more):
    assert len(TOPICS) > 1
    assert selected("--topic", SOME, log_dir, *more)[0] == offsets_of({SOME}, range(99))
    assert selected("--partition", "0", log_dir, *more)[0] == offsets_of(TOPICS, {0})


def test_topics_by_glob_and_by_regex(log_dir):
    assert selected("--topic", f"{SOME[:-1]}?,{SOME}", log_dir)[0] == offsets_of(
        {topic for topic in TOPICS if topic[:-1] == SOME[:-1]}, range(99)
    )
    assert selected("--topic-regex", ".*", "--exclude-internal", log_dir)[0] == offsets_of(TOPICS, range(99))


@pytest.mark.parametrize("words", [("--topic", SOME + "x"), ("--partition", "98")])
def test_a_topic_without_events_is_one_line_and_status_3(log_dir, words, tmp_path):
    rows, done = selected(*words, log_dir)
    error = json.loads(done.stdout)["errors"][0]
    assert (rows, done.exit_code, error["error"]) == ([], 3, "nothing-matched")
    assert (f"did you mean {SOME}" in error["message"]) == (words[0] == "--topic")
    out = tmp_path / "events.csv"
    assert (kcli("dump", *words, log_dir, "--out", out).exit_code, out.exists()) == (3, False)


def test_a_snapshot_belongs_to_the_topic_of_its_directory(tmp_path):
    for name in ("a-0", "b-0"):
        (tmp_path / name).mkdir()
        header = bytes(2) + (3).to_bytes(4, "big") + (77).to_bytes(8, "big") + bytes(4)
        (tmp_path / name / "remote_log_snapshot").write_bytes(header)
    done = kcli("dump", "-o", "json", tmp_path, "--topic", "b")
    assert [row["dir"] for row in json.loads(done.stdout)["rows"]] == [str(tmp_path / "b-0")]


def test_the_partitioner_of_the_kip_is_an_explicit_choice(kcli_of_rows):
    assert kcli_of_rows("--layout", "kip", "foo:0..1") == [["foo", 0, 45], ["foo", 1, 2]]
    assert kcli_of_rows("u4NdSfWRQjaZ_ENyxMXLJA:0") == [["u4NdSfWRQjaZ_ENyxMXLJA", 0, 49]]


@pytest.fixture
def kcli_of_rows():
    def rows(*words):
        document = json.loads(kcli("partition", *words, "-o", "json").stdout)
        return [list(row.values()) for row in document["rows"]]

    return rows
