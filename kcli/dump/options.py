"""What the readers of `dump` share: options, where rows are from, findings told once, and scans that stop and go on."""

import atexit
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formats.bounds import LARGEST_BATCH
from kcli.analysis.collector import FindingCollector
from kcli.analysis.findings import Finding
from kcli.analysis.selection import Wanted
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failed, internal_failure
from kcli.logdir.buffers import FileError
from kcli.rows import Item as AnyItem
from kcli.rows import TextBlock

if TYPE_CHECKING:
    from kcli.output.structured import Form

ROWS_PER_CALL = 2000
BYTES_PER_CALL = 4 << 20
SMALL_PIECE = 8 << 20
BYTES_PER_PIECE = 32 << 20
"""Of a small piece of a log: it is better told at once than when its turn has come."""
MAX_INT = 2**31 - 1
LARGEST_OFFSET = 2**63 - 1
MOST_GAPS = 1000
"""Damaged ranges of one file that are told one by one."""
EVERYTHING = Wanted()
STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What of the files is shown; the words of kafka-dump-log have its names.

    `decoder` is the internal topic whose decoder shows the contents of records; None shows them as they are, unless
    `decode_by_name`, which takes the decoder of the topic that a directory is named after; `key_decoder` and `value_decoder` are
    the classes that print other contents in text. `tail` is how many of the last batches (or records)
    of each partition are shown, `limit` how many rows at most. `bytes_as` is one of kcli.dump.shown_bytes.MODES; a
    `salt` redacts keys and values. `blocks`: rows of logs as Arrow where they can be made in bulk; `form`: as the text of a format. `max_batch_bytes` bounds a batch, compressed and decompressed.
    """

    records: bool = False
    text: bool = False
    blocks: bool = False
    form: "Form | None" = None
    layout: bool = False
    print_data_log: bool = False
    skip_record_metadata: bool = False
    decoder: str | None = None
    decode_by_name: bool = False
    key_decoder: str = STRING_DECODER
    value_decoder: str = STRING_DECODER
    max_bytes: int = MAX_INT
    max_message_size: int = 5 << 20
    verify_index_only: bool = False
    index_sanity_check: bool = False
    wanted: Wanted = EVERYTHING
    tail: int | None = None
    limit: int | None = None
    bytes_as: str | None = None
    salt: bytes | None = None
    max_batch_bytes: int = LARGEST_BATCH

    @property
    def selects(self) -> bool:
        """Whether only some batches are wanted, so that other files have nothing to say."""
        return bool(self.wanted) or self.tail is not None


class Here(NamedTuple):
    """A place where a scan can stop: all before it is delivered, a unit with this start and mark goes on behind it.

    `held` counts the bytes of the rows since the last such place.
    """

    start: int
    mark: int
    held: int = 0


Item: TypeAlias = AnyItem | Finding | Here
Scanned: TypeAlias = Iterator[Item]

_left: dict[tuple[Unit, Options], "tuple[Scanned, FindingCollector]"] = {}
"""The scan that stopped last in this process, at most one: if it goes on here, nothing is read or unpacked again."""
atexit.register(_left.clear)  # a scan that ends only when the interpreter has been taken apart would complain


def in_pieces(unit: Unit, options: Options, read: "Reader") -> Outcome:
    """Return what a reader gives until its rows are many or large, and the unit that goes on there."""
    left = _left.pop((unit, options), None)
    while _left:
        _left.popitem()
    if left is None:
        told = FindingCollector(unit.target)
        left = read(unit, options, told), told
    items, told = left
    rows: list[AnyItem] = []
    findings: list[Finding] = []
    held = 0
    most_bytes = BYTES_PER_PIECE if 0 < unit.end - unit.start <= SMALL_PIECE else BYTES_PER_CALL
    most = ROWS_PER_CALL if options.limit is None else min(max(options.limit, 1), ROWS_PER_CALL)
    try:
        for item in items:
            if (
                isinstance(item, TextBlock)
                and rows
                and isinstance(rows[-1], TextBlock)
                and rows[-1].type_name == item.type_name
            ):
                rows[-1] = TextBlock(
                    item.type_name, rows[-1].buffers + item.buffers
                )  # they are written together
            elif isinstance(item, Finding):
                findings.append(item)
            elif not isinstance(item, Here):
                rows.append(item)
            else:
                held += item.held
                begun = item.start or item.mark  # a unit with neither is one that begins
                if begun and (len(rows) >= most or held >= most_bytes):
                    rest = replace(unit, start=item.start, mark=item.mark)
                    _left[rest, options] = items, told
                    return Outcome(
                        number=unit.number, rows=rows, findings=[*findings, *told.take()], continuation=rest
                    )
    except FileError as error:
        outcome = failed(unit, error)
        return replace(outcome, rows=rows, findings=[*findings, *told.take(), *outcome.findings])
    except Exception as error:  # noqa: BLE001 - the one boundary: a bug on one input must not stop the others
        failure = internal_failure(unit.target.shown, error)
        return Outcome(number=unit.number, rows=rows, findings=[*findings, *told.take()], error=failure)
    return Outcome(
        number=unit.number, rows=rows, findings=[*findings, *told.take()], ran_past_end=told.ran_past_end
    )


def inside(offset: int, words: str) -> str:
    """Return words about the key or the value of a record, from whose beginning they count bytes."""
    return f"offset {offset}, inside its key or value: {words}"


Reader: TypeAlias = Callable[[Unit, Options, FindingCollector], Scanned]


__all__ = [
    "BYTES_PER_CALL",
    "LARGEST_OFFSET",
    "MAX_INT",
    "ROWS_PER_CALL",
    "Here",
    "Item",
    "Options",
    "Reader",
    "Scanned",
    "in_pieces",
    "inside",
]
