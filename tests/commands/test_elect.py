"""`kcli replica elect` on a pair of replicas that parted, and on the metadata of a real cluster."""

import gzip
import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.commands.answers import ask, prediction
from tests.partitions import epoch_lines, log_dir, orders, put_range, segment
from tests.recordings import pack

METADATA = Path(__file__).parents[1] / "data" / "metadata" / "failover.log.gz"
HERE, THERE = "before-leader", "before-follower"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pack.unpack("truncation", tmp_path_factory.mktemp("elect"))


def costs_committed(row):
    """Whether a leader that Kafka elects, or may elect, costs committed records."""
    return row["would_be_elected"] is not False and bool(row["committed_records_lost"])


elect = partial(prediction, costs_committed, "replica", "elect")


@pytest.mark.parametrize(
    ("words", "elected", "clean", "reason"),
    [
        (("--isr", "2"), 2, True, "the first live replica in the ISR"),
        (("--isr", "1,2"), 2, True, "the first live replica in the ISR"),
        (("--isr", "3,1"), 1, True, "the first live replica in the ISR"),
        (("--isr", "3"), None, False, "out of sync: its election would be unclean"),
        (("--isr", "3", "--unclean-leader-election"), 2, False, "unclean: the first live replica"),
    ],
)
def test_whom_kafka_elects(folder, words, elected, clean, reason):
    """Of brokers 2 and 1, in this order; others are not live."""
    rows = elect(*words, folder / HERE / "plain-0", folder / THERE / "plain-0")["rows"]

    assert [row["candidate_broker_id"] for row in rows if row["would_be_elected"]] == [elected] * bool(
        elected
    )
    row = next((row for row in rows if row["would_be_elected"]), rows[0])
    assert row["clean"] is clean
    assert row["reason"].startswith(reason)


@pytest.mark.parametrize("isr", ["1", "2"])
def test_which_of_the_copies_of_one_replica_leads_is_open(kcli, folder, tmp_path, isr):
    """Of brokers 2, 1 and 1; without broker 2 all that are named are copies."""
    places = [shutil.copytree(folder / THERE, tmp_path / name) / "plain-0" for name in "ab"]
    other, copies = elect("--isr", isr, folder / HERE / "plain-0", *places), elect("--isr", isr, *places)
    some, both = (f"{who} are copies of one replica (broker 1)" for who in ("2 of them", "both"))

    answers = {(row["candidate_broker_id"], row["would_be_elected"]): row["reason"] for row in other["rows"]}
    assert answers[1, None] == some and sorted(broker for broker, _ in answers) == [1, 2]
    assert (2, isr == "2") in answers
    assert [(row["would_be_elected"], row["clean"], row["reason"]) for row in copies["rows"]] == [
        (None, None, both)
    ] * 2
    drawn = kcli("replica", "elect", "--isr", isr, *places, "-o", "table").stdout
    assert drawn.startswith(f"Whom Kafka elects is open: {both}.")
    drawn = kcli("replica", "elect", "--isr", isr, folder / HERE / "plain-0", *places, "-o", "table").stdout
    assert drawn.startswith(f"Whom Kafka elects is open: {some}." if isr == "1" else "Kafka elects ")


def test_every_partition_of_two_log_dirs(folder):
    rows = elect(folder / HERE, folder / THERE)["rows"]

    assert len(rows) == 2 * 11
    assert {row["outcome"] for row in rows} == {"converged"}
    equal = [row for row in rows if row["topic"] == "equal"]
    assert [(row["truncate_to"], row["records_lost"], row["bytes_lost"]) for row in equal] == [(20, 0, 0)] * 2


OPEN = "Whom Kafka elects is open in {} of 11 partitions: {}. "
NO_ISR = "the ISR is not known: name it with --isr, or --metadata"
TWO_COPIES = OPEN.format(1, "2 of them are copies of one replica (broker 1)")
LED = "Kafka elects a leader for {} of 11 partitions; {} lose committed records by it. "
MAY_LOSE = "{} may lose committed records by it."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), OPEN.format(10, NO_ISR) + TWO_COPIES + MAY_LOSE.format("4 partitions")),
        (("--isr", "1"), LED.format(10, 3) + TWO_COPIES + MAY_LOSE.format("1 partition")),
        (("--isr", "2"), LED.format(11, 0).strip()),
    ],
)
def test_the_verdict_over_several_partitions_says_what_is_open(kcli, folder, tmp_path, words, said):
    """One partition of broker 1 has a copy."""
    shutil.copytree(folder / THERE / "plain-0", tmp_path / "plain-0")
    shutil.copy(folder / THERE / "meta.properties", tmp_path)
    done = kcli("replica", "elect", *words, folder / HERE, folder / THERE, tmp_path, "-o", "table")
    assert " ".join(done.stdout.partition("\n\n")[0].split()) == said


@pytest.fixture
def of_another_cluster(folder, tmp_path):
    """Metadata of another cluster than two replicas, whose partition has the name of one there."""
    metadata = tmp_path / "__cluster_metadata-0"
    metadata.mkdir()
    (metadata / "00000000000000000000.log").write_bytes(gzip.decompress(METADATA.read_bytes()))
    for number in (1, 3):
        copy = tmp_path / f"{number}"
        shutil.copytree(folder / HERE / "equal-0", copy / "f-three-2")
        (copy / "meta.properties").write_text(f"version=1\ncluster.id=x\nnode.id={number}\n")
    return metadata, tmp_path / "1", tmp_path / "3"


def test_metadata_names_isr_and_settings(of_another_cluster):
    """The replicas do not say their topic id."""
    metadata, *replicas = of_another_cluster
    for replica in replicas:
        (replica / "f-three-2" / "partition.metadata").unlink()
    rows = elect("--metadata", metadata, *replicas)["rows"]

    assert [(row["candidate_broker_id"], row["would_be_elected"], row["reason"]) for row in rows] == [
        (1, False, "in sync, but another one comes first"),
        (3, True, "the leader stays"),
    ]


def test_metadata_of_another_topic_of_this_name_says_nothing(kcli, of_another_cluster):
    metadata, *replicas = of_another_cluster
    document = elect("--metadata", metadata, *replicas)
    unknown = "the ISR is not known: the metadata of --metadata does not have this partition"
    assert [(row["would_be_elected"], row["clean"], row["reason"]) for row in document["rows"]] == [
        (None, None, unknown)
    ] * 2
    (found,) = document["findings"]
    assert (found["code"], found["dir"]) == ("REPL-003", str(replicas[0] / "f-three-2"))
    assert found["expected"] != found["found"] and str(metadata) in found["message"]

    words = ("--epoch", "0", "--current-leader-epoch", "0", "--metadata", metadata, "-o", "json")
    said = json.loads(kcli("epoch", "end-offset", *words, replicas[0] / "f-three-2").stdout)
    assert "REPL-003" in {finding["code"] for finding in said["findings"]}
    assert {row["error"] for row in said["rows"]} == {"UNKNOWN_TOPIC_OR_PARTITION"}


@pytest.fixture
def copies(folder, tmp_path):
    """Return two replicas without the files of their log dirs: no high watermark is known."""
    for number, source in enumerate((HERE, THERE), 1):
        shutil.copytree(folder / source / "segments-0", tmp_path / f"{number}" / "segments-0")
    return [tmp_path / "1", tmp_path / "2"]


def test_an_unknown_high_watermark_is_not_taken_as_0(copies):
    rows = elect(*copies)["rows"]

    assert [(row["truncate_to"], row["records_lost"], row["committed_records_lost"]) for row in rows] == [
        (40, 60, None),
        (40, 15, None),
    ]


def test_the_high_watermark_of_a_replica_that_agrees_counts(copies, folder):
    """The one with the log dir's checkpoint knows that its records are committed."""
    rows = elect(folder / HERE / "segments-0", copies[1])["rows"]

    assert [(row["records_lost"], row["committed_records_lost"]) for row in rows] == [(60, 0), (15, 15)]


def test_what_a_follower_deleted_before_is_not_lost(tmp_path):
    """Its log starts inside the batch that goes."""
    kept, gone = put_range(0, 10), put_range(10, 10, epoch=1)
    leader = orders(tmp_path / "a", kept, epochs=((0, 0),), watermark=10)
    follower = orders(tmp_path / "b", kept, gone, epochs=((0, 0), (1, 10)), log_start=13, watermark=20)
    row = elect(leader, follower)["rows"][0]

    assert (row["records_lost"], row["committed_records_lost"]) == (7, 7)


def test_a_follower_that_truncates_to_an_unknown_high_watermark(kcli, copies):
    """Without leader epochs it truncates there, and where that is is unknown."""
    (copies[1] / "segments-0" / "leader-epoch-checkpoint").unlink()
    (copies[1] / ".kafka_cleanshutdown").touch()
    rows = elect(*copies)["rows"]

    assert [(row["outcome"], row["truncate_to"], row["records_lost"], row["bytes_lost"]) for row in rows] == [
        ("unknown", None, None, None),
        ("converged", 55, 0, 0),
    ]
    shown = kcli("replica", "elect", *copies, "-o", "table").stdout
    assert "Unknown with" in shown


@pytest.mark.parametrize(("watermark", "lost"), [({}, None), ({"watermark": 5}, 5)])
def test_a_leader_that_begins_later_says_nothing_of_what_a_follower_had(tmp_path, watermark, lost):
    """Its follower begins anew at 100: that its own records are committed only its own watermark says."""
    leader = orders(tmp_path / "1", put_range(100, 10), epochs=((0, 100),), log_start=100, watermark=110)
    follower = orders(tmp_path / "2", put_range(0, 5), put_range(5, 5), **watermark)
    row = elect(leader, follower)["rows"][0]

    assert (row["follower"], row["truncate_to"], row["records_lost"]) == (str(follower), 100, 10)
    assert row["committed_records_lost"] == lost


def test_a_candidate_without_its_first_segments_costs_the_others_theirs(kcli, tmp_path):
    """As its follower a replica takes over the log start, and deletes what lies below."""
    epochs, batches = ((0, 0), (2, 12)), (put_range(0, 12), put_range(12, 8, epoch=2))
    whole = orders(tmp_path / "1", *batches, epochs=epochs, watermark=20)
    cut = log_dir(tmp_path / "2", watermark=20) / "orders-0"
    segment(cut, 12, batches[1])
    (cut / "leader-epoch-checkpoint").write_text(epoch_lines((2, 12)))
    for broker, root in enumerate((whole.parent, cut.parent), 1):
        (root / "meta.properties").write_text(f"version=1\ncluster.id=x\nnode.id={broker}\n")

    document = elect(whole, cut)
    found = [(finding["code"], finding["dir"], finding["message"]) for finding in document["findings"]]
    message = f"the log of {cut} begins at offset 12: as its follower this replica drops offsets 0..11"
    assert [row["offsets_below_start"] for row in document["rows"]] == [0, 12]
    assert [row["bytes_lost"] for row in document["rows"]] == [0, 0]
    assert ("REPL-006", str(whole), message) in found
    assert [code for code, *_ in found].count("REPL-006") == 1
    assert elect("--isr", "1", whole, cut)["findings"] == []
    drawn = " ".join(kcli("replica", "elect", whole, cut, "-o", "table").stdout.split())
    assert "Least is lost with broker 1: nothing." in drawn
    assert "broker 2 ? broker 1 keeps all from 12" in drawn

    done = kcli("truncate", "--dry-run", "--leader", cut, whole, "-o", "json")
    found = [(finding["code"], finding["message"]) for finding in json.loads(done.stdout)["findings"]]
    message = "the log of the leader begins at offset 12: as its follower this replica drops offsets 0..11"
    assert ("REPL-006", message) in found
    drawn = kcli("truncate", "--dry-run", "--leader", cut, whole, "-o", "table").stdout
    assert "Nothing is lost" not in drawn


OF_REPLICAS = ["epoch diff", "replica elect", "replica diff"]


@pytest.mark.parametrize("command", OF_REPLICAS)
def test_one_replica_is_too_few_and_a_path_that_cannot_be_read_is_named(kcli, demo, command):
    done = kcli(*command.split(), demo / "orders-0", "nope")
    assert done.exit_code == 4
    assert "error nope: no such file or directory" in done.stderr
    done = kcli(*command.split(), demo / "orders-0")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "expected two replicas of a partition at least" in done.stderr


@pytest.mark.parametrize("command", [*OF_REPLICAS, "truncate --dry-run --leader"])
def test_a_replica_that_does_not_load_is_an_error_of_its_directory(tmp_path, command):
    broken, whole = (orders(tmp_path / name, put_range(0, 20)) for name in "ab")
    (broken / "leader-epoch-checkpoint").write_text("0\n9\n0 0\n")
    document, status = ask(*command.split(), broken, whole)

    (error,) = document["errors"]
    assert (status, document["rows"], error["path"]) == (3, [], f"{broken}/leader-epoch-checkpoint")
