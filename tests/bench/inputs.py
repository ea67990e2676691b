"""Files to measure, made once in a cache, prototypes of batches repeated with rising base offsets."""

import hashlib
import itertools
import json
import shutil
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from formats.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from formats.primitives import uuid_text
from tests.builders import put_batch, put_record, put_records, put_unsigned_varint
from tests.metadata_records import batch as metadata_batch
from tests.metadata_records import change, partition, record, topic

FACTS = "made.json"
START = 1_700_000_000_000
SEGMENT_BYTES, INDEX_INTERVAL, CHUNK = 1 << 30, 4096, 16 << 20
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
RECORDS_PER_BATCH = 100
WORDS = b"amber basil cedar delta ember fjord grove hazel indigo juniper".split()
TIERED_PARTITIONS = 20
ALIVE = 500 * TIERED_PARTITIONS
"""Of the segments in `lives`: one is deleted when so many later ones are copied."""


class Spec(NamedTuple):
    """Which input: its kind and how much of it (`big`, `tiny`: bytes; else records, partitions or events)."""

    kind: str
    amount: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.amount}"


class Facts(NamedTuple):
    """What an input holds; a partition and an event have a record each."""

    bytes: int
    batches: int
    records: int


class Made(NamedTuple):
    """An input that is there: `folder` is a log dir or a partition directory, `log` its first segment."""

    folder: Path
    facts: Facts

    @property
    def log(self) -> Path:
        return min(self.folder.rglob("*.log"))


def load(cache: Path, spec: Spec) -> Made | None:
    """Return an input that is already in the cache and made by this very code."""
    path = cache / str(spec) / FACTS
    made = json.loads(path.read_text()) if path.is_file() else {}
    is_current = made.get("by") == version()
    return Made(path.with_name(made["folder"]), Facts(*made["facts"])) if is_current else None


def version() -> str:
    """Return what changes when inputs would be made differently."""
    here = Path(__file__)
    makers = (here, *(here.parents[1] / name for name in ("builders.py", "metadata_records.py")))
    return hashlib.sha256(b"".join(maker.read_bytes() for maker in makers)).hexdigest()


def make(cache: Path, spec: Spec) -> None:
    """Make an input."""
    root = cache / str(spec)
    shutil.rmtree(root, ignore_errors=True)
    kind, _, codec = spec.kind.partition(".")
    folder = root / FOLDERS.get(kind, f"{kind}-0")
    folder.mkdir(parents=True)
    facts = MAKERS[kind](folder, spec.amount, *([CODECS[codec]] if codec else []))
    (root / FACTS).write_text(json.dumps({"by": version(), "folder": folder.name, "facts": facts}))


Prototypes = list[tuple[bytes, int]]
"""Batches and how many records each has."""


def noise(random: Random, sizes: tuple[int, int], records: int) -> tuple[bytes, int]:
    """Return a batch of about so many bytes, of records of noise."""
    value = (random.randint(*sizes) - 61) // records - 10
    body = b"".join(put_record(offset_delta=n, value=random.randbytes(value)) for n in range(records))
    return put_batch(body, records, base_timestamp=START, max_timestamp=START), records


def words(random: Random, codec: int, number: int) -> tuple[bytes, int]:
    """Return a batch of records of words: keys of 9 bytes, values of about 100, for codecs to work on."""
    records = [
        put_record(
            offset_delta=n,
            timestamp_delta=n,
            key=b"key-%05d" % random.randrange(100_000),
            value=b" ".join(random.choices(WORDS, k=16)) + b" %d" % (number * RECORDS_PER_BATCH + n),
        )
        for n in range(RECORDS_PER_BATCH)
    ]
    times = {"base_timestamp": START, "max_timestamp": START + RECORDS_PER_BATCH - 1}
    return put_records(records, codec, last_offset_delta=len(records) - 1, **times), len(records)


GROUPS = 5000


def commits(random: Random, of: int | None = None) -> tuple[bytes, int]:
    """Return a batch of five offset commits, as clients send them, of one group or of any."""

    def commit(n: int) -> bytes:
        group = b"group-%04d" % (random.randrange(1000) if of is None else of)
        key = struct.pack(">hh10sh6si", 1, len(group), group, 6, b"orders", n)
        value = struct.pack(">hqihq", 3, random.randrange(1 << 40), 7, 0, START + n)
        return put_record(offset_delta=n, timestamp_delta=n, key=key, value=value)

    times = {"base_timestamp": START, "max_timestamp": START + 4, "last_offset_delta": 4}
    return put_records([commit(n) for n in range(5)], **times), 5


def repeat(folder: Path, prototypes: Prototypes, groups: int) -> Facts:
    """Write segments of prototypes repeated, offsets from 0 on, each with a broker's offset index."""
    import numpy as np

    group = b"".join(data for data, _ in prototypes)
    times = max(1, CHUNK // len(group))
    lengths = np.tile([len(data) for data, _ in prototypes], times)
    counts = np.tile([count for _, count in prototypes], times)
    ends = np.cumsum(lengths)
    starts, bases = ends - lengths, np.cumsum(counts) - counts
    chunk = np.frombuffer(group * times, np.uint8).copy()
    records = first = 0
    at = SEGMENT_BYTES  # full: the first is begun
    with ExitStack() as files:
        for done in range(0, groups, times):
            batches = min(times, groups - done) * len(prototypes)
            size = int(ends[batches - 1])
            if at + size > SEGMENT_BYTES:
                files.close()
                log, index = (
                    files.enter_context((folder / f"{records:020}.{kind}").open("wb"))
                    for kind in ("log", "index")
                )
                at, first = 0, records
            offsets = records + bases[:batches]
            column = offsets.astype(">i8").view(np.uint8).reshape(-1, 8)
            for byte in range(8):
                chunk[starts[:batches] + byte] = column[:, byte]
            log.write(chunk[:size].data)
            positions = at + starts[:batches]
            is_new = np.diff(positions // INDEX_INTERVAL, prepend=0 if at == 0 else -1) != 0
            entries = np.stack([offsets + counts[:batches] - 1 - first, positions], axis=1)[is_new]
            index.write(entries.astype(">i4").tobytes())
            at, records = at + size, records + int(counts[:batches].sum())
    return Facts(len(group) * groups, len(prototypes) * groups, records)


def make_noise(folder: Path, size: int, batches: int, sizes: tuple[int, int], records: int) -> Facts:
    prototypes = [noise(Random(n), sizes, records) for n in range(batches)]
    return repeat(folder, prototypes, max(1, size // sum(len(data) for data, _ in prototypes)))


def make_records(folder: Path, records: int, codec: int) -> Facts:
    random, batches = Random(3), min(400, max(1, records // RECORDS_PER_BATCH))
    prototypes = [words(random, codec, number) for number in range(batches)]
    return repeat(folder, prototypes, max(1, records // (batches * RECORDS_PER_BATCH)))


def make_commits(folder: Path, records: int) -> Facts:
    random = Random(5)
    return repeat(folder, [commits(random) for _ in range(400)], max(1, records // 2000))


def make_groups(folder: Path, records: int) -> Facts:
    """Commits of GROUPS groups in turn."""
    random = Random(6)
    batches = [commits(random, of) for of in range(GROUPS)]
    return repeat(folder, batches, max(1, records // (5 * GROUPS)))


def make_metadata(folder: Path, records: int) -> Facts:
    """A metadata log: topics, then changes of their partitions, as many records without effect between."""
    ids = [uuid_text(bytes([number] * 16)) for number in range(40)]
    idle = (metadata_batch(0, record("NoOpRecord"), timestamp=START), 1)
    group = []
    for number, topic_id in enumerate(ids):
        values = [topic(f"topic-{number}", topic_id), *(partition(number, topic_id) for number in range(11))]
        group.append((metadata_batch(0, *values, timestamp=START), 12))
    for leader in (2, 3, 1):
        for topic_id in ids:
            values = [change(number, topic_id, leader=leader, isr=(leader, 4)) for number in range(11)]
            group += [(metadata_batch(0, *values, timestamp=START), 11), *[idle] * 9]
    return repeat(folder, group, max(1, records // sum(count for _, count in group)))


def make_partitions(folder: Path, count: int, segments: int = 1) -> Facts:
    """A cleanly stopped log dir of so many partitions: five epochs, segments of one batch."""
    fields = {"base_timestamp": START, "max_timestamp": START, "partition_leader_epoch": 5}
    files = []
    for base in range(100, 100 + segments):
        data = put_records([put_record(value=b"x" * 20)], base_offset=base, **fields)
        times = struct.pack(">qi", START, 0) if segments > 1 else b""
        files += [(f"{base:020}.log", data), (f"{base:020}.index", b""), (f"{base:020}.timeindex", times)]
    epochs = "\n".join(["0", "5", *(f"{epoch} {epoch * 20}" for epoch in range(1, 6)), ""])
    for number in range(count):
        partition = folder / f"topic-{number}"
        partition.mkdir()
        for name, content in files:
            (partition / name).write_bytes(content)
        (partition / "leader-epoch-checkpoint").write_text(epochs)
    (folder / "meta.properties").write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n")
    (folder / ".kafka_cleanshutdown").write_text("")
    return Facts(count * segments * len(data), count * segments, count)


def make_small(folder: Path, batches: int) -> Facts:
    """A partition of epoch 5: one small segment, an index of an entry every 50 batches."""
    fields = {"partition_leader_epoch": 5, "base_timestamp": START, "max_timestamp": START}
    data = [put_records([put_record(value=b"x" * 40)], base_offset=n, **fields) for n in range(batches)]
    entries = (struct.pack(">ii", n, n * len(data[0])) for n in range(50, batches, 50))
    for kind, content in (("log", data), ("index", entries), ("timeindex", ())):
        (folder / f"{0:020}.{kind}").write_bytes(b"".join(content))
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n5 0\n")
    return Facts(sum(map(len, data)), batches, batches)


SEGMENT_ID = b"\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8"
FIRST, LAST, WRITTEN, TOPIC_ID = (
    b"\xc1first!\xc1",
    b"\xc2last!!\xc2",
    b"\xc3time!!\xc3",
    b"\xc4of the topic!!\xc4",
)
"""Stand in the events below for the fields that differ from one to the next."""
OFFSETS_PER_SEGMENT = 1000


def event_values() -> list[bytes]:
    """Return the life of a remote log segment: copy started and finished, delete started and finished."""
    topic = put_unsigned_varint(7) + b"orders" + TOPIC_ID + struct.pack(">i", 3) + b"\0"
    segment, broker = topic + SEGMENT_ID + b"\0", struct.pack(">i", 1)
    epochs = put_unsigned_varint(2) + struct.pack(">i", 4) + FIRST + b"\0"
    added = b"\x01\0\0" + segment + FIRST + LAST + broker + WRITTEN * 2 + epochs
    added += struct.pack(">i", 1 << 20) + b"\0\0\0"
    return [
        added,
        *(b"\x01\x01\0" + segment + broker + WRITTEN + b"\0" + bytes([state]) + b"\0" for state in (1, 2, 3)),
    ]


def events() -> Iterable[bytes]:
    """Yield values of events without end: segments of many partitions are copied and, later, deleted."""
    values, number = event_values(), itertools.count()
    topics = [bytes([partition + 1]) * 16 for partition in range(TIERED_PARTITIONS)]

    def event(step: int, life: int) -> bytes:
        turn, partition = divmod(life, TIERED_PARTITIONS)
        fields = {
            TOPIC_ID: topics[partition],
            SEGMENT_ID: hashlib.md5(life.to_bytes(8, "big"), usedforsecurity=False).digest(),
            FIRST: (turn * OFFSETS_PER_SEGMENT).to_bytes(8, "big"),
            LAST: ((turn + 1) * OFFSETS_PER_SEGMENT - 1).to_bytes(8, "big"),
            WRITTEN: (START + next(number)).to_bytes(8, "big"),
        }
        value = values[step]
        for mark, field in fields.items():
            value = value.replace(mark, field)
        return value

    for life in itertools.count():
        yield from (event(step, life) for step in (0, 1))
        if life >= ALIVE:
            yield from (event(step, life - ALIVE) for step in (2, 3))


def alive(count: int) -> int:
    """Return how many segments are left after so many events."""
    later = count - 2 * ALIVE
    return -(-count // 2) if later <= 0 else ALIVE + bool(later % 4)


def make_events(folder: Path, count: int, codec: int = NONE, together: int = 1) -> Facts:
    """A partition of remote log metadata, so many events in a batch."""
    size, batches, values = 0, 0, itertools.islice(events(), count)
    with (folder / f"{0:020}.log").open("wb") as log, (folder / f"{0:020}.index").open("wb") as index:
        for base in range(0, count, together):
            some = list(itertools.islice(values, together))
            made = [put_record(n, n, None, value) for n, value in enumerate(some)]
            times = {"base_timestamp": START + base, "max_timestamp": START + base + len(made) - 1}
            data = put_records(made, codec, base_offset=base, last_offset_delta=len(made) - 1, **times)
            if size // INDEX_INTERVAL != (size - len(data)) // INDEX_INTERVAL and base:
                index.write(struct.pack(">ii", base + len(made) - 1, size))
            size, batches = size + log.write(data), batches + 1
    return Facts(size, batches, count)


FOLDERS = dict.fromkeys(("events", "lives"), "__remote_log_metadata-0")
FOLDERS |= {"commits": "__consumer_offsets-0", "groups": "__consumer_offsets-0"}
FOLDERS |= {"partitions": "data", "segments": "data"}
FOLDERS |= {"metadata": "__cluster_metadata-0"}
MAKERS: dict[str, Callable[..., Facts]] = {
    "big": partial(make_noise, batches=16, sizes=(17_500, 18_900), records=20),
    "tiny": partial(make_noise, batches=64, sizes=(160, 200), records=1),
    "lives": partial(make_events, together=50),
    "records": make_records,
    "small": make_small,
    "partitions": make_partitions,
    "segments": partial(make_partitions, segments=7),
    "events": make_events,
    "commits": make_commits,
    "groups": make_groups,
    "metadata": make_metadata,
}


if __name__ == "__main__":
    for word in sys.argv[2:]:
        kind, amount = word.split(":")
        make(Path(sys.argv[1]), Spec(kind, int(amount)))
