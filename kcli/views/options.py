"""The options of the Spark format `kcli`, as `.option(...)`, `.load(...)` or SQL's `OPTIONS (...)` give them.

| option            | meaning |
|-------------------|---------|
| `view`            | batches (the default), records, segments, epochs, rlmm, offsets or findings |
| `path`            | log dirs, partition directories, files, globs; several with commas between them |
| `paths`           | the same as a JSON list, as `load([...])` writes it |
| `of`              | view findings: of which views, with commas; by default of all |
| `leftovers`       | true: directories -delete, -stray, -future and files that wait for removal, too |
| `topic`           | only these topics, names or globs with commas; not for rlmm: its events are about many |
| `partition`       | only these partitions, like `0..3,7`; not for rlmm |
| `offsets`         | batches, records: from the first to the last offset, `A..B`, `A..` or `..B`, inclusive |
|                   | like `kcli dump --offsets`: found by names and indexes, to two rising batches after B |
| `times`           | the same of times, such as `yesterday..` or epoch ms, by the largest of a batch |
| `epochs`          | batches, records: only batches of these leader epochs, like `0..3,7` |
| `producer_ids`    | batches, records: only batches of these producers, like `0..3,7` |
| `partitions`      | how many tasks; by default a few per core, more for much data |
| `max_batch_bytes` | bound on one batch, compressed and decompressed; 10 MiB |
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from formats.bounds import LARGEST_BATCH
from kcli.logdir.select import ALL_PARTITIONS, Selection
from kcli.times import TimeWordError, moment_ms
from kcli.views.definitions import BATCHES, EPOCHS, FINDINGS, OFFSETS, RECORDS, RLMM, SEGMENTS, VIEWS
from kcli.views.filters import HIGHEST, LOWEST, MATCHES, Filter

RANGES = {
    "offsets": {BATCHES: ("last_offset", "base_offset"), RECORDS: ("offset", "offset")},
    "times": {BATCHES: ("max_timestamp", "max_timestamp"), RECORDS: ("timestamp", "timestamp")},
}
"""The columns, by view, that must not lie below the first and above the last of a range."""

LISTS = {"epochs": "partition_leader_epoch", "producer_ids": "producer_id"}
ABOUT_BATCHES = (*RANGES, *LISTS)

NAMES = (
    "view",
    "path",
    "paths",
    "of",
    "leftovers",
    "topic",
    "partition",
    *RANGES,
    *LISTS,
    "partitions",
    "max_batch_bytes",
)
LARGEST = 2**31 - 1
MOST_NUMBERS = 1_000_000
OF_A_CATALOG = frozenset({"location", "external", "owner", "provider", "transient_lastddltime"})
"""What Spark's catalog adds to the options of a table.

It also writes them a second time, with `option.` before their names.
"""
NO_TABLES = (
    "Spark gives a Python data source no options of a table: use CREATE TEMPORARY VIEW name USING kcli "
    "OPTIONS (...)"
)
OF = (BATCHES, RECORDS, SEGMENTS, EPOCHS, RLMM, OFFSETS)
"""The views that have findings."""


class OptionError(ValueError):
    """An option that cannot be used, or paths that lead nowhere; the message is what a person reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The view, the paths, and what limits the rows."""

    view: str
    paths: tuple[str, ...]
    of: frozenset[str]
    leftovers: bool
    filters: tuple[Filter, ...]
    partitions: int | None
    max_batch_bytes: int
    users: Selection = ALL_PARTITIONS
    """Of the view rlmm: which user partitions its events are about."""


def view_of(options: Mapping[str, str]) -> str:
    """Return the view that the options name; OptionError for an unknown view or option."""
    unknown = sorted(name for name in options if name.lower() not in NAMES)
    if any(name.lower() in OF_A_CATALOG or name.lower().startswith("option.") for name in unknown):
        raise OptionError(NO_TABLES)
    if unknown:
        raise OptionError(f"option {unknown[0]}: not one of {', '.join(NAMES)}")
    return _one_of("view", options.get("view", BATCHES), tuple(VIEWS))


def query(options: Mapping[str, str]) -> Query:
    """Return what options ask for; OptionError names the first that cannot be used."""
    view = view_of(options)
    if view != FINDINGS and "of" in options:
        raise OptionError(f"option of: it is about the view {FINDINGS}")
    of = frozenset(_one_of("of", word.strip(), OF) for word in options.get("of", ",".join(OF)).split(","))
    return Query(
        view=view,
        paths=_paths(options),
        of=of,
        leftovers=_one_of("leftovers", options.get("leftovers", "false").lower(), ("true", "false"))
        == "true",
        filters=tuple(_filters(view, options)),
        partitions=_number("partitions", options["partitions"]) if "partitions" in options else None,
        max_batch_bytes=_number("max_batch_bytes", options["max_batch_bytes"])
        if "max_batch_bytes" in options
        else LARGEST_BATCH,
    )


def _one_of(option: str, word: str, allowed: tuple[str, ...]) -> str:
    if word not in allowed:
        raise OptionError(f"option {option} {word}: one of {', '.join(allowed)}")
    return word


def _number(option: str, word: str) -> int:
    if not (word.isascii() and word.isdecimal() and 0 < int(word) <= LARGEST):
        raise OptionError(f"option {option} {word}: a number from 1 to {LARGEST}")
    return int(word)


def _filters(view: str, options: Mapping[str, str]) -> Iterator[Filter]:
    """Yield what the options leave out, in the form in which Spark pushes filters."""
    for name in ("topic", "partition", *ABOUT_BATCHES):
        if name in options and (view == RLMM or (name in ABOUT_BATCHES and view not in {BATCHES, RECORDS})):
            raise OptionError(f"option {name}: it is not for the view {view}; compare columns in the query")
    if "topic" in options:
        yield MATCHES, "topic", tuple(_topic(word.strip()) for word in options["topic"].split(","))
    if "partition" in options:
        yield "In", "partition", tuple(_partitions(options["partition"]))
    for name, column in LISTS.items():
        if name in options:
            yield "In", column, tuple(_numbers(name, options[name]))
    for name, columns in RANGES.items():
        if name in options:
            yield from _range(name, options[name], *columns[view])


def _topic(word: str) -> str:
    if not word:
        raise OptionError("option topic: an empty name; leave it out for all topics")
    return word


def _partitions(words: str) -> Iterator[int]:
    """Yield the partitions of a list like `0..3,7` or `0-3,7`, ranges inclusive: as `--partition` has it."""
    count = 0
    for word in words.split(","):
        found = re.fullmatch(r"\s*([0-9]{1,10})(?:(?:-|\.\.)([0-9]{1,10}))?\s*", word, re.ASCII)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not first <= last <= LARGEST:
            raise OptionError(
                f"option partition {words}: not numbers from 0 to {LARGEST} or ranges that go up, like 0..3,7"
            )
        count += last - first + 1
        if count > MOST_NUMBERS:
            raise OptionError(f"option partition {words}: more than {MOST_NUMBERS} partitions")
        yield from range(first, last + 1)


def _range(option: str, words: str, upper: str, lower: str) -> Iterator[Filter]:
    first, dots, last = words.partition("..")
    if not dots or not (first or last):
        raise OptionError(f"option {option} {words}: not like 100..200, 100.. or ..200")
    whole = _moment if option == "times" else _whole
    low, high = whole(option, first) if first else LOWEST, whole(option, last) if last else HIGHEST
    if low > high:
        raise OptionError(f"option {option} {words}: the first is beyond the last")
    if first:
        yield "GreaterThanOrEqual", upper, low
    if last:
        yield "LessThanOrEqual", lower, high


def _moment(option: str, word: str) -> int:
    try:
        return moment_ms(word.strip())
    except TimeWordError as error:
        raise OptionError(f"option {option}: {error}") from error


def _numbers(option: str, words: str) -> Iterator[int]:
    """Yield the numbers of a list like `0..3,7`, ranges inclusive."""
    count = 0
    for word in words.split(","):
        first, dots, last = word.strip().partition("..")
        if dots and not (first and last):
            raise OptionError(f"option {option} {words}: write both ends of a range, such as 0..99")
        begin = _whole(option, first)
        end = _whole(option, last) if dots else begin
        if end < begin:
            raise OptionError(f"option {option} {words}: the range {word.strip()} is empty")
        count += end - begin + 1
        if count > MOST_NUMBERS:
            raise OptionError(f"option {option} {words}: more than {MOST_NUMBERS} numbers")
        yield from range(begin, end + 1)


def _whole(option: str, word: str) -> int:
    if not re.fullmatch(r"\s*-?[0-9]{1,19}\s*", word, re.ASCII) or not LOWEST <= int(word) <= HIGHEST:
        raise OptionError(f"option {option} {word}: not a whole number of 64 bits")
    return int(word)


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    given: list[str] = []
    if "path" in options:
        given += [options["path"]] if os.path.lexists(options["path"]) else options["path"].split(",")
    if "paths" in options:
        given += _listed(options["paths"])
    found = tuple(_local(path if os.path.lexists(path) else path.strip()) for path in given if path.strip())
    if not found:
        table = "" if options else f"; where this is a table: {NO_TABLES}"
        raise OptionError(
            f"no path: name log dirs, partition directories or files, as load(...) or as option path{table}"
        )
    return found


def _listed(words: str) -> list[str]:
    try:
        paths = json.loads(words)
    except ValueError:
        return words.split(",")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise OptionError("option paths: a JSON list of texts, or texts with commas between them")
    return paths


def _local(path: str) -> str:
    """Return a path that can be opened: Spark's users write file:/data as well."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme or os.path.lexists(path) or not rest.startswith("/"):
        return path
    if scheme != "file":
        raise OptionError(
            f"{path}: kcli reads files, not URLs; mount or copy them to where every worker sees them"
        )
    return "/" + rest.lstrip("/")
