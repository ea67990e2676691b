"""Ratios against kafka-dump-log (DumpLogSegments, plain JVM) on the same files: `make bench`.

Whole processes, alternating, medians; refused on a loaded machine. Inputs are
made here, in a temporary directory, from one batch that a real broker wrote.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from formats.batch import BATCH
from formats.crc import crc32c
from tests.oracle.oracle import build

RUNS = int(os.environ.get("BENCH_RUNS", "21"))
KCLI = [str(Path(sys.executable).parent / "kcli")]


def batch(base_offset: int, epoch: int, records: bytes, count: int) -> bytes:
    """Return a magic 2 batch of `count` records, its CRC right."""
    header = BATCH.row(
        base_offset=base_offset,
        batch_length=49 + len(records),
        partition_leader_epoch=epoch,
        magic=2,
        crc=0,
        attributes=0,
        last_offset_delta=count - 1,
        base_timestamp=1_700_000_000_000,
        max_timestamp=1_700_000_000_000,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=count,
    )
    crc_from = BATCH.span("attributes")[0]
    return BATCH.pack(header._replace(crc=crc32c(BATCH.pack(header)[crc_from:] + records))) + records


def one_record(delta: int, value: bytes) -> bytes:
    """Return one record of a batch: no key, no headers, a value shorter than 50 bytes."""
    body = bytes([0, 0, delta * 2, 1, len(value) * 2]) + value + b"\0"
    return bytes([len(body) * 2]) + body


def make_partitions(folder: Path, count: int) -> None:
    """Write `count` partitions of five epochs and one segment of one batch each."""
    data = batch(100, 5, one_record(0, b"x" * 20), 1)
    for number in range(count):
        partition = folder / f"topic-{number}"
        partition.mkdir(parents=True)
        (partition / f"{100:020}.log").write_bytes(data)
        (partition / f"{100:020}.index").write_bytes(b"")
        (partition / f"{100:020}.timeindex").write_bytes(b"")
        lines = [f"{epoch} {epoch * 20}" for epoch in range(1, 6)]
        (partition / "leader-epoch-checkpoint").write_text("\n".join(["0", "5", *lines]) + "\n")
    (folder / "meta.properties").write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n")


def timed(command: Sequence[str]) -> float:
    """Return the wall seconds of one run whose output goes nowhere."""
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    took = time.perf_counter() - start
    if done.returncode not in {0, 1}:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr.decode()[:500]}")
    return took


def compare(what: str, ours: Sequence[str], theirs: Sequence[str], runs: int = RUNS) -> float:
    """Print both medians and their ratio over alternating runs; return the ratio."""
    timed(ours), timed(theirs)
    pairs = [(timed(ours), timed(theirs)) for _ in range(runs)]
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{what:58} kcli {mine:7.3f} s   kafka-dump-log {other:7.3f} s   ratio {mine / other:5.2f}x   ({runs} runs)")
    return mine / other


def main() -> None:
    """Make the inputs, run every comparison, print the table."""
    load = os.getloadavg()[0]
    if load > 0.7 and not os.environ.get("BENCH_ANYWAY"):
        sys.exit(f"the machine is busy (load {load:.2f}): wait, or set BENCH_ANYWAY=1")
    java = ["java", "-cp", build(), "org.apache.kafka.tools.DumpLogSegments", "--files"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_partitions(folder / "small", 1)
        partition = folder / "small" / "topic-0"
        log = (b"".join(batch(100 + i, 5, one_record(0, b"x" * 40), 1) for i in range(2000)), partition / f"{100:020}.log")
        log[1].write_bytes(log[0])
        size = len(log[0]) // 2000
        entries = b"".join(i.to_bytes(4, "big") + (i * size).to_bytes(4, "big") for i in range(50, 2000, 50))
        (partition / f"{100:020}.index").write_bytes(entries)
        compare(
            "epoch end-offset, one partition, against its .index",
            [*KCLI, "epoch", "end-offset", "--epoch", "5", str(partition)],
            [*java, str(partition / f"{100:020}.index")],
        )
        counts = (1, 2500, 10_000)
        took = {}
        for count in counts:
            make_partitions(folder / str(count), count)
            command = [*KCLI, "epoch", "end-offset", "--epoch", "all", "-o", "ndjson", str(folder / str(count))]
            timed(command)
            took[count] = statistics.median(timed(command) for _ in range(5))
            print(f"epoch end-offset --epoch all, {count:6} partitions, inline {took[count]:8.3f} s")
        per = (took[counts[2]] - took[counts[0]]) / (counts[2] - counts[0])
        print(f"a partition after start-up: {per * 1000:.3f} ms")
    print(f"peak memory of the children: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB (the JVM included)")


if __name__ == "__main__":
    main()
