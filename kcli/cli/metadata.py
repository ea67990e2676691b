"""The options --metadata and --remote-metadata: metadata of a KRaft cluster, events of remote storage."""

import os
from typing import TYPE_CHECKING

from kcli.cli.status import UsageError

if TYPE_CHECKING:
    from kcli.logdir.targets import Target


def metadata_path(path: str | None) -> str | None:
    """Return the absolute path of metadata that can be read; UsageError where it cannot, None for none."""
    if path is None:
        return None
    from kcli.jobs.cluster_metadata import metadata_image
    from kcli.logdir.buffers import FileError

    absolute = os.path.abspath(path)
    try:
        metadata_image(absolute)
    except FileError as error:
        raise UsageError(f"--metadata {error}") from error
    return absolute


def remote_metadata_of(paths: list[str] | None) -> "list[Target]":
    """Return the directories of the metadata topic of remote storage; UsageError for a path that is none."""
    from kcli.jobs.tiered_leader import metadata_targets

    file_set = metadata_targets(paths or [])
    if file_set.failures:
        raise UsageError(f"--remote-metadata {file_set.failures[0]}")
    return file_set.targets
