"""Starts of real brokers of several releases over changed log dirs, as `observe` recorded them, foretold."""

import gzip
import shutil
from pathlib import Path

import pytest

from kcli.kafka.kraft.meta_properties import BOOTSTRAP_READ, BrokerConfig
from kcli.kafka.kraft.releases import RELEASES
from kcli.kafka.kraft.start_plan import start_plans
from tests.commands.answers import ask
from tests.starts.make_base import RECORDS
from tests.starts.observe import prepare
from tests.starts.predicted import RECORDED, difference, predicted
from tests.starts.states import CHANGES, DATA, LOG, METADATA, UNIQUE


@pytest.mark.parametrize(("base", "release", "change"), sorted(RECORDED))
def test_a_recorded_start_is_foretold(tmp_path: Path, base: str, release: str, change: str):
    said = predicted(release, prepare(base, change, tmp_path))
    assert difference(release, said, RECORDED[base, release, change]) is None


@pytest.mark.parametrize(
    ("base", "happened"),
    [
        ("4.4.0", (["NullPointerException"], ["RuntimeException"])),
        ("4.3.1-snapshot", (["IllegalStateException"], ["RuntimeException", "IllegalStateException"])),
    ],
)
def test_either_of_two_threads_may_end_a_start(tmp_path: Path, base: str, happened: tuple[list[str], ...]):
    """4.4.0 began one snapshot that was cut before a topic four times: the loader met its change thrice."""
    said = predicted("4.4.0", prepare(base, "newest snapshot cut, a change of a lost topic", tmp_path))
    for exceptions in happened:
        assert difference("4.4.0", said, {"outcome": "fails", "exceptions": exceptions}) is None
    assert difference("4.4.0", said, {"outcome": "fails", "exceptions": ["IOException"]}) is not None


FIRST_STARTING = {"3.5.2": (3, 5), "3.9.2": (3, 9), "4.3.1": (4, 3), "4.4.0": (4, 4)}
"""Release that made the log dirs -> the first that starts over them: no older one did, and each newer one."""


@pytest.mark.parametrize("base", FIRST_STARTING)
def test_no_older_release_starts_and_every_newer_one_does(tmp_path: Path, base: str):
    prepare(base, "healthy", tmp_path)
    for release in RELEASES:
        if release >= BOOTSTRAP_READ:
            (plan,) = start_plans([f"{tmp_path}/d0", f"{tmp_path}/d1"], BrokerConfig(release))
            assert bool(plan.stops) == (release < FIRST_STARTING[base]), (release, plan.stops)


def started(properties: Path, release: str = "4.3.1") -> list[dict]:
    """Return the rows of `startup`, the broker's first."""
    return ask("startup", "--server-config", properties, "--kafka-version", release)[0]["rows"]


@pytest.mark.parametrize(
    ("base", "change", "lost"),
    [
        ("4.3.1", "partition.metadata of another topic", RECORDS + 1),
        ("4.3.1", "partition.metadata missing", RECORDS + 1),
        ("4.3.1", "unknown topic", RECORDS + 1),
        ("3.5.2", "unknown topic", RECORDS + 1),
        ("4.3.1", "topic deleted", 3 * RECORDS),
        ("4.3.1", "reassigned away", RECORDS + 1),
        ("4.3.1", "only a -future log, not assigned", RECORDS + 1),
        ("4.3.1", "only a -future log, assigned", 0),
        ("4.3.1", "whole -future log, assigned", 0),
        ("4.3.1", "-future log behind, assigned", 1),
        ("4.3.1", "-delete of a former partition", 0),
        ("4.3.1", "volume with a new id", 0),
        ("4.3.1", "meta.properties of version 0 and no topic ids in d1", 3 * RECORDS + 4),
        ("4.3.1", "offset past its segment's range, killed", 0),
    ],
)
def test_lost_are_the_records_of_data_that_no_log_has_afterwards(tmp_path, base, change, lost):
    """orders-0 has one of a transaction, and its marker; __transaction_state-1 has 4."""
    broker, *rows = started(prepare(base, change, tmp_path), base)
    assert (broker["outcome"], broker["records_lost"]) == ("starts", lost)
    assert sum(row["records_lost"] for row in rows) == lost


@pytest.mark.parametrize("config", [False, True])
def test_a_release_without_zookeeper_makes_each_log_of_it_stray(kcli, tmp_path: Path, config):
    properties = prepare("4.3.1", "log dirs of ZooKeeper", tmp_path)
    words = ("--server-config", properties) if config else (tmp_path / "d0", tmp_path / "d1")
    for release, stray in (("4.3", {"stray"}), ("4.0", {"stray"})) + (
        () if config else (("3.9", {"loads"}),)
    ):
        broker, *rows = ask("startup", "--kafka-version", release, *words)[0]["rows"]
        assert {row["outcome"] for row in rows} == stray
        assert bool(broker["remedy"]) == (stray == {"stray"})
    shown = " ".join(kcli("startup", "--releases", "-o", "table", *words).stdout.split())
    assert config or "3.8, 3.9; with 4.0, 4.1, 4.2, 4.3, 4.4 as WHY says." in shown


def test_log_dirs_of_two_brokers_of_zookeeper_side_by_side_are_of_two(tmp_path: Path):
    prepare("4.3.1", "log dirs of ZooKeeper", tmp_path)
    meta = tmp_path / "d1" / "meta.properties"
    meta.write_text(meta.read_text().replace("broker.id=1", "broker.id=2"))
    rows = ask("startup", tmp_path / "d0", tmp_path / "d1")[0]["rows"]
    brokers = [row for row in rows if "log_dirs" in row]
    assert [(row["broker_id"], row["outcome"]) for row in brokers] == [(1, "starts"), (2, "starts")]


@pytest.mark.parametrize("name", ["v0-gzip", "v1-gzip"])
def test_of_a_wrapper_each_message_is_lost(tmp_path, name):
    properties = prepare("4.3.1", "log dirs of ZooKeeper", tmp_path)
    log = tmp_path / "d1" / "orders-1" / LOG
    log.write_bytes(gzip.decompress((DATA.parent / "batches" / f"{name}.log.gz").read_bytes()))
    messages = ask("dump", log, "--records")[0]["rows"]
    (row,) = (row for row in started(properties) if row.get("dir") == str(log.parent))
    assert (row["outcome"], row["records_lost"]) == ("stray", len(messages))
    assert len({row["position"] for row in messages}) < len(messages)


@pytest.mark.parametrize(
    ("base", "change", "message", "todo"),
    [
        ("4.3.1", "voter away", "asks the voters 3", "set controller.quorum.voters back to 1"),
        (
            "4.3.1-dynamic",
            "other directory.id in d0",
            "the voters record has directory.id",
            "write directory.id=",
        ),
        ("4.3.1-dynamic", "metadata log gone", "no voters record", "put back __cluster_metadata-0"),
    ],
)
def test_who_waits_is_never_ready_and_check_says_why_and_what_to_do(
    kcli, tmp_path, base, change, message, todo
):
    properties = prepare(base, change, tmp_path)
    broker = started(properties)[0]
    assert (broker["outcome"], broker["error"], broker["server_log"]) == ("waits", None, None)
    assert todo in broker["remedy"]
    for command in ("startup", "check"):
        findings = ask(command, "--server-config", properties)[0]["findings"]
        (finding,) = (finding for finding in findings if finding["code"] == "START-022")
        assert message in finding["message"], (command, finding)
        assert finding["message"].endswith(f"; to do: {broker['remedy']}")
    assert kcli("startup", "--server-config", properties).exit_code == 1


def test_a_log_dir_that_is_not_given_may_be_whole(tmp_path: Path):
    properties = prepare("4.3.1", "healthy", tmp_path)
    (alone,) = ask("check", "--topic", "orders", tmp_path / "d0")[0]["findings"]
    assert (alone["code"], "(1 of 2 log dirs given)" in alone["message"]) == ("START-021", True)
    named = properties.read_text().replace(f"{tmp_path}/d0,{tmp_path}/d1", f"{tmp_path}/d0")
    properties.write_text(named)
    answer = ask("check", "--server-config", properties)[0]
    assert "START-019" in {finding["code"] for finding in answer["findings"]}


@pytest.mark.parametrize(
    "change",
    [
        "partition.metadata empty",
        "high watermarks cut in d0",
        "leader-epoch-checkpoint of NUL bytes in d1",
        "topic deleted; log-start of NUL bytes in d1",
        "topic deleted; cleaner-offset of version 7 in d1",
    ],
)
def test_each_release_has_the_outcome_of_a_start_by_it(tmp_path: Path, change: str):
    properties = prepare("4.3.1", change, tmp_path)
    releases = ask("startup", "--releases", "--server-config", properties)[0]["rows"]
    for release in releases[-5:]:
        broker = started(properties, release["kafka_version"])[0]
        assert (release["outcome"], release["error"]) == (broker["outcome"], broker["error"])


def test_the_releases_that_start_are_in_the_first_line_and_why_others_do_not(kcli, tmp_path: Path):
    prepare("4.4.0", "healthy", tmp_path)
    lines = kcli("startup", "--releases", "-o", "table", tmp_path / "d0", tmp_path / "d1").stdout.splitlines()
    assert lines[0] == "Broker 1 would start with Kafka 4.4."
    (tmp_path / "d1" / "lost+found").mkdir()
    shown = kcli("startup", "--releases", "-o", "table", tmp_path / "d0", tmp_path / "d1").stdout
    assert shown.startswith("Broker 1 would start with no release of Kafka that kcli knows.")
    refused = next(line for line in lines if line.split()[1:3] == ["4.3", "fails"])
    assert "IllegalArgumentException" in refused


@pytest.mark.parametrize(
    ("base", "change", "release", "said"),
    [
        ("4.4.0", "healthy", "4.3", "No MetadataVersion with feature level 33, or RuntimeException: "),
        ("4.3.1", "healthy", "4.0", "Can't read version "),
        ("4.3.1", "healthy", "3.0", ""),
        (
            "3.9.2",
            "healthy",
            "3.8",
            "FeatureLevelRecord(name='metadata.version', featureLevel=21), but this ",
        ),
        ("4.3.1", "group.version 9", "4.3", "FeatureLevelRecord(name='group.version', featureLevel=9), but "),
        ("4.3.1", "unknown feature", "4.3", "but this controller only supports versions"),
    ],
)
def test_who_meets_what_a_newer_release_wrote_starts_that_one(tmp_path, base, change, release, said):
    broker = started(prepare(base, change, tmp_path), release)[0]
    assert (broker["outcome"], said in broker["server_log"]) == ("fails", True)
    assert broker["remedy"].startswith("start the release that wrote this")


@pytest.mark.parametrize(
    ("change", "setting", "reason", "todo"),
    [
        ("metadata log in d1, too", "", "and another in", "move the one with the lower log end"),
        ("healthy", "d1", "and none in", "set metadata.log.dir back to {}/d0"),
        ("directory.id of d0 in d1", "", "is also that of", "take the one that is a copy out of log.dirs"),
    ],
)
def test_a_metadata_log_in_another_log_dir_is_no_lost_one(tmp_path, change, setting, reason, todo):
    properties = prepare("4.3.1", change, tmp_path)
    named = properties.read_text()
    properties.write_text(f"{named}\nmetadata.log.dir={tmp_path}/{setting}\n" if setting else named)
    broker = started(properties)[0]
    assert broker["outcome"] == "fails"
    assert reason in broker["reason"]
    assert broker["remedy"].startswith(todo.format(tmp_path))
    is_elsewhere = "lies here" in broker["reason"]
    says = "Found unexpected metadata location" if is_elsewhere else "Duplicate directory ID Optional["
    assert says in broker["server_log"]


def test_a_copy_of_a_segment_is_to_be_moved_away(tmp_path: Path):
    properties = prepare("4.3.1", "healthy", tmp_path)
    (tmp_path / "d1" / "orders-1" / f"{LOG.removesuffix('.log')} (1).log").touch()
    broker = started(properties)[0]
    assert (broker["error"], broker["remedy"][-17:]) == ("NumberFormatException", "move it elsewhere")


def test_the_first_lines_of_check_say_what_a_start_makes_of_the_broker(kcli, tmp_path: Path):
    prepare("4.3.1", "unknown topic", tmp_path)
    metadata_log = tmp_path / "d0" / "__cluster_metadata-0"
    words = ("check", "-o", "table", tmp_path / "d0", tmp_path / "d1")
    assert "A start would make 1 partition -stray" in kcli(*words).stdout
    (metadata_log / "partition.metadata").write_bytes(bytes(43))
    shown = kcli(*words).stdout
    assert shown.startswith("Broker 1 would not start.")
    assert "the topic id of the metadata log is fixed" in " ".join(shown.split())


def test_check_asks_the_release_that_is_given(kcli, tmp_path: Path):
    words = ("check", "-o", "table", "--server-config", prepare("4.4.0", "healthy", tmp_path))
    assert kcli(*words).exit_code == 0
    older = kcli(*words, "--kafka-version", "4.3.1")
    assert (older.exit_code, older.stdout.splitlines()[0]) == (1, "Broker 1 would not start.")
    assert "No MetadataVersion with feature level 33" in " ".join(older.stdout.split())


@pytest.mark.parametrize(
    ("change", "starts", "checks"),
    [
        (
            "volume with a new id",
            "4 replicas begun empty: the metadata assigns ",
            "begin replicas empty whose ",
        ),
        (
            "only a -future log, not assigned",
            "1 replica deleted: no current log of it ",
            "discard the records ",
        ),
        (
            "unknown topic",
            "1 replica made -stray: the metadata has no topic of ",
            "make 1 partition -stray: ",
        ),
    ],
)
def test_the_first_lines_say_what_becomes_of_replicas_and_why(kcli, tmp_path, change, starts, checks):
    properties = prepare("4.4.0", change, tmp_path)
    first, second, *_ = kcli("startup", "-o", "table", "--server-config", properties).stdout.splitlines()
    assert first.startswith("Broker 1 would start (Kafka 4.4): ")
    assert second.startswith(starts)
    shown = kcli("check", "-o", "table", "--server-config", properties).stdout
    assert shown.startswith(f"A start would {checks}")


@pytest.mark.parametrize(
    ("base", "change", "reason", "said"),
    [
        ("4.4.0", "metadata log of NUL bytes", "nothing but NUL bytes (3995)", "at byte offset 0."),
        ("4.4.0", "metadata log empty", "an empty file", "marked stray and renamed"),
        ("4.4.0", "metadata log file gone", "no .log file", "marked stray and renamed"),
        ("4.4.0", "metadata log cut in half", "ends at offset 25, it ended at 57", "at byte offset 1964."),
        ("4.4.0", "metadata log with NUL bytes for its second half", "is damaged or cut", "Found invalid"),
        ("4.3.1-snapshot", "metadata log of NUL bytes", "ends at offset 57 is left", "at byte offset 0."),
    ],
)
def test_the_first_lines_name_what_a_metadata_log_has_lost(kcli, tmp_path: Path, base, change, reason, said):
    """`startup` and `check` name the file, what server.log says, and what to put back."""
    properties = prepare(base, change, tmp_path)
    answer = ask("startup", "--server-config", properties)[0]
    broker = next(row for row in answer["rows"] if "partitions_by_outcome" in row)
    assert broker["cause_path"].startswith(f"{tmp_path}/d0/__cluster_metadata-0")
    assert reason in broker["reason"]
    assert said in broker["server_log"]
    assert "put back __cluster_metadata-0" in broker["remedy"]
    strays = [finding for finding in answer["findings"] if finding["code"] == "START-013"]
    assert all(finding["message"].endswith("has lost records (START-014)") for finding in strays)
    assert bool(strays) == (base == "4.4.0")
    shown = " ".join(kcli("check", "-o", "table", "--server-config", properties).stdout.split())
    assert shown.index(reason) < shown.index("RESULT")


ORDERS_0 = f"orders-0.{UNIQUE}-stray"


def renamed(root: Path) -> None:
    (root / "d0" / "orders-0").rename(root / "d0" / ORDERS_0)


def emptied(root: Path) -> None:
    renamed(root)
    for path in shutil.copytree(root / "d0" / ORDERS_0, root / "d0" / "orders-0").glob("0*"):
        path.write_bytes(b"")


def without_metadata(root: Path) -> None:
    """As the morning after a start without the metadata log: the new one has no topic, all logs are stray."""
    shutil.rmtree(root / "d0" / METADATA)
    renamed(root)


def deleted(root: Path) -> None:
    CHANGES["topic deleted"](root)
    (root / "d0" / "events-1").rename(root / "d0" / f"events-1.{UNIQUE}-stray")


@pytest.mark.parametrize(
    ("change", "lost", "reason"),
    [
        (renamed, RECORDS + 1, "the metadata assigns the replica to this broker: stop the broker"),
        (emptied, RECORDS + 1, "once the one of this name is moved away"),
        (without_metadata, RECORDS + 1, "put the metadata log back"),
        (CHANGES["-stray beside its current log"], 0, "has all offsets up to its end"),
        (deleted, 0, "a former replica: the topic was deleted"),
    ],
)
def test_what_lies_in_a_stray_directory_is_no_partition(kcli, tmp_path: Path, change, lost, reason):
    properties = prepare("4.4.0", "healthy", tmp_path)
    change(tmp_path)
    answer = ask("startup", "--server-config", properties)[0]
    (row,) = (row for row in answer["rows"] if str(row.get("dir")).endswith(f"{UNIQUE}-stray"))
    assert (row["outcome"], row["records_lost"]) == ("stray", lost)
    assert reason in row["reason"]
    assert {entry["action"] for entry in row["files"]} <= {"keep", "truncate", "create", "rewrite"}
    shown = " ".join(kcli("startup", "-o", "table", "--server-config", properties).stdout.split())
    assert (f"1 replica lies in a -stray directory ({lost} records)" in shown) == bool(lost)
    for command in ("startup", "check"):
        document, status = ask(command, "--server-config", properties)
        left = [finding for finding in document["findings"] if finding["code"] == "START-024"]
        assert [finding["dir"] for finding in left] == ([row["dir"]] if lost else []), command
        assert status == 1 or not lost, command
    assert kcli("startup", row["dir"]).exit_code == int(bool(lost))


def test_a_copy_of_a_log_dir_beside_it_lends_no_metadata_log(tmp_path: Path):
    """A backup beside a log dir that lost its metadata log: the broker does not read there."""
    properties = prepare("4.3.1", "healthy", tmp_path)
    shutil.copytree(tmp_path / "d0", tmp_path / "d0.bak")
    shutil.rmtree(tmp_path / "d0" / "__cluster_metadata-0")
    for inputs in (("--server-config", properties), (tmp_path / "d0", tmp_path / "d1"), (tmp_path / "d0",)):
        broker = ask("startup", *inputs)[0]["rows"][0]
        assert broker["metadata_path"] is None
    older = ask("startup", tmp_path / "d1")[0]["rows"][0]  # of which no copy is here
    assert older["metadata_path"] == f"{tmp_path}/d0.bak/__cluster_metadata-0"


def test_a_replica_that_begins_empty_beside_its_stray_directory_is_renamed_back(tmp_path: Path):
    properties = prepare("4.4.0", "healthy", tmp_path)
    renamed(tmp_path)
    findings = ask("check", "--server-config", properties)[0]["findings"]
    (empty,) = (finding["message"] for finding in findings if finding["code"] == "START-019")
    assert f"with the broker stopped rename {tmp_path}/d0/{ORDERS_0} to orders-0" in empty


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.symlink_to("nowhere"), "a symbolic link that leads nowhere"),
        (Path.touch, "a regular file"),
    ],
)
def test_a_log_dir_goes_offline_where_a_directory_cannot_be_made(kcli, tmp_path: Path, make, said):
    """As 4.3.1 did: Error while creating log for orders-1, and d1 offline with all its replicas."""
    properties = prepare("4.3.1", "healthy", tmp_path)
    shutil.rmtree(tmp_path / "d1" / "orders-1")
    make(tmp_path / "d1" / "orders-1")
    broker, *rows = started(properties)
    assert broker["outcome"] == "starts-degraded"
    assert broker["reason"].startswith(f"Error while creating log for orders-1 in dir {tmp_path}/d1:")
    assert said in broker["reason"]
    offline = {f"{row['topic']}-{row['partition']}" for row in rows if row["outcome"] == "not-started"}
    assert "orders-1" in offline and len(offline) > 1
    done = kcli("check", "-o", "json", "--server-config", properties)
    assert (done.exit_code, "START-010" in done.stdout, "START-019" in done.stdout) == (1, True, False)


def test_a_log_without_a_topic_id_gets_that_of_its_name_before_3_7(tmp_path: Path):
    """As 3.5.2 did: partition.metadata was there after the start."""
    properties = prepare("3.5.2", "partition.metadata missing", tmp_path)
    whole = (tmp_path / "d0" / "events-1" / "partition.metadata").stat().st_size
    rows = [row for row in started(properties, "3.5") if row.get("topic") == "orders"]
    (made,) = (entry for row in rows for entry in row["files"] if entry["action"] == "create")
    assert (made["file"], made["size_after"]) == ("partition.metadata", whole)


@pytest.mark.parametrize(("voters", "asks"), [("1,2", "1 of 2 here"), ("1,2,3", "1 of 3 here"), ("1", "")])
def test_a_node_of_a_quorum_starts_if_a_majority_answers(kcli, tmp_path: Path, voters, asks):
    properties = prepare("4.3.1", "healthy", tmp_path)
    named = ",".join(f"{voter}@localhost:{voter}" for voter in voters.split(","))
    properties.write_text(f"{properties.read_text()}controller.quorum.voters={named}\n")
    shown = " ".join(kcli("startup", "-o", "table", "--server-config", properties).stdout.split())
    condition = f", if a majority of its voters answers: {asks}." if asks else ": "
    assert shown.startswith(f"Broker 1 would start (Kafka 4.4){condition}")
    (broker, *_) = started(properties)
    assert broker["voters"] == [int(voter) for voter in voters.split(",")]


def test_a_controller_alone_opens_no_partition(kcli, tmp_path: Path):
    properties = prepare("4.3.1", "controller alone", tmp_path)
    (tmp_path / "d0" / "orders-0" / "partition.metadata").unlink()
    broker, *rows = started(properties)
    assert broker["outcome"] == "starts"
    assert {row["topic"] for row in rows if row["outcome"] == "loads"} == {"__cluster_metadata"}
    assert {row["reason"] for row in rows if row["outcome"] != "loads"} == {broker["reason"]}
    assert kcli("startup", "--server-config", properties).exit_code == 0
    found = ask("check", "--server-config", properties)[0]["findings"]
    assert not {"START-009", "START-012", "START-013"} & {finding["code"] for finding in found}


@pytest.mark.parametrize(
    ("change", "release", "log_line"),
    [
        ("no process.roles", "4.0", 'Missing required configuration "process.roles"'),
        ("no process.roles", "3.9", "Missing required configuration `zookeeper.connect`"),
        ("no node.id", "4.4", 'Missing required configuration "node.id"'),
        ("no node.id", "3.9", "Missing configuration `node.id` which is required"),
        ("other broker.id", "4.3", "You must set `node.id` to the same value"),
        ("other broker.id", "4.4", "`node.id` and `broker.id` must be set to the same"),
        ("broker among the voters", "4.3", "the node id 1 must not be included in the set of voters"),
        ("other node.id configured", "4.3", "Stored node id 1 doesn't match previous node id 7"),
        ("volume with lost+found alone", "4.3", "No `meta.properties` found in"),
    ],
)
def test_what_kafka_config_refuses_is_in_the_words_of_the_release(tmp_path, change, release, log_line):
    properties = prepare("3.9.2", change, tmp_path)
    broker, *rows = started(properties, release)
    assert (broker["outcome"], log_line in broker["server_log"]) == ("fails", True), broker["server_log"]
    assert broker["remedy"]
    assert ("bring its volume back" in broker["remedy"]) == change.startswith("volume")
    assert {row["outcome"] for row in rows} == {"not-started"}


@pytest.mark.parametrize(("migrates", "outcome"), [("false", "fails"), ("true", "starts")])
def test_a_broker_of_zookeeper_reads_no_meta_properties_of_kraft(tmp_path: Path, migrates, outcome):
    """As 3.5.2 and 3.9.2 did, once they had a ZooKeeper."""
    properties = prepare("3.9.2", "no process.roles", tmp_path)
    settings = f"zookeeper.connect=localhost:1\nzookeeper.metadata.migration.enable={migrates}\n"
    properties.write_text(properties.read_text() + settings)
    broker = started(properties, "3.9")[0]
    assert broker["outcome"] == outcome
    log_line = "RuntimeException: Found unexpected version in"
    assert (outcome == "starts") or broker["server_log"].startswith(log_line)


def test_the_reason_of_an_offline_log_dir_is_that_of_each_release(kcli, tmp_path: Path):
    properties = prepare("3.9.2", "recovery-point of NUL bytes in d1", tmp_path)
    document, _ = ask("startup", "--releases", "--server-config", properties)
    rows = {row["kafka_version"]: row for row in document["rows"]}
    assert rows["4.3"]["outcome"] == "starts-degraded"
    assert rows["4.3"]["cause_path"] == f"{tmp_path}/d1/recovery-point-offset-checkpoint"
    assert rows["4.3"]["reason"]
    shown = " ".join(
        kcli("startup", "--releases", "-o", "table", "--server-config", properties).stdout.split()
    )
    assert "a log dir goes offline: d1/recovery-point-offset-checkpoint: nothing but NUL bytes (" in shown


def test_records_behind_the_log_end_of_a_damaged_index_are_counted(tmp_path: Path):
    """As 4.3.1 did: the log end was 0, and the batch of 24 records was still in the file."""
    properties = prepare("4.3.1", "healthy", tmp_path)
    orders = tmp_path / "d1" / "orders-1"
    (orders / LOG.replace(".log", ".index")).write_bytes(b"\1" * 13)
    broker, *rows = started(properties)
    (row,) = (row for row in rows if row["dir"] == str(orders))
    assert (row["log_end_offset"], row["records_lost"], broker["records_lost"]) == (0, RECORDS, RECORDS)


def test_what_no_file_has_any_more_is_said_with_its_offsets(kcli, tmp_path: Path):
    properties = prepare("4.3.1", "healthy", tmp_path)
    (tmp_path / "d1" / "orders-1" / LOG).write_bytes(b"")
    shown = " ".join(kcli("startup", "-o", "table", "--server-config", properties).stdout.split())
    loss = f"it was flushed up to offset {RECORDS}, and its files end at 0: at most {RECORDS} records."
    assert f"lost by this start: of orders-1 an unknown number: {loss}" in shown


CONTROLLER = "process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:1\nlog.dirs={}/d0\n"


@pytest.mark.parametrize("is_used", [True, False])
def test_a_controller_that_ran_has_lost_a_metadata_log_that_is_gone(tmp_path: Path, is_used):
    """The lock file of a node stays; one that has just been formatted has none."""
    prepare("4.3.1", "healthy", tmp_path)
    shutil.move(tmp_path / "d1", tmp_path / "other")
    for path in (tmp_path / "d0").iterdir():
        if path.name not in {"meta.properties", "bootstrap.checkpoint"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if is_used:
        (tmp_path / "d0" / ".lock").touch()
    properties = tmp_path / "controller.properties"
    properties.write_text(CONTROLLER.format(tmp_path))
    for command in ("startup", "check"):
        document, status = ask(command, "--server-config", properties)
        lost = [finding for finding in document["findings"] if finding["code"] == "START-014"]
        assert (status, len(lost)) == (int(is_used), int(is_used)), command
        assert all("the metadata of the cluster is gone; to do: " in finding["message"] for finding in lost)


def test_the_metadata_of_other_nodes_says_that_a_voter_lacks_its_own(tmp_path: Path):
    for name in ("voter", "other"):
        prepare("4.3.1", "healthy", tmp_path / name)
    shutil.rmtree(tmp_path / "voter" / "d0" / METADATA)
    meta = tmp_path / "other" / "d0" / "meta.properties"
    for path in (meta, tmp_path / "other" / "d1" / "meta.properties"):
        path.write_text(path.read_text().replace("node.id=1", "node.id=2"))
    paths = [tmp_path / name / log_dir for name in ("voter", "other") for log_dir in ("d0", "d1")]
    findings = ask("startup", *paths)[0]["findings"]
    lost = [finding for finding in findings if finding["code"] == "START-014"]
    places = [(finding["dir"], "the whole quorum" in finding["message"]) for finding in lost]
    assert places == [(str(paths[0]), True)]


def test_a_node_of_a_quorum_fetches_the_metadata_that_it_has_lost(kcli, tmp_path: Path):
    """Its loader opens no log before it has what the quorum has committed: nothing becomes stray."""
    prepare("4.4.0", "metadata log empty", tmp_path)
    path = tmp_path / "d0" / "__cluster_metadata-0" / "quorum-state"
    path.write_text(path.read_text().replace('[{"voterId":1}]', '[{"voterId":1},{"voterId":2}]'))
    for command in ("startup", "check", "ls"):
        answer = kcli(command, "-o", "json", tmp_path / "d0", tmp_path / "d1")
        assert (answer.exit_code, "START-013" in answer.stdout) == (0, False), command
    answer = ask("startup", tmp_path / "d0", tmp_path / "d1")[0]
    broker = next(row for row in answer["rows"] if "partitions_by_outcome" in row)
    assert (broker["outcome"], broker["metadata_path"]) == ("starts", None)
    assert "fetches it again from the quorum" in broker["reason"]


def test_every_change_was_tried():
    assert {change for _, _, change in RECORDED} == set(CHANGES)
