"""What a real broker made of a state: its outcome, and the fate of every partition directory."""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from formats.names import FUTURE, parse_partition_dir
from tests.starts.releases import Start, write_properties
from tests.starts.states import CHANGES, METADATA, unpack


def prepare(base: str, change: str, root: Path, properties: dict[str, object] | None = None) -> Path:
    """Make a state below `root` and return its server.properties."""
    unpack(base, root)
    CHANGES[change](root)
    dynamic = {
        "controller.quorum.voters": None,
        "controller.quorum.bootstrap.servers": "127.0.0.1:$CONTROLLER",
    }
    return write_properties(root, {**(dynamic if base.endswith("dynamic") else {}), **(properties or {})})


def partition_dirs(root: Path) -> set[str]:
    """Return the partition directories below d0 and d1, as d0/orders-0."""
    return {
        f"{path.parent.name}/{path.name}"
        for path in root.glob("d?/*")
        if path.is_dir() and parse_partition_dir(path.name) is not None and path.name != METADATA
    }


def has_log(root: Path, directory: str) -> bool:
    return any(path.stat().st_size for path in (root / directory).glob("*.log"))


def observed(release: str, properties: Path) -> dict[str, Any]:
    """Start a release over a state; return what it did, and stop it."""
    root = properties.parent
    before = partition_dirs(root)
    start = Start(release, properties)
    try:
        outcome = start.outcome()
        if outcome == "starts":
            time.sleep(2.5)  # -delete directories go after log.initial.task.delay.ms
        after = partition_dirs(root)
        words = start.words
    finally:
        start.stop()
    answer: dict[str, Any] = {"outcome": outcome}
    if outcome == "fails":
        answer["exceptions"] = list(dict.fromkeys(start.exceptions()))[:6]
    if outcome != "starts":
        return answer
    offline = [name for name in ("d0", "d1") if f"Stopping serving replicas in dir {root}/{name}" in words]
    if offline:
        answer |= {"outcome": "starts-degraded", "offline": offline}
    fates = {}
    for name in sorted(before):
        parsed = parse_partition_dir(name.partition("/")[2])
        log_dir, plain = name.partition("/")[0], f"{parsed.topic}-{parsed.partition}"
        strays = [each for each in after - before if each.endswith("-stray")]
        current = f"{log_dir}/{plain}"
        if any(each.startswith(f"{current}.") for each in strays):
            fates[name] = "stray"  # what replaces it may have its name
        elif name in after:
            fates[name] = "loads"
        elif parsed.kind == FUTURE and current in after - before and has_log(root, current):
            fates[name] = "future-promoted"
        else:
            fates[name] = "deleted"
    answer["fates"] = {name: fate for name, fate in fates.items() if fate != "loads"}
    created = [
        line.split("Created log for partition ")[1].split(" ")[0]
        for line in words.splitlines()
        if "Created log for partition " in line
    ]
    answer["created"] = sorted(set(created))
    return answer


def main(arguments: list[str]) -> None:
    """Write what releases make of states: OUT BASE/RELEASE... [CHANGE...]."""
    out = Path(arguments[0])
    pairs = [each.split("/") for each in arguments[1].split(",")]
    names = arguments[2:] or list(CHANGES)
    known = json.loads(out.read_text()) if out.exists() else {}
    for base, release in pairs:
        for name in names:
            key = f"{base} under {release}: {name}"
            if key in known:
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    known[key] = observed(release, prepare(base, name, Path(folder)))
                except Exception as error:  # a state that cannot be made is said
                    known[key] = {"error": repr(error)}
            print(key, known[key], flush=True)
            out.write_text(json.dumps(known, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
