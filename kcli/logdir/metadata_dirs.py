"""In which of its log dirs a broker keeps the metadata log."""

import os
from collections.abc import Sequence

from formats.names import CLUSTER_METADATA
from kcli.logdir.directory import directory_facts

METADATA_DIRECTORY = f"{CLUSTER_METADATA}-0"


def metadata_log(log_dir: str) -> str | None:
    """Return the path of the metadata log in a log dir; None where there is none."""
    path = os.path.join(log_dir, METADATA_DIRECTORY)
    return path if os.path.isdir(path) else None


def metadata_place(*log_dirs: str | None) -> tuple[str, str] | None:
    """Return the first log dir that has a metadata log, and the path of that; None where none has one."""
    for log_dir in log_dirs:
        path = None if log_dir is None else metadata_log(log_dir)
        if log_dir is not None and path is not None:
            return log_dir, path
    return None


def metadata_dirs(log_dirs: Sequence[str]) -> dict[str, str]:
    """Return, for log dirs without a metadata log, that other one which has it.

    It is of the same broker; where none of its broker has one, of another broker of the cluster.
    """
    have = [path for path in log_dirs if metadata_log(path)]
    if not have or len(have) == len(log_dirs):
        return {}
    owners: dict[tuple[str | None, int | None], str] = {}
    for path in have:
        facts = directory_facts(path)
        for broker in (facts.broker_id, None):
            owners.setdefault((facts.cluster_id, broker), path)
    found = {}
    for path in set(log_dirs).difference(have):
        facts = directory_facts(path)
        place = owners.get((facts.cluster_id, facts.broker_id)) or owners.get((facts.cluster_id, None))
        if facts.cluster_id is not None and place is not None:
            found[path] = place
    return found
