"""Counts mutated directories with two log ends: `python -m tests.mutated.log_ends [COUNT [SEED]]`."""

import json
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from typer.testing import CliRunner

from tests.builders import put_record, put_records

TOGETHER = 100
"""Partitions of one log dir."""
REFUSED = "would not load"
QUESTIONS: dict[str, tuple[str, ...]] = {
    "ls": ("ls",),
    "epoch end-offset": ("epoch", "end-offset", "--epoch", "-1"),
    "lookup offset latest": ("lookup", "offset", "latest"),
    "truncate": ("truncate", "--dry-run", "--to-offset", str(2**63 - 1)),
    "startup": ("startup",),
    "check": ("check",),
    "epoch validate": ("epoch", "validate", "--position", "5:0"),
    "replica fingerprint": ("replica", "fingerprint"),
}
LOG_END = {"lookup offset latest": "offset", "truncate": "log_end_offset_before"}
"""Where the column is not called log_end_offset."""


def make(directory: Path, random: Random) -> list[str]:
    """Write a mutated partition into a new directory; return what was done to it."""
    directory.mkdir(parents=True)
    offset, epoch, epochs = random.choice((0, 0, 7)), 0, []
    logs = []
    for _ in range(random.choice((1, 1, 2, 3))):
        base, log, entries = offset, b"", []
        for number in range(random.randint(1, 6)):
            if not epochs or random.random() < 0.3:
                epoch += random.randint(0, 2) if epochs else 0
                epochs.append((epoch, offset))
            count = random.randint(1, 5)
            records = [put_record(offset_delta=n, value=b"v" * random.randrange(60)) for n in range(count)]
            batch = put_records(records, base_offset=offset, partition_leader_epoch=epoch)
            if number and random.random() < 0.7:
                entries.append((offset + count - 1 - base, len(log)))
            log += batch
            offset += count
        stem = directory / f"{base:020d}"
        stem.with_suffix(".log").write_bytes(log)
        stem.with_suffix(".index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries))
        stem.with_suffix(".timeindex").write_bytes(b"")
        logs.append(stem)
    starts = dict(reversed(epochs))
    lines = [f"{epoch} {start}" for epoch, start in sorted(starts.items())]
    (directory / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
    last = logs[-1]
    return [_mutate(last, random) for _ in range(random.choice((1, 1, 2, 3)))]


def _mutate(stem: Path, random: Random) -> str:
    log, index = stem.with_suffix(".log"), stem.with_suffix(".index")
    data, size = bytearray(index.read_bytes()), log.stat().st_size
    what = random.choice(("flip", "add", "cut"))
    if what == "flip" and data:
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
    elif what == "cut" and size:
        cut = random.choice((1, random.randint(1, min(size, 80))))
        log.write_bytes(log.read_bytes()[: size - cut])
        return f"{log.name} cut by {cut}"
    else:
        slot = random.randint(0, len(data) // 8) * 8
        entry = random.choice(
            (bytes(8), struct.pack(">ii", random.randrange(40), random.randrange(size + 100)))
        )
        data[slot:slot] = entry
    index.write_bytes(data)
    return f"{index.name}: {what}"


def answers(log_dir: Path) -> dict[str, dict[str, object]]:
    """Return for each partition what each command says about the end of its log."""
    from commands.app import app

    found: dict[str, dict[str, object]] = {path.name: {} for path in log_dir.iterdir() if path.is_dir()}
    for command, words in QUESTIONS.items():
        done = CliRunner().invoke(app, [*words, str(log_dir), "-o", "json"])
        document: dict[str, Any] = json.loads(done.stdout)
        for row in document["rows"]:
            # a whole log that its log dir's end keeps from loading has one
            end = row.get(LOG_END.get(command, "log_end_offset"))
            if row.get("outcome") == "fails" or (row.get("result") == "will-not-load" and end is None):
                end = REFUSED
            name = Path(row.get("dir", "")).name  # a broker's or a log dir's own row has none, or another
            if end is not None and name in found:
                found[name][command] = end
        for finding in document["findings"]:
            if finding["code"] == "START-008":
                found[Path(finding["dir"]).name][command] = REFUSED
        for error in document["errors"]:
            path = Path(error["path"])
            found.setdefault(path.name if path.name in found else path.parent.name, {})[command] = REFUSED
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 12_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    disagreeing, kinds, examples = 0, Counter[str](), []
    for first in range(0, count, TOGETHER):
        random = Random(f"{seed} {first}")
        with tempfile.TemporaryDirectory() as temporary:
            log_dir = Path(temporary)
            (log_dir / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
            (log_dir / ".kafka_cleanshutdown").write_text("")
            numbers = range(first, min(first + TOGETHER, count))
            done = {f"t-{number}": make(log_dir / f"t-{number}", random) for number in numbers}
            for name, ends in answers(log_dir).items():
                assert set(ends) == set(QUESTIONS), (seed, name, ends)
                if len(set(ends.values())) > 1:
                    disagreeing += 1
                    kinds["one refuses" if REFUSED in ends.values() else "two log ends"] += 1
                    examples.append((name, ends, done[name]))
    for example in examples[:5]:
        print(*example)
    print(
        f"{count} mutated directories: {disagreeing} with two answers ({disagreeing / count:.1%}) "
        f"{dict(kinds)}"
    )


if __name__ == "__main__":
    main()
