"""What the numbers were measured on, and how fast this machine could do each part at best.

`python -m tests.bench.machine FILE BATCHES`.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.process import BESIDE_PAGE

BUFFER = 1 << 20
SECONDS = 0.4
RUNS = 3


def described() -> dict[str, str]:
    """Return what a reader has to know of the machine, by name."""
    return {
        "CPU": cpu_model(Path("/proc/cpuinfo").read_text()) or platform.processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Java": java_version(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def cpu_model(cpuinfo: str) -> str:
    """Return the model from the text of /proc/cpuinfo, or nothing."""
    return next(
        (line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")), ""
    )


def java_version() -> str:
    """Return the first line of what `java -version` says of the virtual machine."""
    answer = subprocess.run(
        ["java", "-version"], capture_output=True, text=True, check=False
    ).stderr.splitlines()
    return answer[-1] if answer else "none"


def rate(work: Callable[[], int], least: float = SECONDS) -> float:
    """Return bytes a second of what is repeated for a while; `work` returns the bytes it did."""
    work()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < least:
        done += work()
    return done / (time.perf_counter() - start)


COUNTING = """
import sys, time
end, done, seen = time.perf_counter() + float(sys.argv[1]), 0, {}
while time.perf_counter() < end:
    for number in range(1000):
        seen[number] = f"{done} {number}"
    done += 1
print(done)
"""


def two_at_once(seconds: float = 2 * SECONDS) -> float:
    """Return how much two processes do together, one alone being 1: no `--jobs 2` gains more.

    Each is the best of RUNS: what else the machine does in between is not what its cores can.
    """

    def done(count: int) -> int:
        command = [sys.executable, "-c", COUNTING, str(seconds)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
        return sum(int(process.communicate()[0]) for process in processes)

    alone, together = zip(*((done(1), done(2)) for _ in range(RUNS)), strict=True)
    return max(together) / max(alone)


def bounds(log: Path, scratch: Path) -> dict[str, float]:
    """Return bytes a second of one core at each part of the work: the limits that the lines are held against.

    Codecs are rated by what comes out of them, in batches as the inputs have them.
    """
    import cramjam

    from formats.crc import crc32c
    from tests.bench.make import CODECS, text_batches
    from tests.builders import compress

    buffer = memoryview(bytearray(BUFFER + BESIDE_PAGE))[BESIDE_PAGE:]

    def read() -> int:
        with log.open("rb", buffering=0) as file:
            total = 0
            while got := file.readinto(buffer):
                total += got
            return total

    def write() -> int:
        with scratch.open("wb", buffering=0) as file:
            return sum(file.write(buffer) for _ in range(64))

    def checksum() -> int:
        crc32c(buffer)
        return BUFFER

    import random

    plain = b"".join(batch.data[61:] for batch in text_batches(random.Random(3), "none", 1))
    unpack = {"gzip": cramjam.gzip.decompress, "zstd": cramjam.zstd.decompress}
    blocks = {
        "snappy": cramjam.snappy.compress_raw,
        "lz4": lambda data: cramjam.lz4.compress_block(data, store_size=False),
    }
    unblock = {
        "snappy": cramjam.snappy.decompress_raw,
        "lz4": lambda data: cramjam.lz4.decompress_block(data, output_len=len(plain)),
    }
    found = {
        "read from the page cache": rate(read),
        "write to a file": rate(write),
        "CRC-32C": rate(checksum),
    }
    scratch.unlink()
    for codec in CODECS:
        if codec != "none":
            packed = bytes(blocks[codec](plain)) if codec in blocks else compress(CODECS[codec], plain)
            open_ = unblock.get(codec) or unpack[codec]
            found[f"{codec}, decompressed"] = rate(lambda packed=packed, open_=open_: len(open_(packed)))
    return found


if __name__ == "__main__":
    print(json.dumps(bounds(Path(sys.argv[1]), Path(sys.argv[2]))))
