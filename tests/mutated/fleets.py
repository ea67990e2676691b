"""Log dirs of mutated partitions, recorded or of magic 0 and 1, by number: same seed, same bytes."""

import gzip
import shutil
import tarfile
from importlib import resources
from pathlib import Path
from random import Random
from typing import NamedTuple

from formats.names import parse_partition_dir
from tests.mutated.mutations import MUTATIONS, mutate
from tests.recordings import pack

PARTITIONS = 40
"""Of each log dir."""
CAPTURES = {
    "single": ("running", "stopped"),
    "truncation": ("before-follower", "after-follower-stopped"),
    "failover": ("node1",),
    "tiered": ("node1",),
}
MOST_BYTES = 2_400
"""Of an index: preallocated ones, most of which are zeros, are cut to this."""
MOST_LOG_BYTES = 10_000
"""Of a partition's segments: what a larger one costs is reading more of the same."""
OFFSETS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint")


class Source(NamedTuple):
    """A partition directory to copy, and its line in each of OFFSETS (None: it has none)."""

    path: Path
    topic: str
    lines: tuple[int | None, ...]


def sources(folder: Path) -> list[Source]:
    """Unpack every recorded partition into a folder; return them with those of old formats."""
    roots = []
    for name, captures in CAPTURES.items():
        unpacked = pack.unpack(name, folder)
        roots += [unpacked / capture for capture in captures]
    with (
        (resources.files("kcli.demo") / "demo.tar.gz").open("rb") as file,
        tarfile.open(fileobj=file) as archive,
    ):
        archive.extractall(folder, filter="data")
    roots.append(folder / "kcli-demo")
    found = [source for root in roots for source in _of_log_dir(root)]
    for packed in sorted((pack.DATA.parent / "batches").glob("v[01]*.log.gz")):
        directory = folder / "old" / f"{packed.name.partition('.')[0]}-0"
        directory.mkdir(parents=True)
        (directory / "00000000000000000000.log").write_bytes(gzip.decompress(packed.read_bytes()))
        (directory / "00000000000000000000.index").write_bytes(b"")
        (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        found.append(Source(directory, "old", (None, None, None)))
    return found


def _of_log_dir(root: Path) -> list[Source]:
    offsets = [_offsets(root / name) for name in OFFSETS]
    found = []
    for directory in sorted(root.iterdir()):
        name = parse_partition_dir(directory.name) if directory.is_dir() else None
        if name is not None:
            place = (name.topic, name.partition)
            found.append(Source(directory, name.topic, tuple(lines.get(place) for lines in offsets)))
    return [source for source in found if _log_bytes(source.path) <= MOST_LOG_BYTES]


def _log_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.log"))


def _offsets(path: Path) -> dict[tuple[str, int], int]:
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return {(topic, int(partition)): int(offset) for topic, partition, offset in map(str.split, lines)}


def make(folder: Path, found: list[Source], seed: int, number: int) -> list[str]:
    """Write a log dir of mutated partitions into a new folder; return what was done to each, in words."""
    random = Random(f"{seed} {number}")
    folder.mkdir(parents=True)
    done: list[str] = []
    lines: list[list[str]] = [[], [], []]
    for partition in range(PARTITIONS):
        source = random.choice(found)
        directory = folder / f"{source.topic}-{partition}"
        directory.mkdir()
        for path in source.path.iterdir():
            most = MOST_BYTES if path.suffix in {".index", ".timeindex"} else None
            (directory / path.name).write_bytes(path.read_bytes()[:most])
        for kept, offset in zip(lines, source.lines, strict=True):
            if offset is not None:
                kept.append(f"{source.topic} {partition} {offset}")
        done += [f"{directory.name}: {words}" for words in mutate(random, directory)]
    (folder / "meta.properties").write_text("version=1\ncluster.id=d4AOWUsZhgy8XcdU-9gSlQ\nnode.id=1\n")
    for name, kept in zip(OFFSETS, lines, strict=True):
        (folder / name).write_text("\n".join(["0", str(len(kept)), *kept]) + "\n")
    if random.random() < 0.6:
        (folder / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":5}')
    if random.random() < 0.5:
        done += [f"log dir: {words}" for words in (random.choice(MUTATIONS)(random, folder),) if words]
    return done


def remove(folder: Path) -> None:
    shutil.rmtree(folder)
