"""The options of `kcli dump`, split by subject."""

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from formats.bounds import LARGEST_BATCH, LARGEST_BATCH_GROWN
from kcli.cli.command import number, option
from kcli.cli.parsers import parse_time, split_list
from kcli.cli.status import UsageError
from kcli.output.suggest import did_you_mean
from kcli.words import INT32, INT64, parse_integers, parse_offsets, parse_times

if TYPE_CHECKING:
    from kcli.dump.options import RecordFilter

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


def _decoder(name: str, topic: str) -> Any:
    return option(name, f"Contents decoded as those of {topic}.", TOOL)


def _modes() -> Iterable[str]:
    from kcli.dump.bytes_as import MODES

    return MODES


class ContentOptions(NamedTuple):
    """What is shown of batches and records, and how."""

    records: bool = option("--records", "Records with keys, values and headers, not batches.", CONTENTS)
    layout: bool = option("--layout", "Each field with its bytes; as text, unless -o.", CONTENTS)
    decoder: str = option(
        "--decoder TOPIC",
        "Decode records as those of TOPIC; auto (by directory) or none.",
        CONTENTS,
        usual=AUTO,
        choices=(AUTO, NONE, *DECODERS.values()),
    )
    bytes_as: str | None = option(
        "--bytes HOW", "Keys and values as base64, text, hex, size or sha256.", CONTENTS, words=_modes
    )
    redact: bool = option("--redact", "Sizes and salted hashes instead of keys, values, headers.", CONTENTS)
    salt: str | None = option("--salt TEXT", "Salt for --redact, to compare dumps; else made anew.", CONTENTS)
    max_batch_bytes: int | None = number(
        "--max-batch-bytes N", "Bound on a batch, compressed and decompressed; 10 MiB.", CONTENTS, min=1
    )

    def topic(self) -> str | None:
        """Return the topic that --decoder names; None for auto and none."""
        return self.decoder if self.decoder in DECODERS.values() else None

    def mode(self) -> str | None:
        """Return the mode of --bytes; UsageError for one that is unknown, or together with --redact."""
        if self.bytes_as is not None and self.redact:
            raise UsageError("--bytes and --redact are two ways to show contents: use only one of them")
        if self.bytes_as is not None and self.bytes_as not in _modes():
            raise UsageError(f"--bytes {self.bytes_as}: one of {', '.join(_modes())}")
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

    offsets: str | None = option("--offsets A..B", "Inclusive; either end may be left out.", SELECTION)
    time: str | None = option(
        "--time A..B", "Of records, inclusive: epoch ms, ISO-8601, 1h (ago), yesterday.", SELECTION
    )
    epoch: list[str] | None = option("--epoch 0..3,7", "Written in these leader epochs.", SELECTION)
    producer_id: list[str] | None = option("--producer-id 0..3,7", "Of these producers.", SELECTION)
    transactional: bool | None = option(
        "--transactional/--no-transactional", "Part of a transaction, or not.", SELECTION
    )
    control: bool | None = option("--control/--no-control", "Control batches, or data.", SELECTION)
    codec: list[str] | None = option("--codec NAME,...", "Of none, gzip, snappy, lz4 and zstd.", SELECTION)
    key: str | None = option("--key KEY", "Records with exactly this key.", SELECTION)
    grep: str | None = option("--grep REGEX", "Records whose key, value or header matches.", SELECTION)
    tail: int | None = option(
        "--tail N",
        "The last N batches, or records, of each partition or file named.",
        SELECTION,
        min=1,
        max=MOST_OF_A_TAIL,
    )

    def record_filter(self) -> "RecordFilter":
        """Return the filter that the options describe; UsageError for a bad value."""
        from formats.batch import COMPRESSION_NAMES
        from kcli.dump.options import RecordFilter

        codecs = split_list(self.codec)
        for name in codecs:
            if name not in COMPRESSION_NAMES.values():
                names = COMPRESSION_NAMES.values()
                raise UsageError(f"--codec {name}: {did_you_mean(name, names)}one of {', '.join(names)}")
        pattern = None if self.grep is None else os.fsencode(self.grep)
        try:
            re.compile(pattern or b"")
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(f"--grep {self.grep}: {error}") from error
        return RecordFilter(
            offsets=None if self.offsets is None else parse_offsets("--offsets", self.offsets),
            times=None if self.time is None else parse_times("--time", self.time, parse_time),
            epochs=frozenset(parse_integers("--epoch", split_list(self.epoch), -1, INT32)),
            producer_ids=frozenset(parse_integers("--producer-id", split_list(self.producer_id), -1, INT64)),
            transactional=self.transactional,
            control=self.control,
            codecs=frozenset(codecs),
            key=None if self.key is None else os.fsencode(self.key),
            grep=pattern,
        )


class ToolOptions(NamedTuple):
    """The flags of kafka-dump-log that say which files are shown, and what of them."""

    files: list[str] | None = option("--files A,B", "Paths, with commas.", TOOL)
    print_data_log: bool = option("--print-data-log", "Keys and payloads too.", TOOL)
    deep_iteration: bool = option("--deep-iteration", "A line per record too.", TOOL)
    skip_record_metadata: bool = option("--skip-record-metadata", "Contents of records alone.", TOOL)
    key_decoder_class: str = option(
        "--key-decoder-class CLASS", "Prints keys in text.", TOOL, default="", show_default=False
    )
    value_decoder_class: str = option(
        "--value-decoder-class CLASS", "Prints values in text.", TOOL, default=""
    )
    offsets_decoder: bool = _decoder("--offsets-decoder", "__consumer_offsets")
    transaction_log_decoder: bool = _decoder("--transaction-log-decoder", "__transaction_state")
    cluster_metadata_decoder: bool = _decoder("--cluster-metadata-decoder", "__cluster_metadata")
    remote_log_metadata_decoder: bool = _decoder("--remote-log-metadata-decoder", "__remote_log_metadata")
    share_group_state_decoder: bool = _decoder("--share-group-state-decoder", "__share_group_state")

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

    verify_index_only: bool = option(
        "--verify-index-only", "Compare indexes with logs; print no entries.", TOOL
    )
    index_sanity_check: bool = option(
        "--index-sanity-check", "Check indexes as a starting broker does.", TOOL
    )
    max_bytes: int = number("--max-bytes N", "Read this much of each log.", TOOL, usual=INT32, min=0)
    max_message_size: int = number(
        "--max-message-size N", "Bytes read to compare one index entry.", TOOL, usual=5 << 20, min=0
    )


class DumpOptionGroups(NamedTuple):
    """All options of `kcli dump` about what is shown."""

    contents: ContentOptions
    selection: SelectionOptions
    tool: ToolOptions
    checks: CheckOptions


def _class(option: str, name: str) -> str:
    from kcli.dump.options import STRING_DECODER
    from kcli.dump.render.decoders import DECODER_CLASSES

    if name not in {"", *DECODER_CLASSES}:
        raise UsageError(f"{option} {name}: one of {', '.join(DECODER_CLASSES)}; kcli runs no Java")
    return name or STRING_DECODER
