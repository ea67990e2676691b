"""The options of `kcli dump`, split by subject; `kcli.cli.options.common_options` unfolds them."""

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from formats.bounds import LARGEST_BATCH, LARGEST_BATCH_GROWN
from kcli.cli.options import INT32, INT64, UsageError, parse_integers, parse_time, split_list

if TYPE_CHECKING:
    from kcli.dump.filter import RecordFilter

SELECTION, CONTENTS, TOOL = "Selection", "Contents", "As kafka-dump-log"
DECODERS = {
    "offsets_decoder": "__consumer_offsets",
    "transaction_log_decoder": "__transaction_state",
    "cluster_metadata_decoder": "__cluster_metadata",
    "remote_log_metadata_decoder": "__remote_log_metadata",
    "share_group_state_decoder": "__share_group_state",
}
MOST_OF_A_TAIL = 100_000
"""What --tail may ask for: it is held in memory."""
AUTO, NONE = "auto", "none"


def _option(*names: str, panel: str, text: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False, **more)


def _decoder(name: str, topic: str) -> Any:
    return _option(name, panel=TOOL, text=f"Contents decoded as those of {topic}.")


class ContentOptions(NamedTuple):
    """What is shown of batches and records, and how."""

    records: Annotated[
        bool, _option("--records", panel=CONTENTS, text="Records with keys, values and headers, not batches.")
    ] = False
    layout: Annotated[
        bool,
        _option("--layout", panel=CONTENTS, text="Each field with its bytes; as text, unless -o."),
    ] = False
    decoder: Annotated[
        str,
        _option(
            "--decoder",
            panel=CONTENTS,
            metavar="TOPIC",
            text="Decode records as those of TOPIC; auto (by directory) or none.",
        ),
    ] = AUTO
    bytes_as: Annotated[
        str | None,
        _option(
            "--bytes",
            panel=CONTENTS,
            metavar="HOW",
            text="Keys and values as base64, text, hex, size or sha256.",
        ),
    ] = None
    redact: Annotated[
        bool,
        _option("--redact", panel=CONTENTS, text="Sizes and salted hashes instead of keys, values, headers."),
    ] = False
    salt: Annotated[
        str | None,
        _option(
            "--salt",
            panel=CONTENTS,
            metavar="TEXT",
            text="Salt for --redact, to compare dumps; else made anew.",
        ),
    ] = None
    max_batch_bytes: Annotated[
        int | None,
        _option(
            "--max-batch-bytes",
            panel=CONTENTS,
            metavar="N",
            min=1,
            max=INT32,
            text="Bound on a batch, compressed and decompressed; 10 MiB.",
        ),
    ] = None

    def topic(self) -> str | None:
        """Return the topic that --decoder names; None for auto and none."""
        names = (AUTO, NONE, *DECODERS.values())
        if self.decoder not in names:
            raise UsageError(f"--decoder {self.decoder}: one of {', '.join(names)}")
        return self.decoder if self.decoder in DECODERS.values() else None

    def mode(self) -> str | None:
        """Return the mode of --bytes; UsageError for one that is unknown, or together with --redact."""
        from kcli.dump.shown_bytes import MODES

        if self.bytes_as is not None and self.redact:
            raise UsageError("--bytes and --redact are two ways to show contents: use only one of them")
        if self.bytes_as not in {None, *MODES}:
            raise UsageError(f"--bytes {self.bytes_as}: one of {', '.join(MODES)}")
        return self.bytes_as

    def salt_bytes(self) -> bytes | None:
        """Return the salt of --redact, random if none is given; None without --redact."""
        if not self.redact:
            if self.salt is not None:
                raise UsageError("--salt is for --redact")
            return None
        if not self.salt and self.salt is not None:
            raise UsageError("--salt: an empty salt hides nothing")
        return os.urandom(16) if self.salt is None else os.fsencode(self.salt)

    def largest_batch(self, out: str | None) -> int:
        """Return the bound on a batch in bytes; text and hex in Parquet take more memory."""
        grows = self.bytes_as in {"text", "hex"} and out is not None and out.endswith(".parquet")
        return self.max_batch_bytes or (LARGEST_BATCH_GROWN if grows else LARGEST_BATCH)


class SelectionOptions(NamedTuple):
    """Which batches and records are shown."""

    offsets: Annotated[
        str | None,
        _option("--offsets", panel=SELECTION, metavar="A..B", text="Inclusive; either end may be left out."),
    ] = None
    time: Annotated[
        str | None,
        _option(
            "--time",
            panel=SELECTION,
            metavar="A..B",
            text="Of records, inclusive: epoch ms, ISO-8601, 1h (ago), yesterday.",
        ),
    ] = None
    epoch: Annotated[
        list[str] | None,
        _option("--epoch", panel=SELECTION, metavar="0..3,7", text="Written in these leader epochs."),
    ] = None
    producer_id: Annotated[
        list[str] | None,
        _option("--producer-id", panel=SELECTION, metavar="0..3,7", text="Of these producers."),
    ] = None
    transactional: Annotated[
        bool | None,
        _option("--transactional/--no-transactional", panel=SELECTION, text="Part of a transaction, or not."),
    ] = None
    control: Annotated[
        bool | None, _option("--control/--no-control", panel=SELECTION, text="Control batches, or data.")
    ] = None
    codec: Annotated[
        list[str] | None,
        _option("--codec", panel=SELECTION, metavar="NAME,...", text="Of none, gzip, snappy, lz4 and zstd."),
    ] = None
    key: Annotated[
        str | None, _option("--key", panel=SELECTION, metavar="KEY", text="Records with exactly this key.")
    ] = None
    grep: Annotated[
        str | None,
        _option(
            "--grep", panel=SELECTION, metavar="REGEX", text="Records whose key, value or header matches."
        ),
    ] = None
    tail: Annotated[
        int | None,
        _option(
            "--tail",
            panel=SELECTION,
            metavar="N",
            min=1,
            text="The last N batches, or records, of each partition or file named.",
            max=MOST_OF_A_TAIL,
        ),
    ] = None

    def record_filter(self) -> "RecordFilter":
        """Return the filter that the options describe; UsageError for a bad value."""
        from formats.batch import COMPRESSION_NAMES
        from kcli.dump.filter import RecordFilter

        codecs = split_list(self.codec)
        for name in codecs:
            if name not in COMPRESSION_NAMES.values():
                from kcli.output.suggest import did_you_mean

                known = COMPRESSION_NAMES.values()
                raise UsageError(f"--codec {name}: {did_you_mean(name, known)}one of {', '.join(known)}")
        pattern = None if self.grep is None else os.fsencode(self.grep)
        try:
            re.compile(pattern or b"")
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(f"--grep {self.grep}: {error}") from error
        return RecordFilter(
            offsets=None if self.offsets is None else parse_offsets(self.offsets),
            times=None if self.time is None else _times(self.time),
            epochs=parse_integers("--epoch", self.epoch, -1, INT32),
            producer_ids=parse_integers("--producer-id", self.producer_id, -1, INT64),
            transactional=self.transactional,
            control=self.control,
            codecs=frozenset(codecs),
            key=None if self.key is None else os.fsencode(self.key),
            grep=pattern,
        )


class ToolOptions(NamedTuple):
    """The flags of kafka-dump-log that say which files are shown, and what of them."""

    files: Annotated[
        list[str] | None,
        _option("--files", panel=TOOL, metavar="A,B", text="Paths, with commas."),
    ] = None
    print_data_log: Annotated[
        bool, _option("--print-data-log", panel=TOOL, text="Keys and payloads too.")
    ] = False
    deep_iteration: Annotated[
        bool, _option("--deep-iteration", panel=TOOL, text="A line per record too.")
    ] = False
    skip_record_metadata: Annotated[
        bool, _option("--skip-record-metadata", panel=TOOL, text="Contents of records alone.")
    ] = False
    key_decoder_class: Annotated[
        str, _option("--key-decoder-class", panel=TOOL, metavar="CLASS", text="Prints keys in text.")
    ] = ""
    value_decoder_class: Annotated[
        str, _option("--value-decoder-class", panel=TOOL, metavar="CLASS", text="Prints values in text.")
    ] = ""
    offsets_decoder: Annotated[bool, _decoder("--offsets-decoder", "__consumer_offsets")] = False
    transaction_log_decoder: Annotated[bool, _decoder("--transaction-log-decoder", "__transaction_state")] = (
        False
    )
    cluster_metadata_decoder: Annotated[
        bool, _decoder("--cluster-metadata-decoder", "__cluster_metadata")
    ] = False
    remote_log_metadata_decoder: Annotated[
        bool, _decoder("--remote-log-metadata-decoder", "__remote_log_metadata")
    ] = False
    share_group_state_decoder: Annotated[
        bool, _decoder("--share-group-state-decoder", "__share_group_state")
    ] = False

    def paths(self) -> list[str]:
        """Return the paths of --files; as Java splits them, without empty ones at the end."""
        if not self.files:
            return []
        if len(self.files) > 1:
            raise UsageError(
                "--files is given more than once: name all paths in one, with commas between them"
            )
        paths = self.files[0].split(",")
        while paths and not paths[-1]:
            paths.pop()
        return paths

    def topic(self) -> str | None:
        """Return the topic whose decoder has its own flag here, the first of several; None for no flag."""
        return next((topic for name, topic in DECODERS.items() if getattr(self, name)), None)

    def decoder_classes(self) -> tuple[str, str]:
        """Return the classes that print keys and values; UsageError for one that kcli does not have."""
        return (
            _class("--key-decoder-class", self.key_decoder_class),
            _class("--value-decoder-class", self.value_decoder_class),
        )


class CheckOptions(NamedTuple):
    """The flags of kafka-dump-log about the checks of indexes, and how much is read for them."""

    verify_index_only: Annotated[
        bool, _option("--verify-index-only", panel=TOOL, text="Compare indexes with logs; print no entries.")
    ] = False
    index_sanity_check: Annotated[
        bool, _option("--index-sanity-check", panel=TOOL, text="Check indexes as a starting broker does.")
    ] = False
    max_bytes: Annotated[
        int,
        _option("--max-bytes", panel=TOOL, metavar="N", min=0, max=INT32, text="Read this much of each log."),
    ] = INT32
    max_message_size: Annotated[
        int,
        _option(
            "--max-message-size",
            panel=TOOL,
            metavar="N",
            min=0,
            max=INT32,
            text="Bytes read to compare one index entry.",
        ),
    ] = 5 << 20


def _class(option: str, name: str) -> str:
    from kcli.dump.options import STRING_DECODER
    from kcli.dump.render.decoders import DECODER_CLASSES

    if name not in {"", *DECODER_CLASSES}:
        raise UsageError(f"{option} {name}: one of {', '.join(DECODER_CLASSES)}; kcli runs no Java")
    return name or STRING_DECODER


def parse_offsets(words: str) -> tuple[int, int]:
    """Return the first and last offset of `A..B`, `A..`, `..B` or `A`."""
    first, dots, last = words.partition("..")
    low = high = -1
    if re.fullmatch(r"[0-9]{1,19}|[0-9]{0,19}\.\.[0-9]{0,19}", words):
        low = int(first) if first else 0
        high = int(last) if last else INT64 if dots else low
    if not (first or last) or not 0 <= low <= INT64 or not 0 <= high <= INT64:
        raise UsageError(f"--offsets {words}: expected offsets such as 100..200, 100.., ..200 or 100")
    if low > high:
        raise UsageError(f"--offsets {words}: the range is empty; did you mean {high}..{low}?")
    return low, high


def _times(words: str) -> tuple[int, int]:
    """Return the first and last time of `A..B`, `A..` or `..B`, in epoch ms."""
    first, dots, last = words.partition("..")
    if not dots or not (first or last):
        raise UsageError(
            f"--time {words}: expected times such as 2026-01-31T10:00..2026-01-31T11:00, 1h.. (ago) or "
            "..yesterday"
        )
    low, high = parse_time(first) if first else -INT64 - 1, parse_time(last) if last else INT64
    if low > high:
        raise UsageError(f"--time {words}: the range is empty, it ends before it begins")
    return low, high
