"""What the readers of `dump` share: options, where rows are from, findings told once, and scans that stop and go on."""

import atexit
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formats.bounds import LARGEST_BATCH
from formats.names import FileName, parse_file
from kcli.analysis.findings import Finding
from kcli.analysis.selection import Wanted
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failure_of, internal_failure
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.directory import NO_DIRECTORY, directory_facts
from kcli.logdir.tree import PARTITION, Target
from kcli.rows import Lines, Row, Value

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
    of each partition are shown, `limit` how many rows at most. `bytes_as` is one of kcli.jobs.dump_bytes.MODES; a
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


Item: TypeAlias = Row | Finding | Here
Scanned: TypeAlias = Iterator[Item]

_left: dict[tuple[Unit, Options], "tuple[Scanned, Told]"] = {}
"""The scan that stopped last in this process, at most one: if it goes on here, nothing is read or unpacked again."""
atexit.register(_left.clear)  # a scan that ends only when the interpreter has been taken apart would complain


def in_pieces(unit: Unit, options: Options, read: "Reader") -> Outcome:
    """Return what a reader gives until its rows are many or large, and the unit that goes on there."""
    left = _left.pop((unit, options), None)
    while _left:
        _left.popitem()
    if left is None:
        told = Told(unit.target)
        left = read(unit, options, told), told
    items, told = left
    rows: list[Row] = []
    findings: list[Finding] = []
    held = 0
    most_bytes = BYTES_PER_PIECE if 0 < unit.end - unit.start <= SMALL_PIECE else BYTES_PER_CALL
    most = ROWS_PER_CALL if options.limit is None else min(max(options.limit, 1), ROWS_PER_CALL)
    try:
        for item in items:
            if (
                isinstance(item, Lines)
                and rows
                and isinstance(rows[-1], Lines)
                and rows[-1].type == item.type
            ):
                rows[-1] = Lines(item.type, rows[-1].values + item.values)  # they are written together
            elif isinstance(item, Row):
                rows.append(item)
            elif isinstance(item, Finding):
                findings.append(item)
            else:
                held += item.held
                begun = item.start or item.mark  # a unit with neither is one that begins
                if begun and (len(rows) >= most or held >= most_bytes):
                    rest = replace(unit, start=item.start, mark=item.mark)
                    _left[rest, options] = items, told
                    return Outcome(
                        number=unit.number, rows=rows, findings=[*findings, *told.take()], rest=rest
                    )
    except FileError as error:
        inside = unit.target.kind == PARTITION and error.path != unit.target.path
        shown_path = (
            os.path.join(unit.target.shown, os.path.basename(error.path)) if inside else unit.target.shown
        )
        failure = failure_of(FileError(shown_path, *error.args[1:]))
        return Outcome(number=unit.number, rows=rows, findings=[*findings, *told.take()], error=failure)
    except Exception as error:  # noqa: BLE001 - the one boundary: a bug on one input must not stop the others
        failure = internal_failure(unit.target.shown, error)
        return Outcome(number=unit.number, rows=rows, findings=[*findings, *told.take()], error=failure)
    return Outcome(number=unit.number, rows=rows, findings=[*findings, *told.take()], beyond=told.beyond)


def from_file(target: Target) -> tuple[Value, ...]:
    """Return the values of kcli.rows.FROM_FILE: dir, broker_id, cluster_id, topic, partition, file."""
    directory, name = os.path.split(target.shown)
    facts = directory_facts(target.log_dir) if target.log_dir is not None else NO_DIRECTORY
    topic, partition = (shown(target.name.topic), target.name.partition) if target.name else (None, None)
    return (directory or ".", facts.broker_id, facts.cluster_id, topic, partition, name)


def file_name(target: Target) -> FileName:
    """Return what the name of a target's file says."""
    return parse_file(os.path.basename(target.path))


def sibling(target: Target, extension: str) -> str | None:
    """Return the path of another file of the same segment, with the same suffix; None if there is none."""
    directory, name = os.path.split(target.path)
    stem, _, rest = name.partition(".")
    suffix = rest.partition(".")[2]
    path = os.path.join(directory, f"{stem}.{extension}" + (f".{suffix}" if suffix else ""))
    return path if os.path.lexists(path) else None


def inside(offset: int, words: str) -> str:
    """Return words about the key or the value of a record, from whose beginning they count bytes."""
    return f"offset {offset}, inside its key or value: {words}"


class Told:
    """Findings about one file: one per code, the first in full, with how many more there are.

    What was told is taken with each piece of a scan, whichever process reads it; `findings.merged` puts the pieces together.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.first: dict[str, Finding] = {}
        self.more: dict[str, int] = {}
        self.gaps = 0
        """Damaged ranges that were met."""
        self.is_cut = False
        """Whether a log is read to a place inside of it, by choice."""
        self.beyond = False
        """Whether a piece of a log went on behind its end, or ended where the log does for who reads it."""

    def finding(self, code: str, position: int | None, message: str) -> Finding:
        """Return a finding about the file."""
        directory = os.path.dirname(self.target.shown) or "."
        return Finding(code, message, dir=directory, file=self.target.shown, position=position)

    def add(self, code: str, position: int | None, message: str) -> None:
        """Keep a finding, or count it if there is one of its code."""
        if code in self.first:
            self.more[code] += 1
        else:
            self.first[code] = self.finding(code, position, message)
            self.more[code] = 0

    def take(self) -> list[Finding]:
        """Return what was told since the last time."""
        found = [finding._replace(more=self.more[code]) for code, finding in self.first.items()]
        self.first.clear()
        self.more.clear()
        return found


Reader: TypeAlias = Callable[[Unit, Options, Told], Scanned]


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
    "Told",
    "file_name",
    "from_file",
    "in_pieces",
    "inside",
    "sibling",
]
