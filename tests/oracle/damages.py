"""What can have happened to a partition directory before a broker loads it: each changes the files of one."""

from __future__ import annotations

import os
import random
import shutil
import struct
from pathlib import Path

from kcli.engine.contract import Unit
from tests.oracle.logs import RandomLog
from tests.partitions import unit


def names(directory: Path, *suffixes: str) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.name.endswith(suffixes))


def torn_tail(directory: Path, choose: random.Random) -> None:
    log = choose.choice(names(directory, ".log")[-2:])
    size = log.stat().st_size
    os.truncate(log, max(0, size - choose.randrange(1, 80)))


def flipped_byte(directory: Path, choose: random.Random) -> None:
    log = choose.choice(names(directory, ".log"))
    data = bytearray(log.read_bytes())
    if data:
        data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        log.write_bytes(data)


def zero_tail(directory: Path, choose: random.Random) -> None:
    with names(directory, ".log")[-1].open("ab") as log:
        log.write(bytes(choose.randrange(1, 200)))


def garbage_tail(directory: Path, choose: random.Random) -> None:
    with names(directory, ".log")[-1].open("ab") as log:
        log.write(choose.randbytes(choose.randrange(1, 100)))


def missing_files(directory: Path, choose: random.Random) -> None:
    there = names(
        directory, *choose.choice([[".index"], [".timeindex"], [".index", ".timeindex", ".txnindex"]])
    )
    for path in choose.sample(there, min(len(there), choose.choice([1, 2, 9]))):
        path.unlink()


def missing_segment(directory: Path, choose: random.Random) -> None:
    log = choose.choice(names(directory, ".log"))
    log.unlink()


def bad_index(directory: Path, choose: random.Random) -> None:
    index = choose.choice(
        names(directory, ".index", ".timeindex")
        or names(directory, ".log")[:0]
        or [directory / "00000000000000000000.index"]
    )
    if not index.exists():
        return
    data = index.read_bytes()
    kind = choose.randrange(4)
    if kind == 0:
        index.write_bytes(data + bytes(choose.choice([8, 12, 24, 240, 5])))
    elif kind == 1:
        index.write_bytes(bytes(len(data)))
    elif kind == 2:
        index.write_bytes(data[: choose.randrange(len(data) + 1)])
    else:
        index.write_bytes(choose.randbytes(choose.choice([8, 12, 24, 48])))


def lost_snapshots(directory: Path, choose: random.Random) -> None:
    there = names(directory, ".snapshot")
    for path in choose.sample(there, min(len(there), choose.choice([1, 2, 99]))):
        path.unlink()


def bad_snapshot(directory: Path, choose: random.Random) -> None:
    for path in names(directory, ".snapshot")[-1:]:
        data = bytearray(path.read_bytes())
        data[choose.randrange(len(data))] ^= 0x10
        path.write_bytes(data[: choose.choice([len(data), len(data), 4, 0])])


def stray_snapshots(directory: Path, choose: random.Random) -> None:
    there = names(directory, ".snapshot")
    data = choose.choice(there).read_bytes() if there else bytes(10)
    for _ in range(choose.randrange(1, 4)):
        (directory / f"{choose.randrange(0, 200):020d}.snapshot").write_bytes(data)


def epoch_lines(directory: Path, choose: random.Random) -> None:
    path = directory / "leader-epoch-checkpoint"
    lines = [line.split() for line in path.read_text().splitlines()[2:]] if path.exists() else []
    for _ in range(choose.randrange(1, 3)):
        lines.insert(
            choose.randrange(len(lines) + 1), [str(choose.randrange(-1, 40)), str(choose.randrange(0, 400))]
        )
    path.write_text(f"0\n{len(lines)}\n" + "".join(" ".join(line) + "\n" for line in lines))


def no_epochs(directory: Path, choose: random.Random) -> None:
    path = directory / "leader-epoch-checkpoint"
    kind = choose.randrange(3)
    if kind == 0:
        path.unlink(missing_ok=True)
    else:
        path.write_text(["0\n", "0\n3\n1 2\n"][kind - 1])


def leftovers(directory: Path, choose: random.Random) -> None:
    logs = names(directory, ".log")
    log = choose.choice(logs)
    suffix = choose.choice([".deleted", ".swap", ".swap", ".cleaned"])
    for path in [
        path
        for path in sorted(directory.iterdir())
        if path.name.startswith(log.stem + ".") and path.name.count(".") == 1
    ]:
        if choose.random() < 0.8:
            (directory / (path.name + suffix)).write_bytes(path.read_bytes())
            if choose.random() < 0.5 and suffix != ".cleaned":
                path.unlink()
    if choose.random() < 0.2:
        (directory / f"{choose.randrange(0, 200):020d}.log.cleaned").write_bytes(b"")


def txn_index(directory: Path, choose: random.Random) -> None:
    for path in names(directory, ".txnindex")[-1:]:
        data = bytearray(path.read_bytes())
        if len(data) > 25:  # another damage may have cut it short
            data[choose.choice([0, 1, 18, 20, 25])] ^= choose.choice([1, 0x80])
        path.write_bytes(data + bytes(choose.choice([0, 0, 10])))


def random_txn_index(directory: Path, choose: random.Random) -> None:
    """Entries of any version and last offset, in any order; the last one may be cut short."""
    base = int(choose.choice(names(directory, ".log")).stem)
    entries = b""
    for _ in range(choose.randrange(1, 5)):
        version = choose.choice([0, 0, 0, 1, 0x100, 0x5D0, 0x8000])
        last = choose.choice([base + choose.randrange(60), base + choose.randrange(60), max(base - 1, 0), -1])
        entries += struct.pack(">HqqqQ", version, 1, 0, last, choose.getrandbits(63))
    cut = choose.choice([0, 0, choose.randrange(1, 34)])
    data = choose.choice([entries, entries, choose.randbytes(len(entries))])
    (directory / f"{base:020d}.txnindex").write_bytes(data[: len(data) - cut])


DAMAGE = (
    torn_tail,
    torn_tail,
    flipped_byte,
    flipped_byte,
    zero_tail,
    garbage_tail,
    missing_files,
    missing_files,
    missing_segment,
    bad_index,
    lost_snapshots,
    bad_snapshot,
    stray_snapshots,
    epoch_lines,
    no_epochs,
    leftovers,
    leftovers,
    txn_index,
    random_txn_index,
    random_txn_index,
)


def changed_entry(directory: Path, choose: random.Random) -> None:
    """One bit of an index flips, or an entry is added that points near, or past, the end of the log."""
    there = [path for path in names(directory, ".index", ".timeindex") if path.stat().st_size]
    if not there:
        return
    path = choose.choice(there)
    data = bytearray(path.read_bytes())
    if choose.random() < 0.5:
        data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
    else:
        size = path.with_suffix(".log").stat().st_size if path.with_suffix(".log").exists() else 0
        relative, position = choose.randrange(200), max(size + choose.randrange(-150, 50), 0)
        data += relative.to_bytes(4, "big") + position.to_bytes(4, "big")
    path.write_bytes(data)


def lost_entry(directory: Path, choose: random.Random) -> None:
    """The last entry of an index is gone."""
    for path in names(directory, ".index")[-choose.choice([1, 2]) :]:
        os.truncate(path, max(path.stat().st_size - 8, 0))


def bad_metadata(directory: Path, choose: random.Random) -> None:
    """partition.metadata is empty, cut, malformed, or right."""
    texts = ["", "version: 0\n", "version: 0\ntopic_id: x\n", "version 0\n", "version: x\ntopic_id: y\n"]
    texts += [
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n",
        "version: 7\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n",
    ]
    (directory / "partition.metadata").write_text(choose.choice(texts))


def swaps(directory: Path, choose: random.Random) -> None:
    """Some segments are swaps, and cleaned files may outdate them."""
    for log in names(directory, ".log"):
        if choose.random() < 0.4:
            for path in sorted(directory.glob(f"{log.stem}.*")):
                if (
                    path.name.count(".") == 1
                    and not path.name.endswith(".snapshot")
                    and choose.random() < 0.9
                ):
                    path.rename(path.with_name(path.name + ".swap"))
    if choose.random() < 0.3:
        base = choose.choice(
            [int(path.name.partition(".")[0]) for path in names(directory, "") if path.name[0].isdigit()]
            or [0]
        )
        (directory / f"{base:020d}.log.cleaned").write_bytes(b"")


ALL_DAMAGE = (
    *DAMAGE,
    changed_entry,
    changed_entry,
    changed_entry,
    lost_entry,
    lost_entry,
    bad_metadata,
    swaps,
)


def damaged(log: RandomLog, choose: random.Random, into: Path) -> tuple[Unit, list[str]]:
    """Return the unit of a damaged copy of a log dir, and what was done to it."""
    root = Path(shutil.copytree(log.directory.parent, into, symlinks=True))
    directory = root / log.directory.name
    done = []
    for damage in choose.sample(ALL_DAMAGE, choose.choice([0, 1, 1, 2, 2, 3])):
        if names(directory, ".log"):
            damage(directory, choose)
            done.append(damage.__name__)
    return unit(root), done


LENGTHS = [
    bytes.fromhex(text)
    for text in (
        "ffffffff0f",
        "8080808008",
        "8180808008",
        "ffffffff07",
        "feffffff0f",
        "fffe",
        "8000",
        "fffffffe",
    )
]
"""Compact ones, and those of 16 and 32 bits: below 0, largest, least."""


BAD_TEXT = [
    bytes.fromhex(text) for text in ("ff", "80", "c3", "eda080", "eda0", "e282", "f09f98", "f4908080", "c080")
]
