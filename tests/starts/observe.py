"""What a real broker made of a state: its outcome, and the fate of every partition directory."""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from formats.names import FUTURE, parse_partition_dir
from tests.starts.releases import DYNAMIC, WAITS_AFTER, Start, write_properties
from tests.starts.states import CHANGES, METADATA, SETTINGS_OF, unpack

EPOCHS = "leader-epoch-checkpoint"
OFFLINE = ("Stopping serving replicas in dir", "Error while reading meta.properties file")


def prepare(base: str, change: str, root: Path) -> Path:
    """Make a state below `root` and return its server.properties."""
    unpack(base, root)
    CHANGES[change](root)
    return write_properties(
        root, {**(DYNAMIC if base.endswith("dynamic") else {}), **SETTINGS_OF.get(change, {})}
    )


def partition_dirs(root: Path) -> set[str]:
    """Return the partition directories below d0 and d1, as d0/orders-0."""
    return {
        f"{path.parent.name}/{path.name}"
        for path in root.glob("d?/*")
        if path.is_dir() and parse_partition_dir(path.name) is not None and path.name != METADATA
    }


def sizes(root: Path, directory: str) -> dict[str, int]:
    """Return the files of a directory and their sizes, but for the epochs, to which a leader adds its own."""
    files = (path for path in (root / directory).iterdir() if not path.name.startswith(EPOCHS))
    return {path.name: path.stat().st_size for path in files}


def has_log(root: Path, directory: str) -> bool:
    return any(path.stat().st_size for path in (root / directory).glob("*.log"))


def observed(
    release: str,
    properties: Path,
    patience: float = WAITS_AFTER,
    agrees: Callable[[dict[str, Any]], bool] = lambda _: True,
) -> dict[str, Any]:
    """Start a release over a state; return what it did, once that agrees or patience ends, and stop it."""
    before = partition_dirs(properties.parent)
    start = Start(release, properties)
    try:
        outcome = start.outcome(patience)
        if outcome == "fails":
            return {"outcome": outcome, "exceptions": list(dict.fromkeys(start.exceptions()))[:6]}
        if outcome == "waits":
            return {"outcome": outcome}
        end = time.monotonic() + patience
        while True:
            time.sleep(2.5)  # -delete directories go after log.initial.task.delay.ms
            with suppress(FileNotFoundError):  # what was listed is renamed
                found = made_of(properties.parent, before, start.output)
                if agrees(found) or time.monotonic() > end:
                    return found
    finally:
        start.stop()


def made_of(root: Path, before: set[str], output: str) -> dict[str, Any]:
    """Return what a broker that has started made of the partition directories that were there before."""
    after = partition_dirs(root)
    offline = [name for name in ("d0", "d1") if any(f"{text} {root}/{name}" in output for text in OFFLINE)]
    answer: dict[str, Any] = {"outcome": "starts"}
    if offline:
        answer = {"outcome": "starts-degraded", "offline": offline}
    fates = {}
    for name in sorted(before):
        parsed = parse_partition_dir(name.partition("/")[2])
        log_dir, plain = name.partition("/")[0], f"{parsed.topic}-{parsed.partition}"
        strays = [each for each in after - before if each.endswith("-stray")]
        current = f"{log_dir}/{plain}"
        if any(each.startswith(f"{current}.") for each in strays):
            fates[name] = "stray"  # what replaces it may have its name
        elif any(each.startswith(f"{current}.") and each.endswith("-delete") for each in after - before):
            fates[name] = "deleted"
        elif name in after:
            fates[name] = "loads"
        elif parsed.kind == FUTURE and current in after - before and has_log(root, current):
            fates[name] = "future-promoted"
        else:
            fates[name] = "deleted"
    answer["fates"] = {name: fate for name, fate in fates.items() if fate != "loads"}
    created = [
        line.split("Created log for partition ")[1].split(" ")[0]
        for line in output.splitlines()
        if "Created log for partition " in line
    ]
    files = {name: sizes(root, name) for name in after}
    return answer | {"created": sorted(set(created)), "files": files}


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
                    known[key].pop("files", None)
                except Exception as error:  # a state that cannot be made is said
                    known[key] = {"error": repr(error)}
            print(key, known[key], flush=True)
            out.write_text(json.dumps(known, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
