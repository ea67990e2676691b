"""Which log dirs and partitions do not start, by `startup` and by `check`: these two never differ."""

import json
import os


def will_not_load(kcli, *words):
    """Return the log dirs and partitions with this result."""
    document = json.loads(kcli("check", "-o", "json", *words).stdout)
    return {row["dir"] for row in document["rows"] if row["result"] == "will-not-load"}


def does_not_start(kcli, *words):
    """Return the log dirs and partitions for which `startup` predicts a failure, or that are left offline."""
    document = json.loads(kcli("startup", "-o", "json", *words).stdout)
    broker = [row for row in document["rows"] if "log_dirs" in row]
    offline = {
        log_dir["dir"] for row in broker for log_dir in row["log_dirs"] if log_dir["outcome"] == "offline"
    }
    partitions = [row for row in document["rows"] if "log_dirs" not in row]
    names = {row["dir"] for row in partitions}
    stops = {
        finding["path"] if finding["path"] in names else finding["dir"]
        for finding in document["findings"]
        if finding["code"] == "START-009"
    }
    failing = {row["dir"] for row in partitions if row["outcome"] == "fails"}
    left = {row["dir"] for row in partitions if row["outcome"] == "not-started"}
    return offline | stops | failing | {path for path in left if os.path.dirname(path) in offline}
