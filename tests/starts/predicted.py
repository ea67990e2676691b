"""What kcli predicts of a state, in the words of `observe`, and where it differs from what a broker did."""

import json
import os
import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from commands.app import app
from tests.starts.observe import EPOCHS
from tests.starts.states import DATA

KEY = re.compile(r"(?P<base>\S+) under (?P<release>\S+): (?P<change>.*)")
RECORDED = {
    tuple(KEY.fullmatch(key).groups()): happened
    for key, happened in json.loads((DATA / "starts.json").read_text()).items()
}
"""(base, release, change) -> what the broker did."""
OTHERWISE = re.compile(r", or (\w+Exception): ")
"""What another thread of a broker says where that is first."""
CHANGED = {"stray", "deleted", "future-promoted"}
WRAPPED = {"KafkaStorageException": "IOException"}
"""kcli names the exception that takes a log dir offline, a broker's words the one below it."""


def predicted(release: str, properties: Path) -> dict[str, Any]:
    """Return what `startup` says of a state, as `observe.observed` says what happened."""
    words = ["startup", "--server-config", str(properties), "--kafka-version", release, "-o", "json"]
    document = json.loads(CliRunner().invoke(app, words).stdout)
    (broker,) = (row for row in document["rows"] if "partitions_by_outcome" in row)
    rows = [row for row in document["rows"] if "partitions_by_outcome" not in row]
    answer = {"outcome": broker["outcome"]}
    if broker["outcome"] == "fails":
        others = OTHERWISE.findall(broker["server_log"] or "")
        return answer | {"exceptions": [broker["error"], *others]}
    if broker["outcome"] == "waits":
        return answer
    root = properties.parent
    offline = [
        os.path.basename(log_dir["dir"]) for log_dir in broker["log_dirs"] if log_dir["outcome"] == "offline"
    ]
    fates = {
        os.path.relpath(row["dir"], root): row["outcome"]
        for row in rows
        if row["dir"] is not None and row["outcome"] in CHANGED and not row["dir"].endswith("-stray")
    }
    created = sorted(
        f"{row['topic']}-{row['partition']}" for row in rows if row["outcome"] == "created-empty"
    )
    files = {
        os.path.relpath(row["dir"], root): {
            entry["file"].removesuffix(".swap"): entry["size_after"]
            for entry in row["files"]
            if entry["action"] != "delete" and not entry["file"].startswith(EPOCHS)
        }
        for row in rows
        if row["outcome"] == "loads"
    }
    answer |= {"fates": fates, "created": created, "files": files}
    return answer | ({"offline": offline} if offline else {})


def known_as(answer: dict[str, Any]) -> set[str]:
    """Return the exceptions of which a broker's words have one where a prediction is right."""
    return {WRAPPED.get(name, name) for name in answer["exceptions"]} | set(answer["exceptions"])


def difference(release: str, answer: dict[str, Any], happened: dict[str, Any]) -> str | None:
    """Return what a prediction says otherwise than what happened within seconds of a start, or None."""
    if answer["outcome"] != happened["outcome"]:
        return f"{answer} for {happened}"
    if answer["outcome"] == "fails":
        return None if known_as(answer) & set(happened["exceptions"]) else f"{answer} for {happened}"
    if answer["outcome"] == "waits":
        return None
    emptied = {
        name.partition("/")[2].partition(".")[0]
        for name, fate in answer["fates"].items()
        if fate == "deleted" and name.endswith("-future")
    }
    fates = {name: fate for name, fate in answer["fates"].items() if not name.endswith("-delete")}
    swapped = {name for name, fate in happened["fates"].items() if fate == "future-promoted"} - set(fates)
    replaced = {name.partition(".")[0].partition("/")[2] for name in swapped}
    others = {
        name: fate
        for name, fate in happened["fates"].items()
        if name not in swapped and name.partition("/")[2] not in replaced
    }
    created = [name for name in happened["created"] if name not in emptied]
    if release < "3.7" and "offline" in answer:  # it begins what was there elsewhere: found by its log alone
        created = answer["created"]
    kept = {} if "offline" in answer else happened.get("files", {})
    same_files = all(answer["files"].get(name, kept[name]) == kept[name] for name in kept)
    found = (fates, answer["created"], answer.get("offline"), same_files)
    return None if found == (others, created, happened.get("offline"), True) else f"{answer} for {happened}"
