"""The paths of `--files`, the option of kafka-dump-log."""

from commands._options import UsageError


def split_files(files: list[str] | None) -> list[str]:
    """Return the paths of --files; as Java splits them, without empty ones at the end."""
    if not files:
        return []
    if len(files) > 1:
        raise UsageError("--files is given more than once: name all paths in one, with commas between them")
    paths = files[0].split(",")
    while paths and not paths[-1]:
        paths.pop()
    return paths
