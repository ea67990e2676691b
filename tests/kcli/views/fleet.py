"""Log dirs for Spark: many small batches, large ones, epochs, several segments, damage in a few."""

from formats.compression import LZ4, NONE
from tests.builders import put_record, put_records

CLUSTER_ID = "d4AOWUsZhgy8XcdU-9gSlQ"
START = 1_700_000_000_000
SMALL, LARGE = ("clicks", 1), ("archive", 40)
"""Topics, and how many records each of their batches has."""


def fleet(path, count):
    """Make log dirs and return their paths; each fifth has a flipped byte, each seventh a bad length."""
    dirs = []
    for number in range(count):
        log_dir = path / f"broker-{number:03}"
        log_dir.mkdir(parents=True)
        (log_dir / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={number}\n")
        (log_dir / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
        for topic, records in (SMALL, LARGE):
            for partition in range(2):
                _partition(log_dir / f"{topic}-{partition}", number + partition, records)
        if number % 5 == 4:
            _flip(log_dir / "clicks-0" / f"{0:020}.log", 61 + 3)
        if number % 7 == 6:
            _flip(log_dir / "archive-1" / f"{0:020}.log", 8)
        dirs.append(log_dir)
    return dirs


def _partition(folder, seed, records):
    folder.mkdir()
    offset, epochs = 0, []
    for segment in range(3):
        base, batches = offset, []
        for number in range(6 + seed % 5):
            epoch = segment * 2 + (number > 3)
            if not epochs or epochs[-1][0] < epoch:
                epochs.append((epoch, offset))
            time = START + offset * 1000
            made = [
                put_record(offset_delta=n, timestamp_delta=n, key=b"k%d" % n, value=b"v" * (n + 5))
                for n in range(records)
            ]
            batches.append(
                put_records(
                    made,
                    codec=LZ4 if segment == 1 else NONE,
                    base_offset=offset,
                    partition_leader_epoch=epoch,
                    base_timestamp=time,
                    max_timestamp=time + records - 1,
                    producer_id=1000 + number % 2,
                    producer_epoch=0,
                    base_sequence=0,
                )
            )
            offset += records
        for extension, data in (("log", b"".join(batches)), ("index", b""), ("timeindex", b"")):
            (folder / f"{base:020}.{extension}").write_bytes(data)
    lines = [f"{epoch} {start}" for epoch, start in epochs]
    (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")


def _flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 0x40
    path.write_bytes(data)
