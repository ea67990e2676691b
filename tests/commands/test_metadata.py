"""`kcli metadata`: kinds, moments, changes, differences, command lines, damage."""

import gzip
import json
import shlex
import shutil
import tarfile
from pathlib import Path

import pytest

from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS
from tests.metadata_records import (
    CLUSTER,
    NOW,
    TOPIC_ID,
    batch,
    change,
    config,
    partition,
    put_log,
    record,
    topic,
)
from tests.partitions import orders, put_range

RECORDED = Path(__file__).parents[1] / "data" / "metadata" / "failover.log.gz"
DYNAMIC = Path(__file__).parents[1] / "data" / "startup" / "4.3.1-dynamic.tar.gz"
SNAPSHOT = Path(__file__).parents[1] / "data" / "batches" / "snapshot.checkpoint.gz"
SNAPSHOT_NAME = "00000000000000000184-0000000001.checkpoint"


@pytest.fixture
def log_dir(tmp_path):
    """Return a log dir with something of every kind."""
    return put_log(tmp_path / "d0", *(batch(offset, value) for offset, value in enumerate(CLUSTER)))


@pytest.fixture
def recorded(tmp_path):
    """Return the log dir of a broker whose cluster had its brokers stopped, killed and started."""
    return put_log(tmp_path / "recorded", gzip.decompress(RECORDED.read_bytes()))


def rows(done):
    return json.loads(done.stdout)["rows"]


def show(kcli, log_dir, *words):
    return rows(kcli("metadata", "show", *words, log_dir, "-o", "json"))


def test_a_summary_without_a_kind(kcli, log_dir):
    (row,) = show(kcli, log_dir)
    assert (row["metadata_offset"], row["complete"], row["metadata_version"]) == (14, True, 29)
    assert (row["topics"], row["partitions"], row["brokers_fenced"], row["configs"]) == (1, 2, [1], 4)
    assert [row[name] for name in ("acls", "quotas", "scram", "tokens")] == [1] * 4
    assert row["next_producer_id"] == 1000


def test_every_kind_has_its_rows(kcli, log_dir):
    found = show(kcli, log_dir, *IMAGE_KINDS)
    assert [row["type"] for row in found] == [
        "metadata_topic",
        *["metadata_partition"] * 2,
        "metadata_broker",
        "metadata_controller",
        *["metadata_config"] * 4,
        *(f"metadata_{kind}" for kind in ("feature", "acl", "quota", "scram", "token", "producer_ids")),
    ]
    by_type = {row["type"]: row for row in found}
    assert by_type["metadata_quota"]["entity"] == {"client-id": "c", "user": None}
    assert by_type["metadata_acl"]["operation"] == "DESCRIBE_CONFIGS"
    scram = by_type["metadata_scram"]
    assert (scram["mechanism"], scram["iterations"]) == ("SCRAM-SHA-256", 4096)


def test_secrets_are_hidden_unless_they_are_asked_for(kcli, log_dir):
    words = ("metadata", "show", "configs", log_dir, "-o", "csv")
    assert "hush" not in kcli(*words).stdout
    assert "(hidden)" in kcli(*words).stdout
    assert "hush" in kcli(*words, "--secrets").stdout
    assert "hush" not in kcli("metadata", "history", log_dir, "-o", "csv").stdout
    assert "hush" not in kcli("metadata", "diff", "--from", "0", log_dir, "-o", "csv").stdout


def test_settings_of_unknown_names_are_hidden_everywhere(kcli, tmp_path):
    records = (
        *(topic(), partition(0), config(2, "orders", "plugin.login", "hush")),
        *(config(2, "orders", "retention.ms", "7"), config(4, "1", "my.plugin.credential", "hush")),
    )
    log_dir = put_log(tmp_path / "d0", *(batch(offset, value) for offset, value in enumerate(records)))
    other = put_log(tmp_path / "d1", batch(0, config(4, "2", "min.insync.replicas", "2")))
    for words in (
        ("show", "topics", "configs", log_dir),
        ("history", log_dir),
        ("diff", log_dir, other),
        ("diff", other, log_dir),
        ("diff", "--from", "3", log_dir),
        ("export", log_dir),
    ):
        hidden, given = (kcli("metadata", *words, *more, "-o", "json").stdout for more in ((), ["--secrets"]))
        assert ("hush" in hidden, "hush" in given) == (False, True), words
    for view in ("metadata_configs", "metadata_topics"):
        answer = kcli("sql", f"SELECT * FROM {view}", log_dir, "-o", "csv").stdout
        assert ("hush" in answer, "(hidden)" in answer) == (False, True)
    assert "hush" not in kcli("metadata", "export", log_dir, "-o", "csv").stdout


@pytest.mark.parametrize(("at", "partitions"), [("2", 0), ("3", 1), ("4", 2), (str(NOW + 3), 1), ("14", 2)])
def test_records_count_up_to_a_moment_with_it(kcli, log_dir, at, partitions):
    assert len(show(kcli, log_dir, "partitions", "--at", at)) == partitions


def test_topics_select(kcli, log_dir):
    assert [row["partition"] for row in show(kcli, log_dir, "partitions", "--partition", "1")] == [1]
    assert [row["name"] for row in show(kcli, log_dir, "configs", "--topic", "ord*")][:1] == [
        "cleanup.policy"
    ]


def test_a_topic_that_is_nowhere_is_refused_by_every_command(kcli, log_dir):
    other = ("--topic", "ordres", "-o", "json")
    for words in (
        *(["show", "topics", "partitions"], ["show", "topics", "--jobs", "2"], ["show", "configs"]),
        *(["export"], ["export", "configs"], ["history"], ["diff", log_dir], ["diff", "--from", "3"]),
    ):
        done = kcli("metadata", *words, log_dir, *other)
        (error,) = json.loads(done.stdout)["errors"]
        assert (done.exit_code, error["error"]) == (3, "nothing-matched"), words
        assert error["message"].endswith("did you mean orders?")
    for words in (["show", "partitions"], ["diff", log_dir]):
        assert kcli("metadata", *words, log_dir, "--topic", "orders", "--partition", "2").exit_code == 3
    for words in (["show"], ["show", "brokers"], ["export", "acls"]):
        assert kcli("metadata", *words, log_dir, "--topic", "orders").exit_code == 2


def test_of_a_topic_that_is_here_nothing_may_be_the_answer(kcli, tmp_path):
    log_dir = put_log(tmp_path, batch(0, topic(), partition()))
    for words in (["show", "configs"], ["export", "configs"], ["diff", log_dir]):
        done = kcli("metadata", *words, log_dir, "--topic", "ord*", "-o", "json")
        assert (done.exit_code, json.loads(done.stdout)["rows"]) == (0, []), words


def test_a_snapshot_is_where_an_answer_begins(kcli, tmp_path):
    log_dir = put_log(tmp_path, batch(184, topic()), base=184)
    path = log_dir / "__cluster_metadata-0" / SNAPSHOT_NAME
    path.write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    before = {row["topic"] for row in show(kcli, log_dir, "topics", "--at", "183")}
    assert before == {row["topic"] for row in show(kcli, path, "topics")}
    assert {row["topic"] for row in show(kcli, log_dir, "topics")} == {*before, "orders"}
    alone = tmp_path / "alone" / path.parent.name / path.name
    alone.parent.mkdir(parents=True)
    shutil.copy(path, alone)
    assert {row["topic"] for row in show(kcli, alone.parent, "topics")} == before
    done = kcli("metadata", "show", log_dir, "--at", "9", "-o", "json")
    assert done.exit_code == 3
    assert "begins at offset 184" in json.loads(done.stdout)["errors"][0]["message"]


def test_history_reaches_back_before_the_newest_snapshot(kcli, recorded):
    snapshot = recorded / "__cluster_metadata-0" / SNAPSHOT_NAME
    snapshot.write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    found = rows(kcli("metadata", "history", "f-zstd-0", recorded, "-o", "json"))
    assert [row["metadata_offset"] for row in found if row["change"] == "leader"] == [64, 93, 198]
    assert found[0]["change"] == "created"
    leader = next(row for row in found if row["metadata_offset"] == 64)
    assert (leader["before"]["leader"], leader["after"]["isr"]) == (1, [3, 2])
    assert "replicas" not in leader["after"]
    assert {row["name"] for row in found if row["change"] == "fenced"} == {"broker 1", "broker 2", "broker 3"}


def test_a_drawn_history_marks_an_unclean_election_and_shows_the_elr(kcli, demo, recorded):
    drawn = kcli("metadata", "history", "orders-0", demo, "-o", "table", env={"COLUMNS": "80"}).stdout
    lines = [" ".join(line.split()) for line in drawn.splitlines()]
    assert "106 14:16:14.409 leader orders-0 none → 1 none → 1 1 → none" in lines
    assert "163 14:16:37.973 elr orders-0 – – 1 → none" in lines
    assert "! 173 14:16:38.062 unclean orders-0 none → 1 none → 1 –" in lines
    assert "1 unclean" in drawn
    drawn = kcli("metadata", "history", "f-zstd-0", recorded, "-o", "table", env={"COLUMNS": "80"}).stdout
    assert " EPOCH\n" in drawn and "ELR" not in drawn


def test_history_names_what_ids_stand_for(kcli, tmp_path):
    log_dir = put_log(
        tmp_path,
        batch(0, topic(), partition(0), record("NoOpRecord"), config(2, "orders", "retention.ms", "1")),
        batch(4, change(leader=-1, isr=()), config(2, "orders", "retention.ms", "2")),
        batch(6, record("RemoveTopicRecord", topicId=TOPIC_ID), topic("orders-0", "A" * 21 + "Q")),
    )
    found = rows(kcli("metadata", "history", log_dir, "-o", "json"))
    assert [(row["metadata_offset"], row["kind"], row["name"], row["change"]) for row in found] == [
        (0, "topic", "topic orders", "created"),
        (1, "partition", "orders-0", "created"),
        (3, "config", "topic orders", "config"),
        (4, "partition", "orders-0", "leader"),
        (5, "config", "topic orders", "config"),
        (6, "partition", "orders-0", "deleted"),
        (6, "config", "topic orders", "config"),
        (6, "topic", "topic orders", "deleted"),
        (7, "topic", "topic orders-0", "created"),
    ]
    assert (found[4]["before"], found[4]["after"]) == ({"retention.ms": "1"}, {"retention.ms": "2"})
    of_id = rows(kcli("metadata", "history", "--topic-id", TOPIC_ID, log_dir, "-o", "json"))
    assert {row["metadata_offset"] for row in of_id} == {0, 1, 4, 6}
    assert kcli("metadata", "history", "nothing", log_dir).exit_code == 3


def test_the_history_of_a_deleted_topic_ends_with_it(kcli, tmp_path):
    fence, unfence = (record(f"{name}BrokerRecord", id=1, epoch=1) for name in ("Fence", "Unfence"))
    records = (CLUSTER[1], topic(), partition(), unfence, fence, unfence)
    gone = (record("RemoveTopicRecord", topicId=TOPIC_ID), fence, unfence)
    log_dir = put_log(tmp_path, *(batch(offset, value) for offset, value in enumerate(records + gone)))
    found = rows(kcli("metadata", "history", "orders", log_dir, "-o", "json"))
    assert [(row["metadata_offset"], row["change"]) for row in found] == [
        *((1, "created"), (2, "created"), (3, "unfenced"), (4, "fenced"), (5, "unfenced")),
        *((6, "deleted"), (6, "deleted")),
    ]


def test_history_of_a_node(kcli, recorded):
    found = rows(kcli("metadata", "history", "--node", "2", recorded, "-o", "json"))
    assert {row["name"] for row in found} == {"broker 2"}
    assert [row["change"] for row in found[:3]] == ["registered", "unfenced", "fenced"]


def test_history_of_a_node_has_its_vote(kcli, tmp_path):
    with tarfile.open(DYNAMIC) as tar:
        tar.extractall(tmp_path, filter="data")
    found = rows(kcli("metadata", "history", "--node", "1", tmp_path / "d0", "-o", "json"))
    votes = [row for row in found if row["kind"] == "voter"]
    assert [(row["metadata_offset"], row["name"], row["change"]) for row in votes] == [
        (0, "voter 1", "added"),
        (2, "voter 1", "changed"),
    ]
    assert [row["record_type"] for row in votes] == ["LeaderChangeMessage", "VotersRecord"]
    directory = "directory.id=" + votes[1]["after"]["directory_id"]
    assert directory in (tmp_path / "d0" / "meta.properties").read_text().splitlines()
    assert {row["name"] for row in found} == {"voter 1", "controller 1", "broker 1"}


def test_a_transaction_counts_from_its_end_and_names_its_own_offsets(kcli, tmp_path):
    begin, end = record("BeginTransactionRecord"), record("EndTransactionRecord")
    log_dir = put_log(tmp_path, batch(0, begin, topic(), partition(0)), batch(3, end, epoch=7))
    assert show(kcli, log_dir, "topics", "--at", "2") == []
    found = rows(kcli("metadata", "history", log_dir, "-o", "json"))
    assert [(row["metadata_offset"], row["metadata_epoch"]) for row in found] == [(1, 1), (2, 1)]


def test_diff_of_two_moments_and_of_two_logs(kcli, tmp_path, log_dir):
    later = change(leader=2, isr=(2, 3))
    other = put_log(
        tmp_path / "d1",
        *(batch(offset, value) for offset, value in enumerate(CLUSTER)),
        batch(15, later, topic("new", "A" * 21 + "Q"), config(2, "orders", "retention.ms", None)),
    )
    done = kcli("metadata", "diff", log_dir, other, "-o", "json")
    assert done.exit_code == 1
    assert [
        [row[name] for name in ("kind", "name", "change", "field", "before", "after")] for row in rows(done)
    ] == [
        ["topic", "new", "added", None, None, rows(done)[0]["after"]],
        ["partition", "orders-0", "changed", "leader", "1", "2"],
        ["partition", "orders-0", "changed", "isr", "[1,2,3]", "[2,3]"],
        ["partition", "orders-0", "changed", "leader_epoch", "0", "1"],
        ["partition", "orders-0", "changed", "partition_epoch", "0", "1"],
        ["config", "topic orders", "changed", "retention.ms", "1000", None],
    ]
    moments = kcli("metadata", "diff", other, "--from", "14", "-o", "json")
    assert [row["name"] for row in rows(moments)] == [row["name"] for row in rows(done)]
    assert kcli("metadata", "diff", log_dir, log_dir).exit_code == 0
    assert kcli("metadata", "diff", "--to", "3", log_dir).exit_code == 2


def test_diff_names_the_log_dir_without_a_metadata_log(kcli, tmp_path, log_dir):
    orders(tmp_path / "data", put_range(0, 3))
    unread = f"Incomplete:1inputhasnoanswer({tmp_path}/{{}})."  # on as many lines as it takes
    for dirs in ((log_dir, tmp_path / "data"), (tmp_path / "data", log_dir)):
        done = kcli("metadata", "diff", *dirs, "-o", "table")
        assert (done.exit_code, "".join(done.stdout.split())) == (3, unread.format("data"))
        assert f"{tmp_path}/data: no __cluster_metadata-0 is here" in done.stderr
        assert str(log_dir) not in done.stderr
    done = kcli("metadata", "diff", log_dir, tmp_path / "absent", "-o", "table")
    said = "".join(done.stdout.split())
    assert (done.exit_code, said) == (3, unread.format("absent"))  # one alone is no comparison


def test_diff_needs_two_images_the_first_one_earlier(kcli, log_dir):
    for words in ([], ["--from", "5", "--to", "3"], ["--from", str(NOW + 5), "--to", str(NOW + 3)]):
        done = kcli("metadata", "diff", log_dir, *words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert ("or one and --from" if not words else "is later than --to") in done.stderr
    mixed = kcli("metadata", "diff", log_dir, "--from", str(NOW + 5), "--to", "3")
    assert (mixed.exit_code, "--from is offset 5" in mixed.stderr) == (3, True)
    assert kcli("metadata", "diff", log_dir, "--from", "5", "--to", str(NOW + 5)).exit_code == 0


def test_export_quotes_for_a_shell_and_for_the_tools(kcli, log_dir):
    lines = kcli("metadata", "export", "-o", "text", log_dir).stdout.splitlines()
    words = [shlex.split(line.replace("$BOOTSTRAP", "B")) for line in lines if not line.startswith("#")]
    assert [line[:3] for line in words] == [
        [f"{tool}.sh", "--bootstrap-server", "B"]
        for tool in ("kafka-topics", "kafka-configs", "kafka-acls", "kafka-configs")
    ]
    assert words[0][3:] == shlex.split(
        "--create --if-not-exists --topic orders --partitions 2 --replication-factor 3 "
        "--config cleanup.policy=compact,delete --config retention.ms=1000"
    )
    assert words[2][3:] == [
        *("--add", "--allow-principal", "User:CN=a b", "--allow-host", "*", "--operation", "DescribeConfigs"),
        *("--topic", "or'ders", "--resource-pattern-type", "prefixed"),
    ]
    assert words[3][4:] == shlex.split(
        "--entity-type clients --entity-name c --entity-type users --entity-default "
        "--add-config producer_byte_rate=1024.5"
    )
    assert [line for line in lines if line.startswith("#")] == [
        "# broker 1: ssl.keystore.password is secret: use --secrets",
        "# user u: SCRAM-SHA-256: the metadata has no password",
    ]
    (_, secret) = kcli(
        "metadata", "export", "configs", "--secrets", "-o", "text", log_dir
    ).stdout.splitlines()[1:]
    assert shlex.split(secret)[-1] == "ssl.keystore.password=hush"


def test_what_lies_behind_damage_is_folded_and_the_answer_is_incomplete(kcli, tmp_path):
    batches = [batch(offset, value) for offset, value in enumerate(CLUSTER)]
    batches[5] = batches[5][:-1] + b"?"
    log_dir = put_log(tmp_path, *batches)
    done = kcli("metadata", "show", log_dir, "-o", "json")
    document = json.loads(done.stdout)
    (row,) = document["rows"]
    assert (row["complete"], row["configs"], row["acls"], row["metadata_offset"]) == (False, 3, 1, 14)
    findings = [(finding["code"], finding["position"]) for finding in document["findings"]]
    assert findings == [("META-003", sum(map(len, batches[:5])))]
    assert done.exit_code == 1
    drawn = kcli("metadata", "show", "topics", log_dir, "-o", "table").stdout
    assert drawn.startswith("Incomplete: __cluster_metadata-0/00000000000000000000.log: ")

    torn = put_log(tmp_path / "torn", *batches[:5], batches[6][:20])
    done = kcli("metadata", "show", torn, "-o", "json")
    assert (rows(done)[0]["complete"], done.exit_code) == (False, 0)
    assert [finding["code"] for finding in json.loads(done.stdout)["findings"]] == ["LOG-001"]


UNREADABLE = {
    "text": (b"root:x:0:0:root:/root:/bin/bash\n" * 40, "the batch at byte 0 runs past the end"),
    "zeros": (bytes(4096), "NUL bytes from byte 0 on"),
    "ones": (b"\xff" * 4096, "bytes 0 to 4096 are no batches"),
    "damaged": (batch(0, topic())[:-1] + b"?", "checksum"),
    "empty": (b"", None),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("log", name) for name in UNREADABLE)]
    + [(kind, name) for kind in ("segment", "bootstrap") for name in ("text", "empty")],
)
def test_a_log_of_which_no_batch_can_be_read_has_no_answer(kcli, tmp_path, log_dir, kind, name):
    data, words = UNREADABLE[name]
    path = put_log(tmp_path, data) / "__cluster_metadata-0"
    if kind == "bootstrap":
        (path / f"{0:020}-{0:010}.checkpoint").write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    path = path / f"{0:020}.log" if kind == "segment" else path
    if kind == "bootstrap" and not data:
        assert show(kcli, path, "features")  # of a node that never ran
        return
    for words_before in (["show"], ["history"], ["export"], ["diff", log_dir]):
        done = kcli("metadata", *words_before, path, "-o", "json")
        document = json.loads(done.stdout)
        (error,) = document["errors"]
        assert (done.exit_code, document["rows"], document["findings"]) == (3, [], [])
        assert (words or "no record of it is here") in error["message"]
        assert error["path"].endswith(".log" if words or kind == "segment" else "__cluster_metadata-0")


@pytest.mark.parametrize(
    ("data", "status"), [(b"root:x:0:0:root:/root:/bin/bash\n", 1), (batch(1, partition())[:-1], 0)]
)
def test_a_last_segment_without_a_batch_may_be_an_append_under_way(kcli, tmp_path, data, status):
    log_dir = put_log(put_log(tmp_path, batch(0, topic(), partition())), data, base=2)
    done = kcli("metadata", "export", log_dir, "-o", "text")
    lines = done.stdout.splitlines()
    assert (done.exit_code, len(lines)) == (status, 1 + status)
    assert lines[0].startswith("# INCOMPLETE" if status else "kafka-topics.sh")


def test_a_script_of_what_is_incomplete_begins_with_that(kcli, tmp_path):
    log_dir = put_log(tmp_path, batch(3, topic(), partition(0)), base=3)
    done = kcli("metadata", "export", "-o", "text", log_dir)
    first, *lines = done.stdout.splitlines()
    assert first == "# INCOMPLETE: __cluster_metadata-0: offsets 0..2 are not here"
    assert (len(lines), lines[0].split()[0], done.exit_code) == (1, "kafka-topics.sh", 1)


def test_a_newer_snapshot_that_is_passed_over_makes_it_incomplete(kcli, log_dir):
    (log_dir / "__cluster_metadata-0" / f"{9:020}-{1:010}.checkpoint").write_bytes(b"")
    done = kcli("metadata", "show", log_dir, "-o", "json")
    assert (rows(done)[0]["complete"], done.exit_code) == (False, 1)


def test_segments_that_are_missing_are_said(kcli, tmp_path):
    log_dir = put_log(tmp_path, batch(0, topic()))
    put_log(tmp_path, batch(5, partition(0)), base=5)
    done = json.loads(kcli("metadata", "show", log_dir, "-o", "json").stdout)
    assert not done["rows"][0]["complete"]
    assert "offsets 1..4 are not here" in done["findings"][0]["message"]
    alone = kcli(
        "metadata", "show", "partitions", log_dir / "__cluster_metadata-0" / f"{5:020d}.log", "-o", "json"
    )
    assert any(
        "offsets 0..4 are not here" in finding["message"] for finding in json.loads(alone.stdout)["findings"]
    )


def test_other_directories_are_refused(kcli, log_dir):
    other = log_dir / "orders-0"
    other.mkdir()
    assert kcli("metadata", "show", other).exit_code == 3
    empty = log_dir.parent / "empty"
    (empty / "orders-0").mkdir(parents=True)
    done = kcli("metadata", "show", empty)
    assert (done.exit_code, "no __cluster_metadata-0 is here" in done.stderr) == (3, True)


def test_the_same_through_processes_and_sql(kcli, log_dir, recorded):
    words = ("metadata", "show", *IMAGE_KINDS, log_dir, recorded, "-o", "ndjson")
    assert kcli(*words, "--jobs", "2").stdout == kcli(*words).stdout
    query = "SELECT topic, partition, leader FROM metadata_partitions ORDER BY ALL"
    done = kcli("sql", query, log_dir, "-o", "csv", "--no-headers")
    assert done.stdout.split() == ["orders,0,1", "orders,1,2"]
    (log_dir / "orders-0").mkdir()
    done = kcli("sql", query, log_dir, "-o", "csv", "--no-headers", "--topic", "orders", "--partition", "0")
    assert done.stdout.split() == ["orders,0,1"]


def test_a_summary_names_its_end_and_each_log(kcli, log_dir, tmp_path):
    done = kcli("metadata", "show", log_dir, "--at", "1000", "-o", "table")
    assert done.stdout.startswith("Offset 14: ")
    assert "1, 1 fenced (1)" in done.stdout
    (beyond,) = json.loads(kcli("metadata", "show", log_dir, "--at", "1000", "-o", "json").stdout)["findings"]
    assert (beyond["code"], beyond["found"]) == ("META-010", 14)
    other = put_log(tmp_path / "d1", *(batch(offset, value) for offset, value in enumerate(CLUSTER)))
    both = "".join(kcli("metadata", "show", log_dir, other, "-o", "table").stdout.split())
    assert all(f"{name}/__cluster_metadata-0" in both for name in (log_dir.name, other.name))


def test_the_record_of_a_new_leader_is_a_moment(kcli, recorded):
    for at in (0, 1):
        (row,) = show(kcli, recorded, "--at", str(at))
        assert (row["metadata_offset"], row["metadata_epoch"], row["leader"]) == (at, 1, 100)
    assert show(kcli, recorded, "--at", "0")[0]["timestamp"] < row["timestamp"]


def test_what_several_logs_say_alike_is_counted_once(kcli, tmp_path):
    records = [
        *(batch(offset, value) for offset, value in enumerate(CLUSTER)),
        batch(15, change(1, isr=(2,))),
    ]
    logs = [put_log(tmp_path / name, *records) for name in ("d1", "d2")]
    for words, verdict in (
        (["show", "topics"], "1 topic"),
        (["show", "partitions"], "2 partitions, 1 with replicas out of the ISR"),
        (["show", "configs"], "4 settings"),
        (["history", "orders-0"], "1 change: 1 created"),
    ):
        several, alone = (
            kcli("metadata", *words, *given, "-o", "table").stdout.split("\n\n") for given in (logs, logs[:1])
        )
        assert (alone[0], several[0]) == (f"{verdict}.", f"{verdict}, the same in 2 metadata logs.")
        assert several[2:] == alone[2:]


def test_logs_that_differ_have_their_own_numbers(kcli, log_dir, tmp_path):
    records = [batch(offset, value) for offset, value in enumerate(CLUSTER)]
    behind, equal = put_log(tmp_path / "d1", *records[:4]), put_log(tmp_path / "d2", *records)
    words = ("metadata", "show", "partitions", log_dir, behind, equal, "-o", "table")
    verdict = ["d0, d2: 2 partitions.", "d1: 1 partition."]
    assert kcli(*words).stdout.splitlines()[:2] == verdict
    for node, directory in enumerate((log_dir, behind, equal)):
        (directory / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
    lines = kcli(*words).stdout.splitlines()
    assert lines[:2] == ["node 0, node 2: 2 partitions.", "node 1: 1 partition."]
    listed = [line.split("  ")[-1].strip() for line in lines if "orders-" in line]
    assert listed == ["node 0, node 1, node 2", "node 0, node 2"]
    changed = put_log(behind, *records, batch(15, change(0, isr=(1,))))
    lines = kcli("metadata", "show", "partitions", log_dir, changed, "-o", "table").stdout.splitlines()
    assert [line.split()[1] for line in lines if "orders-" in line] == ["orders-0", "orders-0", "orders-1"]


def test_the_snapshot_of_a_bootstrap_is_read_in_its_directory(kcli, tmp_path):
    log = put_log(tmp_path / "d0") / "__cluster_metadata-0"
    for segment in log.glob("0*"):
        segment.unlink()
    (log / "00000000000000000000-0000000000.checkpoint").write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    assert show(kcli, log.parent, "features") == show(kcli, next(log.glob("*.checkpoint")), "features") != []


def test_voters_that_a_snapshot_does_not_have_are_no_difference(kcli, recorded):
    log = recorded / "__cluster_metadata-0"
    snapshot = log / SNAPSHOT_NAME
    snapshot.write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    assert not show(kcli, snapshot, "voters")
    assert show(kcli, log, "voters")
    done = kcli("metadata", "diff", snapshot, log, "-o", "json")
    assert "voter" not in {row["kind"] for row in rows(done)}
    assert "META-010" in {finding["code"] for finding in json.loads(done.stdout)["findings"]}


def test_equal_images_are_said_to_be(kcli, log_dir):
    assert kcli("metadata", "diff", log_dir, log_dir, "-o", "table").stdout == "They are equal.\n"


def test_a_setting_is_named_where_it_comes_and_where_it_goes(kcli, tmp_path):
    made, gone = config(2, "orders", "retention.ms", "1000"), config(2, "orders", "retention.ms", None)
    directory = put_log(tmp_path / "d0", batch(0, topic()), batch(1, made), batch(2, gone))
    drawn = kcli("metadata", "history", "orders", directory, "-o", "table").stdout
    assert [line.split("orders: ")[-1].strip() for line in drawn.splitlines() if " config " in line] == [
        "retention.ms 1000",
        "retention.ms 1000 removed",
    ]
    drawn = kcli("metadata", "diff", "--from", "0", "--to", "1", directory, "-o", "table").stdout
    assert "added retention.ms=1000" in drawn


def test_a_history_of_what_is_nowhere_is_refused(kcli, log_dir):
    for words in (["--node", "77"], ["--topic-id", "AAAAAAAAAAAAAAAAAAAAZZ"], ["nowhere"]):
        assert kcli("metadata", "history", *words, log_dir).exit_code == 3


def test_a_value_that_kafka_configs_takes_not_is_left_out_alone(kcli, tmp_path):
    values = {"my.list": "[a", "my.text": "b\nc", "my.plain": "d"}
    changes = [config(4, "1", name, value) for name, value in values.items()]
    directory = put_log(tmp_path / "d0", batch(0, *changes))
    lines = kcli("metadata", "export", "configs", "--secrets", "-o", "text", directory).stdout.splitlines()
    assert [line.split(":")[1].strip() for line in lines if line.startswith("#")] == ["my.list", "my.text"]
    assert [line.split()[-1] for line in lines if not line.startswith("#")] == ["my.plain=d"]


def test_a_history_of_several_breaks_no_word_at_80_columns(kcli, tmp_path):
    long = config(2, "t" * 38, "min.insync.replicas", "2")
    directory = put_log(tmp_path / "d0", batch(0, topic("t" * 38, "A" * 21 + "Q"), long))
    drawn = kcli("metadata", "history", directory, "-o", "table", env={"COLUMNS": "80"}).stdout
    assert "min.insync.replicas 2" in drawn
