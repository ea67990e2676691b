"""Names: of every kind of file, of partition directories as Kafka parses them, anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import names
from formats.names import FileName, PartitionDir, parse_file, parse_partition_dir
from tests.formats.files import answers, units

UUID = "gNOrn_3qSiC_LYtsZ8Qmnw"
HEX = "1cfd11da495b4906b6e2ccb9d1464735"
ZERO = "00000000000000000000"
END = "00000000000000000042-0000000003"
KRAFT = names.KRAFT_SNAPSHOT
LOCAL, KNOWN = "partition", "well-known"
CACHE, TIERED = "remote-log-index-cache", "local-tiered-storage"


def file(name, kind, location, offset=None, suffix="", epoch=None, segment_id=None, is_canonical=True):
    return (name, kind, location, offset, suffix, epoch, segment_id, is_canonical)


FILES = [
    file(f"{ZERO}.log", names.LOG, LOCAL, 0),
    file(f"{ZERO}.index", names.OFFSET_INDEX, LOCAL, 0),
    file(f"{ZERO}.timeindex", names.TIME_INDEX, LOCAL, 0),
    file(f"{ZERO}.txnindex", names.TXN_INDEX, LOCAL, 0),
    file("00000000000000000042.snapshot", names.PRODUCER_SNAPSHOT, LOCAL, 42),
    file("09223372036854775807.log", names.LOG, LOCAL, 2**63 - 1),
    file(f"{ZERO}.log.deleted", names.LOG, LOCAL, 0, suffix=".deleted"),
    file(f"{ZERO}.snapshot.deleted", names.PRODUCER_SNAPSHOT, LOCAL, 0, suffix=".deleted"),
    file(f"{ZERO}.index.cleaned", names.OFFSET_INDEX, LOCAL, 0, suffix=".cleaned"),
    file(f"{ZERO}.timeindex.swap", names.TIME_INDEX, LOCAL, 0, suffix=".swap"),
    file("42.log", names.LOG, LOCAL, 42, is_canonical=False),
    file("-5.log", names.LOG, LOCAL, -5, is_canonical=False),
    file("+0000000000000000042.log", names.LOG, LOCAL, 42, is_canonical=False),
    file(f"{END}.checkpoint", KRAFT, LOCAL, 42, epoch=3),
    file(f"{END} (1).checkpoint", KRAFT, LOCAL, 42, epoch=3, is_canonical=False),
    file("00000000000000000042_0000000003.checkpoint", KRAFT, LOCAL, 42, epoch=3, is_canonical=False),
    file(f"{END}-12345.checkpoint.part", KRAFT, LOCAL, 42, suffix=".part", epoch=3),
    file(f"{END}.checkpoint.deleted", KRAFT, LOCAL, 42, suffix=".deleted", epoch=3),
    file("bootstrap.checkpoint", KRAFT, KNOWN),
    file(f"54_{UUID}.index", names.OFFSET_INDEX, CACHE, 54, segment_id=UUID),
    file("0__-AAAAAAAAAAAAAAAAAAAA.txnindex", names.TXN_INDEX, CACHE, 0, segment_id="_-AAAAAAAAAAAAAAAAAAAA"),
    file(f"54_{UUID}.timeindex.tmp", names.TIME_INDEX, CACHE, 54, suffix=".tmp", segment_id=UUID),
    file(f"54_{UUID}.txnindex.deleted", names.TXN_INDEX, CACHE, 54, suffix=".deleted", segment_id=UUID),
    file(f"054_{UUID}.index", names.OFFSET_INDEX, CACHE, 54, segment_id=UUID, is_canonical=False),
    file(f"{ZERO}-{UUID}.log", names.LOG, TIERED, 0, segment_id=UUID),
    file(f"{ZERO}-{UUID}.leader_epoch_checkpoint", names.LEADER_EPOCH_CHECKPOINT, TIERED, 0, segment_id=UUID),
    file(f"{ZERO}-{UUID}.indexes", names.REMOTE_INDEXES, TIERED, 0, segment_id=UUID),
    file(f"{ZERO}-{UUID}.rsm-manifest", names.SEGMENT_MANIFEST, TIERED, 0, segment_id=UUID),
    file(f"{ZERO}-{UUID}.snapshot", names.PRODUCER_SNAPSHOT, TIERED, 0, segment_id=UUID),
    file("x.snapshot", names.PRODUCER_SNAPSHOT, None, is_canonical=False),
    file(".snapshot", names.PRODUCER_SNAPSHOT, None, is_canonical=False),
    file("1 0.old.snapshot", names.PRODUCER_SNAPSHOT, None, is_canonical=False),
    file("leader-epoch-checkpoint", names.LEADER_EPOCH_CHECKPOINT, KNOWN),
    file("leader-epoch-checkpoint.tmp", names.LEADER_EPOCH_CHECKPOINT, KNOWN, suffix=".tmp"),
    file("recovery-point-offset-checkpoint", names.OFFSET_CHECKPOINT, KNOWN),
    file("log-start-offset-checkpoint", names.OFFSET_CHECKPOINT, KNOWN),
    file("replication-offset-checkpoint.tmp", names.OFFSET_CHECKPOINT, KNOWN, suffix=".tmp"),
    file("cleaner-offset-checkpoint", names.OFFSET_CHECKPOINT, KNOWN),
    file("partition.metadata", names.PARTITION_METADATA, KNOWN),
    file("meta.properties", names.META_PROPERTIES, KNOWN),
    file("quorum-state", names.QUORUM_STATE, KNOWN),
    file(".kafka_cleanshutdown", names.CLEAN_SHUTDOWN, KNOWN),
    file(".lock", names.LOCK, KNOWN),
    file("remote_log_snapshot", names.REMOTE_LOG_SNAPSHOT, KNOWN),
    file("_rlmm_committed_offsets", names.COMMITTED_OFFSETS, KNOWN),
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
    """LocalLog.isLogFile looks at a name's end, LogFileUtils.offsetFromFileName before the first dot."""
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
    (f"{LONG}-0.{HEX}-delete", PartitionDir(LONG, 0, "delete", HEX)),
    (f"{LONG}-00.{HEX}-stray", PartitionDir(LONG, 0, "stray", HEX)),
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
    assert len(LONG + suffix) == 255


@given(st.text(max_size=40) | st.text("0123456789-._adeglorty", max_size=60))
def test_any_name(name):
    assert parse_file(name).name == name
    parse_partition_dir(name)


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
