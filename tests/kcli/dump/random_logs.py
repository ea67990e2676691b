"""Random logs, small ones, and damaged files."""

from kcli.dump.options import RecordFilter
from tests.builders import put_record, put_records

FILTERS = {
    "offsets": RecordFilter(offsets=(400, 600)),
    "times": RecordFilter(times=(5, 20)),
    "key": RecordFilter(key=b"key"),
    "grep": RecordFilter(grep=b"val|h"),
    "codecs": RecordFilter(codecs=frozenset({"gzip", "none"})),
    "flags": RecordFilter(transactional=False, control=False),
    "all": RecordFilter(offsets=(200, 900), times=(0, 30), key=b"key"),
}


FILES = {
    "00000000000000000000.index": ("segments.index", "segment-1m.index", "preallocated.index", "stale.index"),
    "00000000000000000000.timeindex": (
        "segments.timeindex",
        "segment-1m.timeindex",
        "preallocated.timeindex",
    ),
    "00000000000000000000.txnindex": ("txn.txnindex",),
    "00000000000000000007.snapshot": ("txn.snapshot", "no-producers.snapshot"),
    "leader-epoch-checkpoint": ("leader-epoch-checkpoint",),
    "replication-offset-checkpoint": ("replication-offset-checkpoint",),
    "meta.properties": ("meta.properties",),
    "partition.metadata": ("partition.metadata",),
    "quorum-state": ("quorum-state",),
    ".kafka_cleanshutdown": ("clean-shutdown",),
}
"""Files of a log dir by name, and those that a broker wrote (`tests.formats.files`)."""


def flipped(data):
    """Yield the data with each of its bytes flipped: all bits, the first or the last."""
    for place in range(len(data)):
        yield data[:place] + bytes([data[place] ^ (0xFF, 0x01, 0x80)[place % 3]]) + data[place + 1 :]


def damaged(data):
    """Yield every prefix of the data, and the data with each of its bytes flipped."""
    yield from (data[:size] for size in range(len(data)))
    yield from flipped(data)


def small_log(old):
    """A log of batches of magic 2, plain and compressed, around one of an older magic."""
    plain = put_records([put_record(key=b"k", value=b"v", headers=((b"h", None),))], base_offset=0)
    packed = put_records([put_record(value=b"x" * 30), put_record(offset_delta=1)], codec=1, base_offset=1)
    return plain + packed + old + put_records([put_record()], base_offset=10**9)


def log(chance):
    batches, offset = [], chance.randrange(1000)
    for _ in range(chance.randrange(1, 60)):
        count = chance.choice([0, 1, 1, 3, 20])
        records = [
            put_record(
                offset_delta=number,
                timestamp_delta=chance.randrange(-5, 50),
                key=chance.choice([None, b"", b"key", b"\xff\xed\xa0"]),
                value=chance.choice([None, b"value", "é€".encode(), bytes(chance.randrange(400))]),
                headers=[(b"h", b"x")] * chance.choice([0, 0, 0, 2]),
            )
            for number in range(count)
        ]
        attributes = chance.choice([0, 0, 8, 16, 0x40, 0x20])
        base_sequence = chance.choice([-1, 5, 2**31 - 2])
        batches.append(
            put_records(
                records,
                chance.randrange(5),
                base_offset=offset,
                attributes=attributes,
                base_sequence=base_sequence,
            )
        )
        offset += count + chance.choice([0, 0, 0, 7])
    return batches
