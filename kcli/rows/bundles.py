"""The row of `bundle`: what is in an archive of log dirs without payloads, and what is not."""

from typing import Annotated, NamedTuple


class LeftOut(NamedTuple):
    """An entry of which at most the name is in the bundle; `size` in bytes, null where it is no file."""

    path: str
    size: int | None
    reason: str


class BundleRow(NamedTuple):
    """What was written."""

    out: Annotated[str, "the archive"]
    sha256: Annotated[str, "of the archive, in hex"]
    size: Annotated[int, "bytes of the archive"]
    unpacked_size: Annotated[int, "bytes of the files in it"]
    log_dirs: Annotated[tuple[str, ...], "their names in the bundle"]
    partitions: Annotated[int, "partition directories"]
    files: Annotated[int, "files in it"]
    batches: Annotated[int, "of right checksum, whose headers are in it"]
    bad_checksums: Annotated[int, "batches whose checksum was wrong, as it is in the bundle"]
    removed_batches: Annotated[int, "batches of which no record is in it: damaged, or no room for them"]
    damaged_bytes: Annotated[int, "bytes of logs that are no batches, and are filled"]
    left_out: Annotated[tuple[LeftOut, ...], "what is not in it"]
    not_judged: Annotated[tuple[str, ...], "what kcli cannot say of the bundle as of the log dirs"]
