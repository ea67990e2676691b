"""Names: of every kind of file, of partition directories as Kafka parses them, anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import names
from formats.names import (
    FileName,
    PartitionDir,
    parse_file,
    parse_partition_dir,
)
from tests.formats.files import answers, units

UUID = "gNOrn_3qSiC_LYtsZ8Qmnw"
HEX = "1cfd11da495b4906b6e2ccb9d1464735"
ZERO = "00000000000000000000"

FILES = [
    (f"{ZERO}.log", names.LOG, "partition", 0, "", None, None, True),
    (f"{ZERO}.index", names.OFFSET_INDEX, "partition", 0, "", None, None, True),
    (f"{ZERO}.timeindex", names.TIME_INDEX, "partition", 0, "", None, None, True),
    (f"{ZERO}.txnindex", names.TXN_INDEX, "partition", 0, "", None, None, True),
    ("00000000000000000042.snapshot", names.PRODUCER_SNAPSHOT, "partition", 42, "", None, None, True),
    ("09223372036854775807.log", names.LOG, "partition", 2**63 - 1, "", None, None, True),
    (f"{ZERO}.log.deleted", names.LOG, "partition", 0, ".deleted", None, None, True),
    (f"{ZERO}.snapshot.deleted", names.PRODUCER_SNAPSHOT, "partition", 0, ".deleted", None, None, True),
    (f"{ZERO}.index.cleaned", names.OFFSET_INDEX, "partition", 0, ".cleaned", None, None, True),
    (f"{ZERO}.timeindex.swap", names.TIME_INDEX, "partition", 0, ".swap", None, None, True),
    ("42.log", names.LOG, "partition", 42, "", None, None, False),
    ("-5.log", names.LOG, "partition", -5, "", None, None, False),
    ("+0000000000000000042.log", names.LOG, "partition", 42, "", None, None, False),
    ("00000000000000000042-0000000003.checkpoint", names.KRAFT_SNAPSHOT, "partition", 42, "", 3, None, True),
    (
        "00000000000000000042-0000000003 (1).checkpoint",
        names.KRAFT_SNAPSHOT,
        "partition",
        42,
        "",
        3,
        None,
        False,
    ),
    ("00000000000000000042_0000000003.checkpoint", names.KRAFT_SNAPSHOT, "partition", 42, "", 3, None, False),
    (
        "00000000000000000042-0000000003-12345.checkpoint.part",
        names.KRAFT_SNAPSHOT,
        "partition",
        42,
        ".part",
        3,
        None,
        True,
    ),
    (
        "00000000000000000042-0000000003.checkpoint.deleted",
        names.KRAFT_SNAPSHOT,
        "partition",
        42,
        ".deleted",
        3,
        None,
        True,
    ),
    ("bootstrap.checkpoint", names.KRAFT_SNAPSHOT, "well-known", None, "", None, None, True),
    (f"54_{UUID}.index", names.OFFSET_INDEX, "remote-log-index-cache", 54, "", None, UUID, True),
    (
        "0__-AAAAAAAAAAAAAAAAAAAA.txnindex",
        names.TXN_INDEX,
        "remote-log-index-cache",
        0,
        "",
        None,
        "_-AAAAAAAAAAAAAAAAAAAA",
        True,
    ),
    (f"54_{UUID}.timeindex.tmp", names.TIME_INDEX, "remote-log-index-cache", 54, ".tmp", None, UUID, True),
    (
        f"54_{UUID}.txnindex.deleted",
        names.TXN_INDEX,
        "remote-log-index-cache",
        54,
        ".deleted",
        None,
        UUID,
        True,
    ),
    (f"054_{UUID}.index", names.OFFSET_INDEX, "remote-log-index-cache", 54, "", None, UUID, False),
    (f"{ZERO}-{UUID}.log", names.LOG, "local-tiered-storage", 0, "", None, UUID, True),
    (
        f"{ZERO}-{UUID}.leader_epoch_checkpoint",
        names.LEADER_EPOCH_CHECKPOINT,
        "local-tiered-storage",
        0,
        "",
        None,
        UUID,
        True,
    ),
    (f"{ZERO}-{UUID}.indexes", names.REMOTE_INDEXES, "local-tiered-storage", 0, "", None, UUID, True),
    (
        f"{ZERO}-{UUID}.rsm-manifest",
        names.SEGMENT_MANIFEST,
        "local-tiered-storage",
        0,
        "",
        None,
        UUID,
        True,
    ),
    (f"{ZERO}-{UUID}.snapshot", names.PRODUCER_SNAPSHOT, "local-tiered-storage", 0, "", None, UUID, True),
    ("x.snapshot", names.PRODUCER_SNAPSHOT, None, None, "", None, None, False),
    (".snapshot", names.PRODUCER_SNAPSHOT, None, None, "", None, None, False),
    ("1 0.old.snapshot", names.PRODUCER_SNAPSHOT, None, None, "", None, None, False),
    ("leader-epoch-checkpoint", names.LEADER_EPOCH_CHECKPOINT, "well-known", None, "", None, None, True),
    (
        "leader-epoch-checkpoint.tmp",
        names.LEADER_EPOCH_CHECKPOINT,
        "well-known",
        None,
        ".tmp",
        None,
        None,
        True,
    ),
    ("recovery-point-offset-checkpoint", names.OFFSET_CHECKPOINT, "well-known", None, "", None, None, True),
    ("log-start-offset-checkpoint", names.OFFSET_CHECKPOINT, "well-known", None, "", None, None, True),
    (
        "replication-offset-checkpoint.tmp",
        names.OFFSET_CHECKPOINT,
        "well-known",
        None,
        ".tmp",
        None,
        None,
        True,
    ),
    ("cleaner-offset-checkpoint", names.OFFSET_CHECKPOINT, "well-known", None, "", None, None, True),
    ("partition.metadata", names.PARTITION_METADATA, "well-known", None, "", None, None, True),
    ("meta.properties", names.META_PROPERTIES, "well-known", None, "", None, None, True),
    ("quorum-state", names.QUORUM_STATE, "well-known", None, "", None, None, True),
    (".kafka_cleanshutdown", names.CLEAN_SHUTDOWN, "well-known", None, "", None, None, True),
    (".lock", names.LOCK, "well-known", None, "", None, None, True),
    ("remote_log_snapshot", names.REMOTE_LOG_SNAPSHOT, "well-known", None, "", None, None, True),
    ("_rlmm_committed_offsets", names.COMMITTED_OFFSETS, "well-known", None, "", None, None, True),
]


@pytest.mark.parametrize("expected", FILES, ids=[case[0] for case in FILES])
def test_files(expected):
    assert parse_file(expected[0]) == (*expected, "")


@pytest.mark.parametrize(
    ("name", "kind", "suffix", "inserted"),
    [
        ("1.2.log", names.LOG, "", ".2"),
        (f"{ZERO}.old.copy.index", names.OFFSET_INDEX, "", ".old.copy"),
        (f"{ZERO}.log.log", names.LOG, "", ".log"),
        (f"{ZERO}.deleted.log", names.LOG, "", ".deleted"),
        (f"{ZERO}.old.log.deleted", names.LOG, ".deleted", ".old"),
        (f"{ZERO}.log.deleted", names.LOG, ".deleted", ""),
        (f"{ZERO}.\n.log", names.LOG, "", ".\n"),
    ],
)
def test_the_last_word_is_the_kind(name, kind, suffix, inserted):
    """LocalLog.isLogFile looks at a name's end, LogFileUtils.offsetFromFileName at what precedes the first
    dot."""
    found = parse_file(name)
    assert (found.kind, found.suffix, found.inserted, found.is_canonical) == (
        kind,
        suffix,
        inserted,
        not inserted,
    )
    assert found.is_inactive == bool(suffix or inserted)


def test_every_kind_is_named_by_some_file():
    tables = (names.EXTENSION_KINDS, names.TIERED_EXTENSION_KINDS, names.WELL_KNOWN_KINDS)
    assert {kind for table in tables for kind in table.values()} == {case[1] for case in FILES}


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        ".log",
        "x.log",
        "x",
        "server.log",
        "1_000.log",
        " 1.log",
        "1 .log",
        "1.log\n",
        "1.LOG",
        "1.log.gz",
        "1.log.deleted.gz",
        "1.log.gz.2",
        "9223372036854775808.log",
        "9" * 5000 + ".log",
        "1.leader_epoch_checkpoint",
        f"_{UUID}.index",
        f"1_{UUID}x.index",
        "1_short.index",
        f"x-{UUID}.log",
        "42-3.checkpoint",
        "0000000000000000004x-0000000003.checkpoint",
        "00000000000000000042-2147483648.checkpoint",
        "00000000000000000042-0000000003.checkpoint.gz",
        "leader-epoch-checkpoint.deleted",
        "my-leader-epoch-checkpoint",
        "offset-checkpoint",
        "\udcff.log",
    ],
)
def test_other_files(name):
    assert parse_file(name) == FileName(name)
    assert parse_file(name).kind == names.UNKNOWN


LONG = "long." + "n" * 208

DIRECTORIES = [
    ("topic-0", PartitionDir("topic", 0)),
    ("my.topic-with-dashes-12", PartitionDir("my.topic-with-dashes", 12)),
    ("dash-7-0", PartitionDir("dash-7", 0)),
    ("__cluster_metadata-0", PartitionDir("__cluster_metadata", 0)),
    ("t--5", PartitionDir("t-", 5)),
    ("t-+5", PartitionDir("t", 5)),
    ("t-005", PartitionDir("t", 5)),
    ("t-2147483647", PartitionDir("t", 2147483647)),
    ("t-delete-0", PartitionDir("t-delete", 0)),
    (f"a.b_c-3.{HEX}-delete", PartitionDir("a.b_c", 3, "delete", HEX)),
    (f"a.b_c-3.{HEX}-stray", PartitionDir("a.b_c", 3, "stray", HEX)),
    (f"a.b_c-3.{HEX}-future", PartitionDir("a.b_c", 3, "future", HEX)),
    ("t-0.x-y-delete", PartitionDir("t", 0, "delete", "x-y")),
    ("not legal-0", PartitionDir("not legal", 0)),
    ("t" * 200 + "-0", PartitionDir("t" * 200, 0)),
    (f"{LONG}-0.{HEX}-delete", PartitionDir(LONG, 0, "delete", HEX, topic_may_be_cut=True)),
    (f"{LONG}-00.{HEX}-stray", PartitionDir(LONG, 0, "stray", HEX, topic_may_be_cut=True)),
    (f"{LONG}-0.{HEX}-future", PartitionDir(LONG, 0, "future", HEX)),
    (f"{LONG[1:]}-0.{HEX}-delete", PartitionDir(LONG[1:], 0, "delete", HEX)),
]


@pytest.mark.parametrize(("name", "expected"), DIRECTORIES)
def test_directories(name, expected):
    assert parse_partition_dir(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "topic",
        "lost+found",
        "remote-log-index-cache",
        "-0",
        "t-",
        "t-x",
        "t-1.5",
        "t-2147483648",
        "t-0-delete",
        "t-0-future",
        "-delete",
        "t-0.-delete",
        "t.x-delete",
        f"t 1-0.{HEX}-delete",
        "t-0.a.b-delete",
        "-0.x-stray",
    ],
)
def test_other_directories(name):
    assert parse_partition_dir(name) is None


def test_directories_as_kafka():
    for data, _, answer in answers("dir"):
        read = parse_partition_dir(data.decode())
        assert ("err" if read is None else f"ok {units(read.topic)} {read.partition}") == answer, data


def test_longest_capped_name_is_what_a_broker_writes():
    suffix = f"-0.{HEX}-delete"
    assert len(LONG + suffix) == names.LONGEST_DIRECTORY_NAME


@given(st.text(max_size=40) | st.text("0123456789-._adeglorty", max_size=60))
def test_any_name(name):
    assert parse_file(name).name == name
    parse_partition_dir(name)


@given(
    st.text("ab.-_9", min_size=1, max_size=20),
    st.integers(0, 2**31 - 1),
    st.sampled_from(["delete", "stray", "future"]),
)
def test_round_trip(topic, partition, kind):
    assert parse_partition_dir(f"{topic}-{partition}") == PartitionDir(topic, partition)
    assert parse_partition_dir(f"{topic}-{partition}.{HEX}-{kind}") == PartitionDir(
        topic, partition, kind, HEX
    )


@pytest.mark.slow
def test_long_hostile_names_are_quick():
    for name in (
        "-." * 50_000 + " -delete",
        "0" * 100_000 + ".log" + ".deleted" * 10_000 + "x",
        "-" * 100_000,
    ):
        parse_file(name)
        parse_partition_dir(name)


@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("87.log", f"{87:020d}.log"),
        ("+87.old.index", f"{87:020d}.index"),
        ("\u0668\u0667.timeindex", f"{87:020d}.timeindex"),
        (f"{87:021d}.txnindex", f"{87:020d}.txnindex"),
        ("-1.log", f"-{1:020d}.log"),
        ("9223372036854775807.log", "09223372036854775807.log"),
        ("87.snapshot", f"{87:020d}.snapshot"),
        ("87.log.swap", None),
        ("x.log", None),
        ("87", None),
    ],
)
def test_the_name_that_a_broker_opens(name, opened):
    """LogFileUtils.logFile, of the offset that offsetFromFileName reads."""
    assert names.canonical_name(name) == opened


def test_what_a_broker_opens_under_another_name_is_aside():
    aside = {
        name: parse_file(name).is_inactive
        for name in ("87.log", "+87.index", f"-{1:020d}.log", f"{ZERO}.log", "87.snapshot", "x.snapshot")
    }
    assert [name for name, is_inactive in aside.items() if is_inactive] == ["87.log", "+87.index"]
