"""Whether answers are right: every check returns what is wrong with it, or nothing."""

import json
import subprocess
import sys
from pathlib import Path

from tests.bench.inputs import Facts

PIECE = 1 << 20
ROWS_OF = "import sys, pyarrow.dataset as d; print(d.dataset(sys.argv[1], format='parquet').count_rows())"


def same(one: Path, other: Path, names: tuple[str, str]) -> list[str]:
    """Check that two outputs are equal, byte for byte."""
    at = 0
    with one.open("rb") as first, other.open("rb") as second:
        while True:
            left, right = first.read(PIECE), second.read(PIECE)
            if left != right:
                at += next(
                    (i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
                    min(len(left), len(right)),
                )
                return [f"{names[0]} and {names[1]} differ from byte {at} on"]
            if not left:
                return [] if at else [f"{names[0]} and {names[1]} printed nothing"]
            at += len(left)


def counted(output: Path, mark: bytes, expected: int, what: str) -> list[str]:
    """Check how often a mark within a line, or a line's end, occurs in an output."""
    found = occurrences(output, mark)
    return [] if found == expected else [f"{what}: {found}, not {expected}"]


def occurrences(output: Path, mark: bytes) -> int:
    """Return how often a mark within a line, or a line's end, occurs in an output."""
    found, rest = 0, b""
    with output.open("rb") as file:
        while piece := file.read(PIECE):
            piece = rest + piece
            cut = piece.rfind(b"\n") + 1
            found, rest = found + piece.count(mark, 0, cut), piece[cut:]
    return found + rest.count(mark)


def scanned(output: Path, facts: Facts, name: str) -> list[str]:
    """Check the row of a partition that `scan -o ndjson` prints last."""
    rows = [json.loads(text) for text in output.read_text().splitlines()]
    if not rows or rows[-1]["type"] != "scan_partition":
        return [f"{name} printed no row of a partition"]
    answer = rows[-1]
    selected = {
        "batch_bytes": facts.bytes,
        "batches": facts.batches,
        "valid_batches": facts.batches,
        "invalid_batches": 0,
        "records": facts.records,
        "last_offset": facts.last_offset,
        "tail_bytes": 0,
    }
    return [
        f"{name}: {column} is {answer[column]}, not {value}"
        for column, value in selected.items()
        if answer[column] != value
    ]


def parquet_rows(path: Path, expected: int, name: str) -> list[str]:
    """Check the rows of a Parquet file or directory; in a process of its own, to keep this one small."""
    done = subprocess.run([sys.executable, "-c", ROWS_OF, path], capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"{name}: no Parquet: {done.stderr.strip()[-200:]}"]
    return (
        []
        if int(done.stdout) == expected
        else [f"{name}: {done.stdout.strip()} rows of Parquet, not {expected}"]
    )
