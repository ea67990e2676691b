"""Damages of a recorded log dir that was stopped cleanly, a function each, and the code that names it."""

import gzip
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from formats.batch import BATCH, CRC_FROM, LOG_OVERHEAD
from formats.crc import crc32c
from formats.producer_snapshot import PRODUCER_ENTRY, PRODUCER_SNAPSHOT_HEADER
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk

PARTITION = "quiet-txn-0"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 1925\n" % (b"0" * 64)
LOG_START, RECOVERY = "log-start-offset-checkpoint", "recovery-point-offset-checkpoint"


class Damage(NamedTuple):
    """What is done to the log dir, and the code that names it; `wide`: about more than the partition."""

    name: str
    code: str
    damage: Callable[[Path], object]
    wide: bool = False
    options: tuple[str, ...] = ()


def file(base: int, extension: str) -> Callable[[Path], Path]:
    return lambda root: root / PARTITION / f"{base:020d}.{extension}"


def put(where: Callable[[Path], Path], position: int, data: bytes) -> Callable[[Path], object]:
    """Overwrite bytes; a negative position counts from the end."""

    def damage(root: Path) -> None:
        path = where(root)
        found = bytearray(path.read_bytes())
        at = position % len(found)
        found[at : at + len(data)] = data
        path.write_bytes(found)

    return damage


def flipped(where: Callable[[Path], Path], position: int) -> Callable[[Path], object]:
    def damage(root: Path) -> None:
        data = bytearray(where(root).read_bytes())
        data[position] ^= 0x55
        where(root).write_bytes(data)

    return damage


def cut(where: Callable[[Path], Path], size: int) -> Callable[[Path], object]:
    """Cut a file; a negative size counts from the end."""
    return lambda root: where(root).write_bytes(where(root).read_bytes()[:size])


def more(where: Callable[[Path], Path], data: bytes) -> Callable[[Path], object]:
    return lambda root: where(root).write_bytes(where(root).read_bytes() + data)


def gone(where: Callable[[Path], Path]) -> Callable[[Path], object]:
    return lambda root: where(root).unlink()


def whole(where: Callable[[Path], Path], data: bytes) -> Callable[[Path], object]:
    return lambda root: where(root).write_bytes(data)


def header(base: int, number: int, **fields: int) -> Callable[[Path], object]:
    """Change fields of a batch's header; its checksum is right again, unless it is one of them."""

    def damage(root: Path) -> None:
        path = file(base, "log")(root)
        raw = bytearray(path.read_bytes())
        with DataFile(str(path)) as log:
            position, found = list(Walk(log))[number]
        changed = found._replace(**fields)
        end = position + LOG_OVERHEAD + found.batch_length
        raw[position : position + BATCH.size] = BATCH.pack(changed)
        if "crc" not in fields:
            checksum = crc32c(bytes(raw[position + CRC_FROM : end]))
            raw[position : position + BATCH.size] = BATCH.pack(changed._replace(crc=checksum))
        path.write_bytes(raw)

    return damage


def batches(base: int, *numbers: int) -> Callable[[Path], object]:
    """Write only these batches of a segment, in this order."""

    def damage(root: Path) -> None:
        path = file(base, "log")(root)
        raw = path.read_bytes()
        with DataFile(str(path)) as log:
            found = [raw[at : at + LOG_OVERHEAD + batch.batch_length] for at, batch in Walk(log)]
        path.write_bytes(b"".join(found[number] for number in numbers))

    return damage


def producer(offset: int, number: int, **fields: int) -> Callable[[Path], object]:
    """Change an entry of a producer snapshot; its checksum is right again."""

    def damage(root: Path) -> None:
        path = file(offset, "snapshot")(root)
        raw = bytearray(path.read_bytes())
        at = PRODUCER_SNAPSHOT_HEADER.size + number * PRODUCER_ENTRY.size
        entry = PRODUCER_ENTRY.read(bytes(raw), at)._replace(**fields)
        raw[at : at + PRODUCER_ENTRY.size] = PRODUCER_ENTRY.pack(entry)
        raw[2:6] = struct.pack(">I", crc32c(bytes(raw[6:])))
        path.write_bytes(raw)

    return damage


def line(name: str, offset: int, partition: str = "quiet-txn 0") -> Callable[[Path], object]:
    """Give a partition another offset in a checkpoint file."""

    def damage(root: Path) -> None:
        path = root / name
        lines = path.read_text().splitlines()[2:] if path.exists() else []
        kept = [line for line in lines if not line.startswith(f"{partition} ")]
        kept.append(f"{partition} {offset}")
        path.write_text("\n".join(["0", str(len(kept)), *kept, ""]))

    return damage


def renamed(base: int, to: int) -> Callable[[Path], object]:
    def damage(root: Path) -> None:
        for path in (root / PARTITION).glob(f"{base:020d}.*"):
            path.rename(path.with_name(f"{to:020d}{path.suffix}"))

    return damage


def without_segment(base: int) -> Callable[[Path], object]:
    def damage(root: Path) -> None:
        for path in (root / PARTITION).glob(f"{base:020d}.*"):
            path.unlink()

    return damage


def epochs(*lines: str) -> Callable[[Path], object]:
    text = "\n".join(["0", str(len(lines)), *lines, ""])
    return lambda root: (root / PARTITION / "leader-epoch-checkpoint").write_text(text)


def in_root(name: str) -> Callable[[Path], Path]:
    return lambda root: root / name


def copied_dir(root: Path) -> None:
    """Make a second log dir of the same directory.id that has the partition, too."""
    second = root.parent / "d1"
    second.mkdir()
    shutil.copy(root / "meta.properties", second)
    shutil.copytree(root / PARTITION, second / PARTITION)


def other_dir(root: Path) -> None:
    copied_dir(root)
    path = root.parent / "d1" / "meta.properties"
    text = re.sub(r"(?m)^directory.id=.*$", "directory.id=AAAAAAAAAAAAAAAAAAAAZw", path.read_text())
    path.write_text(text)


def topic_id(root: Path) -> None:
    second = root / "quiet-txn-1"
    shutil.copytree(root / PARTITION, second)
    (second / "partition.metadata").write_text("version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA")


def behind_snapshot(root: Path) -> None:
    directory = root / "__cluster_metadata-0"
    shutil.copytree(root / "plain-0", directory)
    for name in ("partition.metadata", "leader-epoch-checkpoint"):
        (directory / name).unlink(missing_ok=True)
    (directory / "00000000000000005000-0000000009.checkpoint").write_bytes(b"")


def without_snapshots(root: Path) -> None:
    for path in (root / PARTITION).glob("*.snapshot"):
        path.unlink()


def above_the_log(root: Path) -> None:
    shutil.copy(file(END, "snapshot")(root), file(9000, "snapshot")(root))


def named(name: str, data: bytes = b"x") -> Callable[[Path], object]:
    return lambda root: (root / PARTITION / name).write_bytes(data)


FIRST, MIDDLE, LAST, END = 0, 24, 53, 62
ENTRY = struct.Struct(">ii")
TIME = struct.Struct(">qi")
TXN = struct.Struct(">hqqqq")

DAMAGES = (
    Damage("log: a flipped byte", "LOG-003", flipped(file(MIDDLE, "log"), 300)),
    Damage("log: the last batch is cut", "LOG-001", cut(file(LAST, "log"), -20)),
    Damage("log: zeros after a clean stop", "LOG-009", more(file(LAST, "log"), bytes(200))),
    Damage("log: zeros after a clean stop do not load", "START-008", more(file(LAST, "log"), bytes(200))),
    Damage("log: garbage at the end of a closed segment", "LOG-002", more(file(FIRST, "log"), b"\xff" * 90)),
    Damage("log: garbage between batches", "LOG-002", put(file(FIRST, "log"), 276, b"\xff" * 20)),
    Damage("log: a magic above 2", "LOG-017", header(FIRST, 1, magic=5)),
    Damage("log: a git-lfs pointer", "LOG-012", whole(file(MIDDLE, "log"), LFS)),
    Damage("log: a gzip file", "LOG-012", whole(file(MIDDLE, "log"), gzip.compress(b"log" * 40))),
    Damage("log: a text file", "LOG-012", whole(file(LAST, "log"), b"the segment was moved elsewhere\n")),
    Damage("log: more records than offsets", "LOG-017", header(FIRST, 0, records_count=9)),
    Damage("log: a negative last offset delta", "LOG-017", header(FIRST, 0, last_offset_delta=-1)),
    Damage("log: a batch of another segment", "LOG-026", header(MIDDLE, 0, base_offset=3)),
    Damage("log: an offset out of reach of the indexes", "LOG-018", header(LAST, -1, base_offset=1 << 54)),
    Damage("log: an offset after which none fits", "LOG-018", header(LAST, -1, base_offset=(1 << 63) - 1)),
    Damage("log: zeros in a closed segment", "LOG-002", more(file(MIDDLE, "log"), bytes(300))),
    Damage("log: part of a batch in a closed segment", "LOG-002", cut(file(MIDDLE, "log"), -20)),
    Damage("log: gone, its indexes are there", "IDX-011", lambda root: file(MIDDLE, "log")(root).unlink()),
    Damage("log: batches change places", "LOG-017", batches(FIRST, 0, 2, 1, 3, 4, 5, 6, 7, 8, 9)),
    Damage("log: a batch twice", "LOG-017", batches(FIRST, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9)),
    Damage("log: a batch is missing", "LOG-022", batches(FIRST, 0, 1, 2, 3, 5, 6, 7, 8, 9)),
    Damage("log: the first batch is missing", "LOG-022", batches(MIDDLE, 1, 2, 3, 4, 5, 6, 7, 8, 9)),
    Damage("log: a segment is missing", "LOG-022", without_segment(MIDDLE)),
    Damage("log: the first segment is missing", "LOG-022", without_segment(FIRST)),
    Damage("log: the wrong name", "LOG-026", renamed(MIDDLE, 30)),
    Damage("log: the name is no offset", "LOG-010", named("x.log")),
    Damage("log: the name is not canonical", "LOG-010", named("7.log")),
    Damage("log: a directory", "LOG-012", lambda root: (root / PARTITION / f"{99:020d}.log").mkdir()),
    Damage("log: the epoch of a batch goes down", "EPOCH-008", header(LAST, 1, partition_leader_epoch=-2)),
    Damage(
        "log: another epoch than the checkpoint's", "EPOCH-007", header(LAST, 2, partition_leader_epoch=9)
    ),
    Damage("log: a sequence is repeated", "PROD-004", header(FIRST, 1, base_sequence=1)),
    Damage("log: a sequence is left out", "PROD-003", header(FIRST, 1, base_sequence=9)),
    Damage("log: the epoch of a producer goes down", "PROD-004", header(FIRST, 0, producer_epoch=7)),
    Damage("log: a batch outside an open transaction", "PROD-004", header(FIRST, 1, attributes=0)),
    Damage("log: the same, in the next segment", "PROD-004", header(MIDDLE, 0, attributes=0)),
    Damage(
        "log: records that cannot be read",
        "DUMP-002",
        header(LAST, 0, records_count=2),
        options=("--records",),
    ),
    Damage("index: missing", "IDX-001", gone(file(MIDDLE, "index"))),
    Damage("index: half an entry", "DUMP-006", more(file(MIDDLE, "index"), b"\0\0\0")),
    Damage("index: leads into a batch", "IDX-004", put(file(MIDDLE, "index"), 0, ENTRY.pack(4, 300))),
    Damage("index: leads past the log", "IDX-004", put(file(MIDDLE, "index"), -8, ENTRY.pack(28, 9999))),
    Damage("index: leads past its offset", "IDX-004", put(file(MIDDLE, "index"), -8, ENTRY.pack(23, 1703))),
    Damage("index: the offset of no batch", "DUMP-004", put(file(MIDDLE, "index"), -8, ENTRY.pack(27, 1703))),
    Damage("index: does not rise", "DUMP-003", put(file(FIRST, "index"), 16, ENTRY.pack(1, 10))),
    Damage("index: zeros in the middle", "DUMP-003", put(file(FIRST, "index"), 16, bytes(8))),
    Damage("index: the end is elsewhere", "IDX-002", put(file(LAST, "index"), -8, ENTRY.pack(40, 412))),
    Damage("timeindex: missing", "IDX-007", gone(file(FIRST, "timeindex"))),
    Damage("timeindex: an entry is lost", "IDX-004", cut(file(FIRST, "timeindex"), -12)),
    Damage("timeindex: half an entry", "DUMP-006", cut(file(FIRST, "timeindex"), -3)),
    Damage(
        "timeindex: a time that no batch has",
        "IDX-004",
        put(file(MIDDLE, "timeindex"), -12, TIME.pack(2**61, 28)),
    ),
    Damage(
        "timeindex: earlier than the batches before",
        "IDX-004",
        put(file(MIDDLE, "timeindex"), 0, TIME.pack(5, 20)),
    ),
    Damage(
        "timeindex: past the segment", "IDX-004", put(file(FIRST, "timeindex"), -4, struct.pack(">i", 999))
    ),
    Damage("timeindex: does not rise", "DUMP-003", put(file(FIRST, "timeindex"), 24, TIME.pack(7, 1))),
    Damage(
        "txnindex: no such transaction",
        "IDX-008",
        put(file(MIDDLE, "txnindex"), 0, TXN.pack(0, 0, 29, 34, 35)),
    ),
    Damage(
        "txnindex: another last stable offset",
        "IDX-008",
        put(file(MIDDLE, "txnindex"), 26, struct.pack(">q", 31)),
    ),
    Damage("txnindex: an entry is lost", "IDX-008", cut(file(MIDDLE, "txnindex"), 0)),
    Damage("txnindex: missing", "IDX-008", gone(file(FIRST, "txnindex"))),
    Damage("txnindex: half an entry", "DUMP-006", more(file(MIDDLE, "txnindex"), b"\0" * 9)),
    Damage(
        "txnindex: below the segment", "START-004", put(file(MIDDLE, "txnindex"), 0, TXN.pack(0, 0, 1, 2, 3))
    ),
    Damage("txnindex: an unknown version", "START-008", put(file(MIDDLE, "txnindex"), 0, b"\x07")),
    Damage("snapshot: a flipped byte", "PROD-001", flipped(file(MIDDLE, "snapshot"), 20)),
    Damage("snapshot: cut", "PROD-001", cut(file(LAST, "snapshot"), -5)),
    Damage("snapshot: another sequence", "PROD-002", producer(LAST, 0, last_sequence=77)),
    Damage("snapshot: another open transaction", "PROD-002", producer(LAST, 0, current_txn_first_offset=3)),
    Damage("snapshot: no batch of a producer", "PROD-002", producer(LAST, 0, producer_id=99, last_offset=0)),
    Damage("snapshot: all are gone", "PROD-007", without_snapshots),
    Damage("snapshot: the one of a segment is gone", "PROD-008", gone(file(LAST, "snapshot"))),
    Damage("snapshot: the last is gone", "PROD-008", gone(file(END, "snapshot"))),
    Damage("snapshot: above the log", "PROD-009", above_the_log),
    Damage("snapshot: offsets past its own", "PROD-002", producer(62, 0, last_offset=900)),
    Damage(
        "epochs: damaged",
        "START-008",
        whole(lambda root: root / PARTITION / "leader-epoch-checkpoint", b"0\nx\n"),
    ),
    Damage("epochs: missing", "EPOCH-001", gone(lambda root: root / PARTITION / "leader-epoch-checkpoint")),
    Damage("epochs: a line erases others", "EPOCH-002", epochs("3 0", "9 50", "3 60")),
    Damage("epochs: another history", "EPOCH-007", epochs("3 0", "8 40")),
    Damage("epochs: begin in the middle of the log", "EPOCH-009", epochs("3 30")),
    Damage("epochs: past the log", "CKPT-001", epochs("0 0", "9 5000")),
    Damage(
        "partition.metadata: damaged",
        "START-008",
        whole(lambda root: root / PARTITION / "partition.metadata", b"?"),
    ),
    Damage(
        "partition.metadata: missing", "START-012", gone(lambda root: root / PARTITION / "partition.metadata")
    ),
    Damage("partition.metadata: two ids of a topic", "TOPIC-001", topic_id, wide=True),
    Damage("checkpoint: high watermark", "CKPT-001", line("replication-offset-checkpoint", 5000)),
    Damage("checkpoint: recovery point", "LOG-025", line(RECOVERY, 5000)),
    Damage("checkpoint: log start", "LOG-006", line(LOG_START, 5000)),
    Damage("checkpoint: cleaner", "CKPT-001", line("cleaner-offset-checkpoint", 5000)),
    Damage("checkpoint: no such directory", "CKPT-002", line(RECOVERY, 1, "absent 3"), wide=True),
    Damage("checkpoint: damaged recovery points", "DIR-005", whole(in_root(RECOVERY), b"0\n7\n"), wide=True),
    Damage(
        "checkpoint: damaged high watermarks",
        "DIR-005",
        whole(in_root("replication-offset-checkpoint"), b"?"),
        wide=True,
    ),
    *(
        Damage(f"checkpoint: no {name}", "DIR-011", gone(in_root(name)), wide=True)
        for name in (RECOVERY, LOG_START, "replication-offset-checkpoint")
    ),
    Damage("checkpoint: empty recovery points", "DIR-011", whole(in_root(RECOVERY), b""), wide=True),
    Damage(
        "checkpoint: no recovery point of a log", "DIR-011", whole(in_root(RECOVERY), b"0\n0\n"), wide=True
    ),
    Damage(
        "meta.properties: damaged", "DIR-005", whole(in_root("meta.properties"), b"version=7\n"), wide=True
    ),
    Damage(
        "meta.properties: ids are missing",
        "DIR-008",
        whole(in_root("meta.properties"), b"version=0\n"),
        wide=True,
    ),
    Damage("log dir: no partition's name", "DIR-006", lambda root: (root / "lost+found").mkdir(), wide=True),
    Damage("log dir: a foreign file", "DIR-001", whole(in_root("notes.txt"), b"x"), wide=True),
    Damage("log dirs: a partition twice", "START-009", other_dir, wide=True),
    Damage("log dirs: one is a copy", "START-009", copied_dir, wide=True),
    Damage("metadata log: behind its snapshot", "START-007", behind_snapshot, wide=True),
    Damage("a swap is not finished", "START-003", named(f"{0:020d}.log.cleaned")),
)
