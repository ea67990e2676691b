"""Small partition directories for tests: batches, indexes, checkpoints, units of work that read them."""

import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from formats.batch import BATCH
from formats.record import batch_records
from kcli.engine.contract import Unit
from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage import valid_batches
from kcli.kafka.storage.loaded_log import Settings
from kcli.logdir import bulk
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection
from tests.builders import put_record, put_records
from tests.rows import named

BROKER = "process.roles=broker\ncontroller.quorum.bootstrap.servers=c:9093\n"
"""The first lines of the server.properties of a broker."""


def put_no_ops(first, count):
    """Return a batch of records that a metadata log may have and that change nothing."""
    records = [put_record(offset_delta=number, value=b"\1\x14\0\0") for number in range(count)]
    return put_records(records, base_offset=first)


def put_range(base, count, epoch=0, timestamp=1000, step=1, codec=0, **fields):
    """Return a batch of `count` records from offset `base` on; timestamps rise by `step` ms."""
    records = [put_record(offset_delta=i, timestamp_delta=i * step, value=b"v%d" % i) for i in range(count)]
    times = {"base_timestamp": timestamp, "max_timestamp": timestamp + max((count - 1) * step, 0), **fields}
    return put_records(records, codec, base_offset=base, partition_leader_epoch=epoch, **times)


def offset_entries(*pairs):
    return b"".join(struct.pack(">ii", *pair) for pair in pairs)


def time_entries(*pairs):
    return b"".join(struct.pack(">qi", *pair) for pair in pairs)


def epoch_lines(*pairs):
    return "".join(["0\n", f"{len(pairs)}\n", *(f"{epoch} {start}\n" for epoch, start in pairs)])


def segment(directory, base, log=b"", index=b"", timeindex=b""):
    """Write the files of a segment; None leaves an index out."""
    directory.mkdir(parents=True, exist_ok=True)
    for extension, data in (("log", log), ("index", index), ("timeindex", timeindex)):
        if data is not None:
            (directory / f"{base:020d}.{extension}").write_bytes(data)


HOLDS_A_LOCK = """
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(root: Path) -> Iterator[int]:
    """Have another process hold the lock of a log dir, as a running broker does; its id."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LOCK, root / ".lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()


def log_dir(root, clean=True, **offsets):
    """Make a log dir of broker 7; `log_start=`, `recovery=`, `watermark=` are offsets of orders-0."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=7\n")
    if clean:
        (root / ".kafka_cleanshutdown").write_text("")
    names = {
        "log_start": "log-start-offset-checkpoint",
        "recovery": "recovery-point-offset-checkpoint",
        "watermark": "replication-offset-checkpoint",
    }
    for word, offset in offsets.items():
        (root / names[word]).write_text(f"0\n1\norders 0 {offset}\n")
    return root


def put_topic_id(directory, topic_id="AAAAAAAAAAAAAAAAAAAAAQ"):
    """Write the partition.metadata that a broker of KRaft has in each partition directory."""
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    return directory


def orders(root, *batches, epochs=((0, 0),), **dir_options):
    """Make orders-0 of one segment at 0 in a log dir that stopped cleanly; return its directory."""
    directory = log_dir(root, **dir_options) / "orders-0"
    segment(directory, 0, b"".join(batches))
    if epochs is not None:
        (directory / "leader-epoch-checkpoint").write_text(epoch_lines(*epochs))
    return directory


def unit(path):
    """Return the unit of the only partition or file that a path leads to."""
    found = find([str(path)], Selection(include_leftovers=True))
    assert not found.failures, found.failures
    (target,) = found.targets
    return Unit(number=0, targets=(target,))


def rows(outcome):
    """Return an outcome's rows as dicts; it must have no error."""
    assert outcome.error is None, outcome.error
    return [named(row) for row in outcome.rows]


def loaded(directory, **fields):
    """Return the log that a start loads: a clean one from 0 on, with an index entry for each batch."""
    settings = Settings(now_ms=1_700_000_000_000, index_interval_bytes=0, max_index_size=1200)
    start = {"clean": True, "recovery_point": 0, "log_start_offset": 0, "settings": settings}
    return load(Partition(unit(directory).target), **{**start, **fields})


def refused(outcome):
    """Return what an outcome says of a log that does not load; an empty text for one that loads."""
    return next((finding.message for finding in outcome.findings if finding.code == "START-008"), "")


def codes(outcome):
    """Return the codes of an outcome's findings."""
    return [finding.code for finding in outcome.findings]


def snapshot(directory: Path):
    """Return name -> bytes of all files of a directory: to show that nothing was touched."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}


def records_of(directory, first):
    """Return what the logs have from an offset on, read batch by batch without any of the code of `dump`."""
    found = []
    for log in sorted(Path(directory).glob("*.log")):
        data, position = log.read_bytes(), 0
        while position < len(data):
            header = BATCH.read(data, position)
            size = 12 + header.batch_length
            for record in batch_records(data[position : position + size], 1 << 20):
                if record.offset >= first:
                    found.append((header, record))
            position += size
    return found


BATCHES = 1200
"""Of a log that is read in pieces."""


def put_log(directory, batches=BATCHES, damaged=()):
    """Write a segment of batches of 20 records (7 KB) with an index entry each; some have a flipped bit."""
    records = [put_record(offset_delta=n, key=b"k%d" % n, value=bytes([65 + n]) * 300) for n in range(20)]
    batch = put_records(records, base_timestamp=1000, max_timestamp=1000)
    data = bytearray(b"".join((20 * n).to_bytes(8, "big") + batch[8:] for n in range(batches)))
    for number in damaged:
        data[number * len(batch) + 100] ^= 1
    segment(
        directory, 0, bytes(data), offset_entries(*((20 * n + 19, n * len(batch)) for n in range(1, batches)))
    )
    return directory


def recover_in_windows(monkeypatch, window=500):
    """Let small logs be recovered as large ones are: a few batches at a time, so many bytes at first."""
    monkeypatch.setattr(valid_batches, "BULK_FROM", 0)
    monkeypatch.setattr(bulk, "SMALLEST_WINDOW", window)
    monkeypatch.setattr(bulk, "EAGER_WINDOW", window)
