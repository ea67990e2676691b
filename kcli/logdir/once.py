"""What is reached by several paths, once."""

import os
from dataclasses import replace

from kcli.logdir.find import Found
from kcli.logdir.targets import PARTITION, Target


def _place(target: Target) -> str:
    """Return where a target lies. In a log dir a link is a directory of its own: a broker loads each name."""
    if target.log_dir is None:
        return os.path.realpath(target.path)
    directory, name = os.path.split(os.path.abspath(target.path))
    return os.path.join(os.path.realpath(directory), name)


def each_once(found: Found, *, files: bool = True) -> Found:
    """Return the same with each directory once, however its path is spelt; and each file, with `files`."""
    targets: dict[object, Target] = {}
    for number, target in enumerate(found.targets):
        is_kept = not files and target.kind != PARTITION
        targets.setdefault(number if is_kept else _place(target), target)
    named: dict[str, str] = {}
    for path in found.named_log_dirs:
        named.setdefault(os.path.realpath(path), path)
    return replace(found, targets=[*targets.values()], named_log_dirs=[*named.values()])
