"""A partition as a broker writes it, with all files: appends, rolls, stops, retention and truncation."""

import struct
from copy import deepcopy
from typing import NamedTuple

from kcli.kafka.storage.file_actions import snapshot_bytes
from kcli.kafka.storage.producer_state import Producer
from tests.builders import put_record
from tests.partitions import epoch_lines, log_dir, offset_entries, put_range, put_records, time_entries

TRANSACTIONAL, CONTROL = 0x10, 0x20
PREALLOCATED = 50
"""Entries of an index of the active segment."""
INTERVAL = 300
"""Bytes of a log between two entries of its index."""


class Written(NamedTuple):
    """A batch: what it holds for whom, its first and last offset, bytes and largest timestamp."""

    kind: str
    producer_id: int
    base: int
    last: int
    raw: bytes
    timestamp: int
    epoch: int
    sequence: int


class Log:
    """A partition with its log dir; every change is written to disk."""

    def __init__(self, root, choose):
        self.root = log_dir(root, clean=False)
        self.directory = root / "orders-0"
        self.directory.mkdir()
        (self.directory / "partition.metadata").write_text("version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA")
        self.choose = choose
        self.segments: dict[int, list[Written]] = {0: []}
        self.end = 0
        self.epoch = 0
        self.epochs = [(0, 0)]
        self.time = 1_700_000_000_000
        self.next_sequence: dict[int, int] = {}
        self.producers: dict[int, Producer] = {}
        self.aborted: list[tuple[int, int, int, int]] = []
        self.is_running = True
        self.snapshots: dict[int, dict[int, Producer]] = {}
        self.faults: set[str] = set()
        """What this broker does wrong the next time: its batches have right checksums."""
        self.write(0)
        self.write_epochs()

    def path(self, base, extension):
        return self.directory / f"{base:020d}.{extension}"

    @property
    def active(self):
        return max(self.segments)

    def write_epochs(self):
        (self.directory / "leader-epoch-checkpoint").write_text(epoch_lines(*self.epochs))

    # what a broker does

    def append(self):
        """Append a batch of a random kind."""
        choose = self.choose
        self.time += choose.randrange(-3, 9)
        open_ones = [number for number, producer in self.producers.items() if producer.open_since is not None]
        kind = choose.choice(("plain", "idempotent", "data", "data", "end"))
        if kind == "end" and open_ones:
            number = choose.choice(open_ones)
            self.put(choose.choice(("abort", "commit")), number, 1)
            return
        number = choose.randrange(1, 4) + (10 if kind == "data" else 0)
        self.put(
            "plain" if kind == "end" else kind,
            -1 if kind in {"plain", "end"} else number,
            choose.randrange(1, 9),
        )

    def put(self, kind, number, count):
        base, last = self.end, self.end + count - 1
        if self.epochs[-1][0] != self.epoch:  # a truncation took the entry of this epoch
            self.epochs.append((self.epoch, base))
            self.write_epochs()
        sequence = (
            self.next_sequence.get(number, 0) if number >= 0 and kind not in {"abort", "commit"} else -1
        )
        if "sequences" in self.faults and sequence > 0:
            self.faults.clear()
            sequence += self.choose.choice((-1, 1))
        fields = {
            "producer_id": number,
            "producer_epoch": 0 if number >= 0 else -1,
            "base_sequence": sequence,
        }
        if kind in {"abort", "commit"}:
            key = struct.pack(">hh", 0, kind == "commit")
            raw = put_records(
                [put_record(key=key, value=struct.pack(">hi", 0, 0))],
                base_offset=base,
                partition_leader_epoch=self.epoch,
                attributes=TRANSACTIONAL | CONTROL,
                base_timestamp=self.time,
                max_timestamp=self.time,
                **fields,
            )
        else:
            attributes = TRANSACTIONAL if kind == "data" else 0
            raw = put_range(base, count, self.epoch, self.time, 0, attributes=attributes, **fields)
        self._take_in(Written(kind, number, base, last, raw, self.time, self.epoch, sequence))

    def _take_in(self, batch):
        self.segments[self.active].append(batch)
        self.end = batch.last + 1
        number, one = batch.producer_id, self.producers.get(batch.producer_id)
        if batch.kind in {"abort", "commit"}:
            since = one.open_since
            if "markers" in self.faults:
                self.faults.clear()
                return
            self.producers[number] = one._replace(
                last_timestamp=batch.timestamp, open_since=None, coordinator_epoch=0
            )
            still_open = [
                other.open_since for other in self.producers.values() if other.open_since is not None
            ]
            if batch.kind == "abort" and since is not None:
                if "transactions" in self.faults:
                    self.faults.clear()
                    return
                self.aborted.append((number, since, batch.base, min(still_open, default=batch.last + 1)))
        elif number >= 0:
            count = batch.last - batch.base
            since = one.open_since if one is not None else None
            if batch.kind == "data" and since is None:
                since = batch.base
            end = batch.sequence + count
            self.producers[number] = Producer(batch.timestamp, since, 0, end, batch.last, count, 0)
            self.next_sequence[number] = end + 1

    def roll(self):
        if not self.segments[self.active]:
            return
        before = self.active
        self.segments[self.end] = []
        self.take_snapshot()
        self.write(before)
        self.write(self.active)

    def take_snapshot(self):
        self.snapshots[self.end] = deepcopy(self.producers)
        known = dict(self.producers)
        if "snapshots" in self.faults and known:
            self.faults.clear()
            known.pop(self.choose.choice(list(known)))
            known[77] = Producer(1, None, 0, 1, max(self.end - 1, 0), 1, 0)
        data = snapshot_bytes(known)
        path = self.path(self.end, "snapshot")
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)

    def stop(self):
        """Stop cleanly."""
        self.is_running = False
        (self.root / ".kafka_cleanshutdown").write_text("")
        if self.end > 0 and any(self.segments.values()):
            self.take_snapshot()
        self.write(self.active)

    def start(self):
        self.is_running = True
        (self.root / ".kafka_cleanshutdown").unlink(missing_ok=True)
        self.write(self.active)

    def elect(self):
        """Begin a leader epoch with the next batch."""
        self.epoch += self.choose.randrange(1, 3)
        self.epochs = [epoch for epoch in self.epochs if epoch[1] < self.end] + [(self.epoch, self.end)]
        self.write_epochs()

    def retain(self):
        """Delete the first segment."""
        if len(self.segments) < 2:
            return
        base = min(self.segments)
        del self.segments[base]
        start = min(self.segments)
        for path in self.directory.glob(f"{base:020d}.*"):
            path.unlink()
        (self.root / "log-start-offset-checkpoint").write_text(f"0\n1\norders 0 {start}\n")
        kept = [epoch for epoch in self.epochs if epoch[1] > start]
        newest = [epoch for epoch in self.epochs if epoch[1] <= start][-1:]
        self.epochs = [(epoch, start) for epoch, _ in newest] + kept
        self.write_epochs()

    def truncate(self, offset):
        """Cut the log at a batch, as a follower does, and follow again from there."""
        start = min(self.segments)
        batches = [batch for base in sorted(self.segments) for batch in self.segments[base]]
        kept = [batch for batch in batches if batch.last < offset]
        self.end = kept[-1].last + 1 if kept else start
        for base in [base for base in self.segments if base > self.end]:
            del self.segments[base]
            for path in self.directory.glob(f"{base:020d}.*"):
                path.unlink()
        for path in self.directory.glob("*.snapshot"):
            if int(path.stem) > self.end:
                path.unlink()
        bases = sorted(self.segments)
        self.producers, self.next_sequence, self.aborted = {}, {}, []
        replayed = {base: [] for base in bases}
        state = {
            base: [
                batch
                for batch in kept
                if batch.base >= base and (base == bases[-1] or batch.base < bases[number + 1])
            ]
            for number, base in enumerate(bases)
        }
        snapshot = self.snapshots.get(start)
        self.producers = deepcopy(snapshot) if snapshot and start else {}
        self.next_sequence = {
            number: producer.last_sequence + 1 for number, producer in self.producers.items()
        }
        self.segments = {}
        for base in bases:
            self.segments[base] = replayed[base]
            for batch in state[base]:
                self._take_in(batch)
        self.end = kept[-1].last + 1 if kept else start
        self.epochs = [epoch for epoch in self.epochs if epoch[1] < self.end] or [(0, self.end)]
        self.write_epochs()
        self.write(self.active)
        if self.end > self.active:
            self.path(self.end, "snapshot").unlink(missing_ok=True)
            self.take_snapshot()

    def fetch_again(self, batches):
        """Append batches that were cut."""
        for batch in batches:
            self._take_in(batch)
        self.write(self.active)

    # how it lies on disk

    def write(self, base):
        """Write a segment's files; only what is new is appended to its log."""
        is_active = base == self.active
        batches = self.segments[base]
        data = b"".join(batch.raw for batch in batches)
        offsets, times, at, since = [], [], 0, 0
        largest, largest_last = -1, base
        for batch in batches:
            if batch.timestamp > largest:
                largest, largest_last = batch.timestamp, batch.last
            if since > INTERVAL:
                offsets.append((batch.last - base, at))
                if largest > (times[-1][0] if times else -1):
                    times.append((largest, largest_last - base))
                since = 0
            since += len(batch.raw)
            at += len(batch.raw)
        is_closed = not (is_active and self.is_running)
        if is_closed and largest > (times[-1][0] if times else -1):
            times.append((largest, largest_last - base))
        index, timeindex = offset_entries(*offsets), time_entries(*times)
        if not is_closed:
            index, timeindex = index.ljust(PREALLOCATED * 8, b"\0"), timeindex.ljust(PREALLOCATED * 12, b"\0")
        txns = b"".join(
            struct.pack(">hqqqq", 0, *aborted)
            for aborted in self.aborted
            if base <= aborted[2]
            and (is_active or aborted[2] < min(other for other in self.segments if other > base))
        )
        for extension, content in (
            ("log", data),
            ("index", index),
            ("timeindex", timeindex),
            ("txnindex", txns),
        ):
            self._write(self.path(base, extension), content)

    @staticmethod
    def _write(path, content):
        """Write what differs: appended, cut, or written in place."""
        if not path.exists():
            if content or path.suffix != ".txnindex":
                path.write_bytes(content)
            return
        found = path.read_bytes()
        if found == content:
            return
        with path.open("r+b") as file:
            file.truncate(len(content))
            at = next(
                (n for n, pair in enumerate(zip(found, content, strict=False)) if pair[0] != pair[1]),
                min(len(found), len(content)),
            )
            file.seek(at)
            file.write(content[at:])
