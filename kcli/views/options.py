"""The options of the Spark format `kcli`, as `.option(...)`, `.load(...)` or SQL's `OPTIONS (...)` give them.

| option            | meaning |
|-------------------|---------|
| `view`            | batches (the default), records, segments, epochs, rlmm, offsets or findings |
| `path`            | log dirs, partition directories, files, globs; several with commas between them |
| `paths`           | the same as a JSON list, as `load([...])` writes it |
| `leftovers`       | true: directories -delete, -stray, -future and files that wait for removal, too |
| `topic`           | only these topics, names or globs with commas; not for rlmm: its events are about many |
| `partition`       | only these partitions, like `0..3,7`; not for rlmm |
| `offsets`         | batches, records: from the first to the last offset, `A..B`, `A..` or `..B`, inclusive |
|                   | like `kcli dump --offsets`: found by names and indexes, to two rising batches after B |
| `times`           | the same of times, such as `yesterday..` or epoch ms, like `kcli dump --time` |
| `epochs`          | batches, records: only batches of these leader epochs, like `0..3,7` |
| `producer_ids`    | batches, records: only batches of these producers, like `0..3,7` |
| `partitions`      | how many tasks; by default a few per core, more for much data |
| `max_batch_bytes` | bound on one batch, compressed and decompressed; 10 MiB |
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from formats.bounds import LARGEST_BATCH
from kcli.dump.filter import HIGHEST, LOWEST, Range, RecordFilter
from kcli.logdir.targets import Selection
from kcli.times import TimeWordError, moment_ms
from kcli.views.definitions import BATCHES, RECORDS, RLMM, VIEWS

OF_PARTITIONS = ("topic", "partition")
OF_BATCHES = ("offsets", "times", "epochs", "producer_ids")
NAMES = (
    "view",
    "path",
    "paths",
    "leftovers",
    *OF_PARTITIONS,
    *OF_BATCHES,
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


class OptionError(ValueError):
    """An option that cannot be used, or paths that lead nowhere; the message is what a person reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewQuery:
    """The view, the paths, and what limits the rows.

    `selection`: the partitions that are read; of the view rlmm the user partitions that events are about.
    """

    view: str
    paths: tuple[str, ...]
    selection: Selection
    filter: RecordFilter
    partitions: int | None
    max_batch_bytes: int


def view_of(options: Mapping[str, str]) -> str:
    """Return the view that the options name; OptionError for an unknown view or option."""
    unknown = sorted(name for name in options if name.lower() not in NAMES)
    if any(name.lower() in OF_A_CATALOG or name.lower().startswith("option.") for name in unknown):
        raise OptionError(NO_TABLES)
    if unknown:
        raise OptionError(f"option {unknown[0]}: not one of {', '.join(NAMES)}")
    return _one_of("view", options.get("view", BATCHES), tuple(VIEWS))


def query(options: Mapping[str, str]) -> ViewQuery:
    """Return what options ask for; OptionError names the first that cannot be used."""
    view = view_of(options)
    for name in options:
        if name in {*OF_PARTITIONS, *OF_BATCHES} and name not in macro_options(view):
            raise OptionError(f"option {name}: it is not for the view {view}; compare columns in the query")

    def parsed(name: str, parse: Callable[[str, str], Any], default: Any) -> Any:
        return parse(name, options[name]) if name in options else default

    topics = parsed("topic", _topics, ())
    partitions = parsed("partition", _partitions, frozenset())
    leftovers = _one_of("leftovers", options.get("leftovers", "false").lower(), ("true", "false")) == "true"
    return ViewQuery(
        view=view,
        paths=_paths(options),
        selection=Selection(topics=topics, partitions=partitions, include_leftovers=leftovers),
        filter=RecordFilter(
            offsets=parsed("offsets", _range, None),
            times=parsed("times", _range, None),
            epochs=parsed("epochs", _numbers, frozenset()),
            producer_ids=parsed("producer_ids", _numbers, frozenset()),
        ),
        partitions=parsed("partitions", _number, None),
        max_batch_bytes=parsed("max_batch_bytes", _number, LARGEST_BATCH),
    )


def macro_options(view: str) -> tuple[str, ...]:
    """Return the options of a view that limit its rows; where to read, and leftovers, are for all views."""
    of_logs = (*OF_BATCHES, "max_batch_bytes") if view in {BATCHES, RECORDS} else ()
    return (*(() if view == RLMM else OF_PARTITIONS), *of_logs)


def _one_of(option: str, word: str, allowed: tuple[str, ...]) -> str:
    if word not in allowed:
        raise OptionError(f"option {option} {word}: one of {', '.join(allowed)}")
    return word


def _number(option: str, word: str) -> int:
    if not (word.isascii() and word.isdecimal() and 0 < int(word) <= LARGEST):
        raise OptionError(f"option {option} {word}: a number from 1 to {LARGEST}")
    return int(word)


def _topics(option: str, words: str) -> tuple[str, ...]:
    topics = tuple(word.strip() for word in words.split(","))
    if not all(topics):
        raise OptionError(f"option {option}: an empty name; leave it out for all topics")
    return topics


def _partitions(option: str, words: str) -> frozenset[int]:
    """Return the partitions of a list like `0..3,7` or `0-3,7`, ranges inclusive: as `--partition` has it."""
    numbers = _numbers(option, words)
    if min(numbers) < 0 or max(numbers) > LARGEST:
        raise OptionError(f"option {option} {words}: not numbers from 0 to {LARGEST}")
    return numbers


def _numbers(option: str, words: str) -> frozenset[int]:
    """Return the numbers of a list like `0..3,7`, ranges inclusive."""
    ranges = []
    for word in words.split(","):
        first, dots, last = (word.replace("-", "..") if option == "partition" else word).partition("..")
        if dots and not (first and last):
            raise OptionError(f"option {option} {words}: write both ends of a range, such as 0..99")
        ranges.append(range(_whole(option, first), _whole(option, last or first) + 1))
        if not ranges[-1]:
            raise OptionError(f"option {option} {words}: the range {word.strip()} is empty")
    if sum(each.stop - each.start for each in ranges) > MOST_NUMBERS:
        raise OptionError(f"option {option} {words}: more than {MOST_NUMBERS} numbers")
    return frozenset(chain.from_iterable(ranges))


def _range(option: str, words: str) -> Range:
    """Return the first and the last of `A..B`, `A..` or `..B`."""
    first, dots, last = words.partition("..")
    if not dots or not (first or last):
        raise OptionError(f"option {option} {words}: not like 100..200, 100.. or ..200")
    parse = _moment if option == "times" else _whole
    low, high = parse(option, first) if first else LOWEST, parse(option, last) if last else HIGHEST
    if low > high:
        raise OptionError(f"option {option} {words}: the first is beyond the last")
    return low, high


def _moment(option: str, word: str) -> int:
    try:
        return moment_ms(word.strip())
    except TimeWordError as error:
        raise OptionError(f"option {option}: {error}") from error


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
