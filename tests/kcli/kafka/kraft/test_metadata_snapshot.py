"""The newest snapshot of the metadata log that is damaged: `check` and `startup` say the same."""

import gzip
import re
import shutil

import pytest

from kcli.kafka.kraft.metadata_snapshot import newest_snapshot_trouble
from tests.commands.answers import ask
from tests.kcli.jobs.starts import does_not_start, will_not_load
from tests.partitions import put_range, segment
from tests.recordings import pack

pytestmark = pytest.mark.slow

SNAPSHOT = gzip.decompress((pack.DATA.parent / "batches" / "snapshot.checkpoint.gz").read_bytes())
OLDER, NEWEST = "00000000000000000040-0000000001.checkpoint", "00000000000000000050-0000000001.checkpoint"
FOOTER = 75
"""Bytes of the last batch."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A log dir with one topic and the metadata log, and two snapshots of another one."""
    root = pack.unpack("single", tmp_path_factory.mktemp("recorded")) / "stopped"
    for path in [*root.iterdir()]:
        if path.is_dir() and path.name not in {"__cluster_metadata-0", "plain-0"}:
            shutil.rmtree(path)
    for name in (OLDER, NEWEST):
        (root / "__cluster_metadata-0" / name).write_bytes(SNAPSHOT)
    return root


@pytest.fixture
def log_dir(recorded, tmp_path):
    return shutil.copytree(recorded, tmp_path / "d0")


def damaged(log_dir, data, name=NEWEST):
    (log_dir / "__cluster_metadata-0" / name).write_bytes(data)


def found(command, log_dir):
    document, status = ask(command, log_dir)
    codes = {"META-008", "START-009", "START-008"}
    findings = [
        (finding["code"], finding["file"], re.split("; (?:server.log|to do): ", finding["message"])[0])
        for finding in document["findings"]
    ]
    # the log goes on from another image than that of the snapshot made here: its records do not fit
    own = [finding for finding in findings if "there is no topic" not in finding[2]]
    return status, sorted(finding for finding in own if finding[0] in codes)


FLIPPED = bytearray(SNAPSHOT)
FLIPPED[len(SNAPSHOT) // 2] ^= 1
CORRUPT = "CorruptRecordException"
NO_SIZE = "a batch of 0 bytes, the smallest has 14"
CRC, EMPTY = "offset 1: the checksum does not match", "there is no batch in the snapshot"
NO_HEADER = "the first batch is no control batch with a record"
HEADER = 12 + int.from_bytes(SNAPSHOT[8:12], "big")
"""Bytes of the first batch."""
SECOND = HEADER + 12 + int.from_bytes(SNAPSHOT[HEADER + 8 : HEADER + 12], "big")
"""Bytes of the first two."""


def of_magic(magic):
    """Return the snapshot with another magic in its second batch, which no checksum covers."""
    data = bytearray(SNAPSHOT)
    data[HEADER + 16] = magic
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message", "exception"),
    [
        pytest.param(bytes(FLIPPED), CRC, CORRUPT, id="a flipped bit"),
        pytest.param(
            b"",
            f"an empty file, as a full disk or a power cut leaves one; {EMPTY}",
            "NoSuchElementException",
            id="empty",
        ),
        pytest.param(SNAPSHOT[:50], EMPTY, "NoSuchElementException", id="half a batch"),
        pytest.param(
            bytes(90),
            f"nothing but NUL bytes (90), as a power cut leaves a file; {NO_SIZE}",
            CORRUPT,
            id="zeros",
        ),
        pytest.param(SNAPSHOT + bytes(12), NO_SIZE, CORRUPT, id="12 zeros"),
        pytest.param(SNAPSHOT + b"garbage " * 9, "no batch has magic 103", CORRUPT, id="a tail of garbage"),
        pytest.param(of_magic(3), "no batch has magic 3", CORRUPT, id="magic 3"),
        pytest.param(of_magic(255), "no batch has magic -1", CORRUPT, id="magic -1"),
        pytest.param(
            of_magic(1),
            "a batch of magic 1, where a record batch is due",
            "IllegalStateException",
            id="magic 1",
        ),
        pytest.param(SNAPSHOT[HEADER:], NO_HEADER, "IllegalStateException", id="no header"),
        pytest.param(
            SNAPSHOT[-FOOTER:],
            "the first record is SNAPSHOT_FOOTER, not SNAPSHOT_HEADER",
            "IllegalStateException",
            id="the footer alone",
        ),
        pytest.param(
            SNAPSHOT[:16],
            "16 bytes, fewer than a batch needs to begin",
            "NullPointerException",
            id="16 bytes",
        ),
    ],
)
def test_the_process_ends_where_the_newest_snapshot_cannot_be_read(kcli, log_dir, data, message, exception):
    damaged(log_dir, data)
    expected = [("META-008", NEWEST, message), ("START-009", NEWEST, f"{exception}: {message}")]
    for command in ("check", "startup"):
        assert found(command, log_dir) == (1, expected)
    assert str(log_dir) in will_not_load(kcli, log_dir) & does_not_start(kcli, log_dir)


@pytest.mark.parametrize("cut", [1, FOOTER, FOOTER + 1])
def test_a_snapshot_without_its_footer_is_loaded_as_far_as_it_goes(kcli, log_dir, cut):
    damaged(log_dir, SNAPSHOT[:-cut])
    expected = [("META-008", NEWEST, "the snapshot has no footer: its end is lost, as after a full disk")]
    for command in ("check", "startup"):
        assert found(command, log_dir) == (1, expected)
    # of the log that goes on from another image a record does not fit: that ends the process
    assert will_not_load(kcli, log_dir) == {str(log_dir)}
    assert does_not_start(kcli, log_dir) == {str(log_dir)}


@pytest.mark.parametrize(
    ("after", "many"),
    [(SNAPSHOT[HEADER:SECOND], "a batch follows"), (SNAPSHOT[HEADER:SECOND] * 2, "2 batches follow")],
)
def test_batches_after_the_footer_are_read_too(log_dir, after, many):
    damaged(log_dir, SNAPSHOT + after + SNAPSHOT[-FOOTER:])
    expected = [("META-008", NEWEST, f"{many} the footer, and the broker reads on")]
    for command in ("check", "startup"):
        assert found(command, log_dir) == (1, expected)


@pytest.mark.parametrize("tail", [SNAPSHOT[-FOOTER:], bytes(11), SNAPSHOT[:16], SNAPSHOT[:50]])
def test_what_the_broker_passes_over_after_the_footer_is_no_damage(log_dir, tail):
    damaged(log_dir, SNAPSHOT + tail)
    for command in ("check", "startup"):
        assert found(command, log_dir)[1] == []


def test_a_snapshot_that_is_not_there_is_passed_over(log_dir):
    path = log_dir / "__cluster_metadata-0" / NEWEST
    path.unlink()
    assert newest_snapshot_trouble(str(path.parent)) is None
    assert newest_snapshot_trouble(str(log_dir / "absent")) is None


def test_older_snapshots_are_not_read(log_dir):
    damaged(log_dir, b"", OLDER)
    for command in ("check", "startup"):
        assert found(command, log_dir)[1] == []


def test_a_copy_with_a_damaged_snapshot_says_so(log_dir, tmp_path):
    """The log begins above the older one: what was before it is in the newest one alone."""
    directory = log_dir / "__cluster_metadata-0"
    damaged(log_dir, bytes(FLIPPED))
    for path in directory.glob(f"{0:020d}.*"):
        path.unlink()
    segment(directory, 45, put_range(45, 10, epoch=1))
    document, status = ask("salvage", directory, "--out", tmp_path / "out")
    found = {finding["code"]: finding["file"] for finding in document["findings"]}
    assert (status, found.get("META-008"), "SALV-004" in found) == (1, NEWEST, False)
    assert (tmp_path / "out" / NEWEST).read_bytes() == FLIPPED
