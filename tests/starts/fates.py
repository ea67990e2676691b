"""`python -m tests.starts.fates [CHANGE...]`: recorded starts of real brokers, the prediction beside each."""

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.starts.observe import prepare
from tests.starts.predicted import RECORDED, difference, known_as, predicted


def in_words(outcome: dict[str, Any]) -> str:
    """Return an outcome, and what ended the process or became of replicas."""
    fates = Counter(outcome.get("fates", {}).values())
    fates["created-empty"] += len(outcome.get("created", ()))
    parts = [
        *outcome.get("exceptions", ())[:1],
        *(f"{name} offline" for name in outcome.get("offline", ())),
        *(f"{number} {fate}" for fate, number in sorted(fates.items()) if number),
    ]
    return ": ".join([outcome["outcome"], *filter(None, [", ".join(parts)])])


def main(changes: list[str]) -> int:
    """Print a line for each start, the matrix of releases first; return how many differ."""
    starts = sorted(RECORDED, key=lambda key: (key[2] != "healthy", key[2], key[0], key[1]))
    agreed, differ = Counter(), 0
    print(f"{'MADE BY':15}{'STARTED BY':11}{'PREDICTED':45}{'HAPPENED':45}STATE")
    for base, release, change in starts:
        if changes and change not in changes:
            continue
        happened = RECORDED[base, release, change]
        with tempfile.TemporaryDirectory() as folder:
            answer = predicted(release, prepare(base, change, Path(folder)))
        mark = "differs" if difference(release, answer, happened) else "agrees"
        differ += mark == "differs"
        agreed[f"{base} under {release}: {mark}"] += 1
        if mark == "agrees" and answer["outcome"] == "fails":  # of the exceptions of a broker the one
            happened = {**happened, "exceptions": sorted(known_as(answer) & set(happened["exceptions"]))}
        print(f"{base:15}{release:11}{in_words(answer):45}{in_words(happened):45}{change}", flush=True)
    print(*(f"{number:4} {pair}" for pair, number in sorted(agreed.items())), sep="\n")
    print(f"{agreed.total()} starts, {differ} differ")
    return differ


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
