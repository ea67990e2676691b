"""The option --metadata: the metadata of a KRaft cluster, which is read once."""

import os

from kcli.cli.status import UsageError


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
