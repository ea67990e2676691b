"""Makes the files that are measured, once each, in a cache directory.

A process of its own: `python -m tests.bench.make CACHE KIND:AMOUNT...`. A few hundred batches are made record
by record and then repeated, base offsets counted on (they are outside the checksum); so 1 GiB takes seconds.
Every input has a `made.json` with what is in it: the judge of what a scan says.
"""

import hashlib
import itertools
import json
import random
import shutil
import struct
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from formats.batch import BATCH, CRC_FROM
from formats.bounds import LARGEST_BATCH
from formats.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from formats.crc import crc32c
from formats.record import batch_records
from tests.bench.inputs import ALIVE, STAMP, TIERED_PARTITIONS, Facts, Made, Spec, fingerprint, load
from tests.builders import put_batch, put_record, put_records, put_unsigned_varint

START = 1_700_000_000_000
SEGMENT_BYTES = 1 << 30
INDEX_INTERVAL = 4096
CHUNK = 16 << 20
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
RECORDS_PER_BATCH = 100
WORDS = [
    b"amber",
    b"basil",
    b"cedar",
    b"delta",
    b"ember",
    b"fjord",
    b"grove",
    b"hazel",
    b"indigo",
    b"juniper",
]


class Prototype(NamedTuple):
    data: bytes
    records: int


def make(cache: Path, spec: Spec) -> Made:
    """Return an input, made now unless it is there."""
    found = load(cache, spec)
    if found:
        return found
    root = cache / spec.name
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    folder, facts = MAKERS[spec.kind](root, spec.amount)
    (root / STAMP).write_text(json.dumps({"by": fingerprint(), "folder": folder, "facts": facts._asdict()}))
    return Made(root / folder, facts)


def big_batches(chooser: random.Random) -> list[Prototype]:
    """Batches of about 18 KB, 20 records of noise."""
    return [_noise(chooser, chooser.randint(17_500, 18_900), 20) for _ in range(16)]


def tiny_batches(chooser: random.Random) -> list[Prototype]:
    """Batches of about 180 bytes, one record of noise."""
    return [_noise(chooser, chooser.randint(160, 200), 1) for _ in range(64)]


def _noise(chooser: random.Random, size: int, count: int) -> Prototype:
    value = (size - 61) // count - 10
    records = [
        put_record(offset_delta=i, timestamp_delta=i, value=chooser.randbytes(value)) for i in range(count)
    ]
    return Prototype(
        put_batch(b"".join(records), count, base_timestamp=START, max_timestamp=START + count - 1), count
    )


def text_batches(chooser: random.Random, codec: str, batches: int = 400) -> list[Prototype]:
    """Batches of 100 records: keys of 9 bytes, values of about 100 bytes of words, so that codecs have
    something to do."""
    made = []
    for batch in range(batches):
        records = []
        for i in range(RECORDS_PER_BATCH):
            value = b" ".join(chooser.choices(WORDS, k=16)) + b" %d" % (batch * RECORDS_PER_BATCH + i)
            records.append(
                put_record(
                    offset_delta=i,
                    timestamp_delta=i,
                    key=b"key-%05d" % chooser.randrange(100_000),
                    value=value,
                )
            )
        base = START + batch * RECORDS_PER_BATCH
        fields = {
            "base_timestamp": base,
            "max_timestamp": base + RECORDS_PER_BATCH - 1,
            "last_offset_delta": RECORDS_PER_BATCH - 1,
        }
        made.append(Prototype(put_records(records, CODECS[codec], **fields), RECORDS_PER_BATCH))
    return made


def repeat(
    folder: Path,
    prototypes: Sequence[Prototype],
    *,
    size: int | None = None,
    batches: int | None = None,
    segment_bytes: int = SEGMENT_BYTES,
    chunk_bytes: int = CHUNK,
) -> Facts:
    """Write segments of whole batches, prototypes in turn, offsets from 0 on.

    At most `size` bytes, or so many batches. Beside each segment is its offset index, an entry about
    every 4 KB as a broker makes it.
    """
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    lengths = np.array([len(prototype.data) for prototype in prototypes])
    counts = np.array([prototype.records for prototype in prototypes])
    group = b"".join(prototype.data for prototype in prototypes)
    times = max(1, chunk_bytes // len(group))
    chunk = np.frombuffer(group * times, np.uint8).copy()
    lengths, counts = np.tile(lengths, times), np.tile(counts, times)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    bases = np.cumsum(counts) - counts
    written = done = records = first = 0
    at = segment_bytes  # full: the first is begun
    with ExitStack() as files:
        while True:
            fits = len(lengths) if batches is None else min(len(lengths), batches - done)
            if size is not None:
                fits = min(fits, int(np.searchsorted(ends, size - written, side="right")))
            if fits <= 0:
                return Facts(written, done, records, records - 1)
            take = min(fits, int(np.searchsorted(ends, segment_bytes - at, side="right")))
            if not take:
                files.close()
                log, index = (
                    files.enter_context((folder / f"{records:020}.{kind}").open("wb"))
                    for kind in ("log", "index")
                )
                at, first = 0, records
                continue
            offsets = records + bases[:take]
            column = _big_endian(offsets)
            for byte in range(8):
                chunk[starts[:take] + byte] = column[:, byte]
            length = int(ends[take - 1])
            log.write(chunk[:length].data)
            index.write(index_entries(at + starts[:take], offsets + counts[:take] - 1 - first))
            at, written, done = at + length, written + length, done + take
            records += int(counts[:take].sum())


def index_entries(positions, last_offsets) -> bytes:
    """Return the entries of batches at these positions, relative last offsets.

    Where 4 KB are full, never the first of a segment.
    """
    import numpy as np

    here = positions // INDEX_INTERVAL
    before = np.concatenate([[here[0] if positions[0] == 0 else -1], here[:-1]])
    entries = np.empty((int((here != before).sum()), 2), ">i4")
    entries[:, 0], entries[:, 1] = last_offsets[here != before], positions[here != before]
    return entries.tobytes()


def make_big(root: Path, size: int) -> tuple[str, Facts]:
    return "big-0", repeat(root / "big-0", big_batches(random.Random(1)), size=size)


def make_tiny(root: Path, size: int) -> tuple[str, Facts]:
    return "tiny-0", repeat(root / "tiny-0", tiny_batches(random.Random(2)), size=size)


def make_records(codec: str, root: Path, records: int) -> tuple[str, Facts]:
    batches = max(1, records // RECORDS_PER_BATCH)
    return "records-0", repeat(
        root / "records-0", text_batches(random.Random(3), codec, min(400, batches)), batches=batches
    )


def make_commits(root: Path, records: int) -> tuple[str, Facts]:
    """Write a partition of __consumer_offsets: batches of five commits of a group, as clients send them."""
    chooser = random.Random(5)
    folder = root / "__consumer_offsets-0"

    def commit(i: int) -> bytes:
        group = b"group-%04d" % chooser.randrange(1000)
        key = (
            struct.pack(">hh", 1, len(group))
            + group
            + struct.pack(">h", 6)
            + b"orders"
            + struct.pack(">i", i)
        )
        value = struct.pack(">hqihq", 3, chooser.randrange(1 << 40), 7, 0, START + i)
        return put_record(offset_delta=i, timestamp_delta=i, key=key, value=value)

    fields = {"base_timestamp": START, "max_timestamp": START + 4, "last_offset_delta": 4}
    prototypes = [
        Prototype(put_records([commit(i) for i in range(5)], NONE, **fields), 5) for _ in range(400)
    ]
    return folder.name, repeat(folder, prototypes, batches=records // 5)


def make_partitions(root: Path, count: int) -> tuple[str, Facts]:
    """Write a cleanly stopped log dir of `count` partitions: five epochs, one segment of one batch."""
    data = put_records(
        [put_record(value=b"x" * 20)],
        base_offset=100,
        partition_leader_epoch=5,
        base_timestamp=START,
        max_timestamp=START,
    )
    checkpoint = "\n".join(["0", "5", *(f"{epoch} {epoch * 20}" for epoch in range(1, 6))]) + "\n"
    for number in range(count):
        partition = root / "data" / f"topic-{number}"
        partition.mkdir(parents=True)
        for name, content in (
            (f"{100:020}.log", data),
            (f"{100:020}.index", b""),
            (f"{100:020}.timeindex", b""),
        ):
            (partition / name).write_bytes(content)
        (partition / "leader-epoch-checkpoint").write_text(checkpoint)
    (root / "data" / "meta.properties").write_text(
        "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n"
    )
    (root / "data" / ".kafka_cleanshutdown").write_text("")
    return "data", Facts(count * len(data), count, count, 100)


def make_small(root: Path, batches: int) -> tuple[str, Facts]:
    """Write a partition of epoch 5, one small segment, an index of an entry every 50 batches.

    One question's worth.
    """
    folder = root / "small-0"
    folder.mkdir()
    fields = {"partition_leader_epoch": 5, "base_timestamp": START, "max_timestamp": START}
    data = [put_records([put_record(value=b"x" * 40)], base_offset=i, **fields) for i in range(batches)]
    (folder / f"{0:020}.log").write_bytes(b"".join(data))
    (folder / f"{0:020}.index").write_bytes(
        b"".join(struct.pack(">ii", i, i * len(data[0])) for i in range(50, batches, 50))
    )
    (folder / f"{0:020}.timeindex").write_bytes(b"")
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n5 0\n")
    return "small-0", Facts(sum(map(len, data)), batches, batches, batches - 1)


# the fields of an event that differ from one to the next, by values that occur nowhere else in it
SEGMENT_ID = b"\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8"
FIRST, LAST, WRITTEN = b"\xc1first!\xc1", b"\xc2last!!\xc2", b"\xc3time!!\xc3"
OFFSETS_PER_SEGMENT = 1000


def event_batches() -> list[bytes]:
    """The life of a remote log segment: copy started and finished, delete started and finished.

    A batch each.
    """
    topic = put_unsigned_varint(7) + b"orders" + bytes(range(1, 17)) + struct.pack(">i", 3) + b"\0"
    segment = topic + SEGMENT_ID + b"\0"
    epochs = put_unsigned_varint(2) + struct.pack(">i", 4) + FIRST + b"\0"
    added = (
        b"\x01\0\0"
        + segment
        + FIRST
        + LAST
        + struct.pack(">i", 1)
        + WRITTEN * 2
        + epochs
        + struct.pack(">i", 1 << 20)
        + b"\0\0\0"
    )
    updated = [
        b"\x01\x01\0" + segment + struct.pack(">i", 1) + WRITTEN + b"\0" + bytes([state]) + b"\0"
        for state in (1, 2, 3)
    ]
    stamp = int.from_bytes(WRITTEN, "big", signed=True)
    return [
        put_records([put_record(value=value)], base_timestamp=stamp, max_timestamp=stamp)
        for value in (added, *updated)
    ]


def make_events(root: Path, events: int) -> tuple[str, Facts]:
    """Write a partition of remote log metadata, every event a batch of its own, as brokers write them.

    No two alike.
    """
    import numpy as np

    folder = root / "__remote_log_metadata-0"
    folder.mkdir()
    batches = event_batches()
    group = b"".join(batches)
    ends = np.cumsum([len(batch) for batch in batches])
    lives, per_chunk, noise = events // len(batches), max(1, CHUNK // len(group)), np.random.default_rng(4)
    crc_at = BATCH.span("crc")[0]
    with (folder / f"{0:020}.log").open("wb") as log, (folder / f"{0:020}.index").open("wb") as index:
        for life in range(0, lives, per_chunk):
            count = min(per_chunk, lives - life)
            number = np.arange(life, life + count)
            table = np.tile(np.frombuffer(group, np.uint8), (count, 1))
            identity = noise.integers(0, 256, (count, 16), np.uint8)
            _fill(table, group, SEGMENT_ID, identity)
            _fill(table, group, FIRST, _big_endian(number * OFFSETS_PER_SEGMENT))
            _fill(table, group, LAST, _big_endian((number + 1) * OFFSETS_PER_SEGMENT - 1))
            for step, (batch, end) in enumerate(zip(batches, ends, strict=True)):
                part = table[:, end - len(batch) : end]
                _fill(part, batch, WRITTEN, _big_endian(START + number * len(batches) + step))
                part[:, :8] = _big_endian(number * len(batches) + step)
                content = np.ascontiguousarray(part[:, CRC_FROM:])
                checksums = np.fromiter((crc32c(row) for row in content), ">u4", count)
                part[:, crc_at : crc_at + 4] = checksums.view(np.uint8).reshape(-1, 4)
            log.write(table.data)
            positions = (number[:, None] * len(group) + (ends - [len(batch) for batch in batches])).ravel()
            index.write(
                index_entries(positions, (number[:, None] * len(batches) + np.arange(len(batches))).ravel())
            )
    total = lives * len(batches)
    return folder.name, Facts(lives * len(group), total, total, total - 1)


def make_lives(codec: str, records: int, root: Path, events: int) -> tuple[str, Facts]:
    """Write a partition of remote log metadata: segments of many partitions are copied and, later, deleted.

    With so many records in each batch.
    """
    parts = [_only_value(batch)[0] for batch in event_batches()]
    topics = [b"\x07orders" + bytes([number]) * 16 for number in range(TIERED_PARTITIONS)]
    usual = b"\x07orders" + bytes(range(1, 17))

    def event(step: int, life: int, number: int) -> bytes:
        turn, partition = divmod(life, TIERED_PARTITIONS)
        value = parts[step].replace(usual, topics[partition])
        value = value.replace(
            SEGMENT_ID, hashlib.md5(life.to_bytes(8, "big"), usedforsecurity=False).digest()
        )
        value = value.replace(FIRST, (turn * OFFSETS_PER_SEGMENT).to_bytes(8, "big"))
        value = value.replace(LAST, ((turn + 1) * OFFSETS_PER_SEGMENT - 1).to_bytes(8, "big"))
        return value.replace(WRITTEN, (START + number).to_bytes(8, "big"))

    def steps():
        for life in itertools.count():
            yield from ((0, life), (1, life))
            if (old := life - ALIVE) >= 0:
                yield from ((2, old), (3, old))

    folder, size, batches = root / "__remote_log_metadata-0", 0, 0
    folder.mkdir()
    numbered = enumerate(itertools.islice(steps(), events))
    with (folder / f"{0:020}.log").open("wb") as log:
        while some := list(itertools.islice(numbered, records)):
            base = some[0][0]
            made = [
                put_record(number - base, number - base, None, event(*step, number)) for number, step in some
            ]
            stamps = {"base_timestamp": START + base, "max_timestamp": START + some[-1][0]}
            data = put_records(
                made, CODECS[codec], base_offset=base, last_offset_delta=len(made) - 1, **stamps
            )
            size, batches = size + log.write(data), batches + 1
    return folder.name, Facts(size, batches, events, events - 1)


def _only_value(batch: bytes) -> tuple[bytes, ...]:
    return tuple(record.value or b"" for record in batch_records(batch, LARGEST_BATCH))


def _big_endian(values):
    import numpy as np

    return values.astype(">i8").view(np.uint8).reshape(-1, 8)


def _fill(table, template: bytes, mark: bytes, column) -> None:
    """Put a column of values wherever a mark is in the template."""
    at = template.find(mark)
    while at >= 0:
        table[:, at : at + len(mark)] = column
        at = template.find(mark, at + len(mark))


MAKERS = {
    "big": make_big,
    "tiny": make_tiny,
    "small": make_small,
    "partitions": make_partitions,
    "events": make_events,
    "commits": make_commits,
    **{f"lives.{codec}": partial(make_lives, codec, 50) for codec in ("none", "zstd")},
    **{
        f"records.{codec}": (lambda root, records, codec=codec: make_records(codec, root, records))
        for codec in CODECS
    },
}


def main() -> None:
    """Make the inputs named kind:amount in a cache directory."""
    for word in sys.argv[2:]:
        kind, amount = word.split(":")
        make(Path(sys.argv[1]), Spec(kind, int(amount)))


if __name__ == "__main__":
    main()
