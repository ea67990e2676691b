"""The rows of `check`, `epoch check`, `salvage` and `diff`: whether logs are whole, and what was saved."""

from typing import Annotated, NamedTuple

from kcli.rows.partitions import Where


class CheckRow(NamedTuple):
    """The result for one partition, or for a log dir itself: then topic, partition and segments are null."""

    where: Where
    result: Annotated[
        str,
        "clean, warning, damaged or will-not-load, by the worst finding; will-not-load also of what is whole "
        "in a log dir that goes offline",
    ]
    findings: Annotated[int, "findings about it, those of info included"]
    errors: Annotated[int, "of these, errors; and files that could not be read"]
    warnings: Annotated[int, "of these, warnings"]
    segments: Annotated[int | None, "segments that were read; null of a log dir"]
    batches: Annotated[int | None, "batches that were read in them"]
    log_bytes: Annotated[int | None, "bytes that were read of them"]
    log_end_offset: Annotated[
        int | None, "after a start; null of a log dir, a log that does not load and a -delete directory"
    ]

    @property
    def is_log_dir(self) -> bool:
        """Whether it is of a log dir itself: that of a partition, of any name, has segments."""
        return self.segments is None


class EpochCheckRow(NamedTuple):
    """The result for the leader epochs of one partition."""

    where: Where
    result: Annotated[str, "clean, warning or damaged, by the worst finding"]
    findings: Annotated[int, "findings about them, those of info included"]
    errors: Annotated[int, "of these, errors; and files that could not be read"]
    warnings: Annotated[int, "of these, warnings"]


CLEAN, WARNING, DAMAGED, WILL_NOT_LOAD = "clean", "warning", "damaged", "will-not-load"


class LostRange(NamedTuple):
    """Bytes of a log of the partition that are not in the copy: from `start` to `end`, exclusive.

    `first_offset` is that of the batch there; null where there is none. `reason` is damaged, checksum, magic,
    header, offsets, codec, transaction, unreadable or snapshot (of a metadata log that is behind it).
    """

    file: str
    start: int
    end: int
    first_offset: int | None
    reason: str


class SavedFile(NamedTuple):
    """A file that was written, its size in bytes."""

    file: str
    size: int


class SalvageRow(NamedTuple):
    """What was written of a partition."""

    where: Where
    out_dir: Annotated[str, "the directory of the copy"]
    what: Annotated[str, "all or indexes"]
    segments: Annotated[int, "segments in the copy"]
    batches: Annotated[int | None, "batches in its logs; null where indexes alone were written"]
    bytes: Annotated[int, "of its logs"]
    log_start_offset: Annotated[int, "first offset of its first segment"]
    log_end_offset: Annotated[int, "as a broker that opens the copy takes it"]
    batches_lost: Annotated[int, "batches that were left out"]
    bytes_lost: Annotated[int, "bytes of the logs that were left out"]
    lost: Annotated[tuple[LostRange, ...], "the first 1000 of what was left out"]
    files: Annotated[tuple[SavedFile, ...], "that were written"]


VERDICTS = (
    *("damaged", "rewritten", "shrunk", "gone", "new"),
    *("changed", "repaired", "grown", "trimmed", "unchanged"),
)


class RunDiffRow(NamedTuple):
    """One partition, or log dir without topic; columns that the compared command lacks are null."""

    where: Where
    verdict: Annotated[str, f"the first that applies: {', '.join(VERDICTS)}"]
    result_before: Annotated[str | None, "of check, or outcome of startup; unreadable after an error"]
    result_after: Annotated[str | None, "the same of the later run"]
    log_start_offset_before: Annotated[int | None, "of scan: the first offset with a record"]
    log_start_offset_after: Annotated[int | None, "the same of the later run"]
    log_end_offset_before: Annotated[int | None, "of scan: after the last batch"]
    log_end_offset_after: Annotated[int | None, "the same of the later run"]
    latest_epoch_before: Annotated[int | None, "newest leader epoch"]
    latest_epoch_after: Annotated[int | None, "the same of the later run"]
    log_bytes_before: Annotated[int | None, "of the partition's logs"]
    log_bytes_after: Annotated[int | None, "the same of the later run"]
    segments_before: Annotated[int | None, "number of segments"]
    segments_after: Annotated[int | None, "the same of the later run"]
    findings_new: Annotated[tuple[str, ...], "codes of findings, and errors, that only the later run has"]
    findings_gone: Annotated[tuple[str, ...], "codes of findings, and errors, that only the first run has"]
