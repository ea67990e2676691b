"""The options of the Spark format `kcli`, as `.option(...)`, `.load(...)` or SQL's `OPTIONS (...)` give them.

| option            | meaning                                                                                        |
|-------------------|------------------------------------------------------------------------------------------------|
| `view`            | batches (the default), records, segments, epochs, rlmm, offsets or findings                    |
| `path`            | log dirs, partition directories, files, globs; several with commas between them                |
| `paths`           | the same as a JSON list, as `load([...])` writes it                                            |
| `of`              | view findings: of which views, with commas; by default of all                                  |
| `leftovers`       | true: directories that end in -delete, -stray, -future, and files that wait for removal, too   |
| `topic`           | only these topics, with commas; not for rlmm, whose events are about many                      |
| `partition`       | only these partitions, with commas; not for rlmm                                               |
| `offsets`         | batches, records: from the first to the last wanted, `A..B`, `A..` or `..B`                    |
| `times`           | the same of timestamps in epoch milliseconds; batches are judged by their largest alone        |
| `epochs`          | batches, records: only batches of these leader epochs, with commas                             |
| `producer_ids`    | batches, records: only batches of these producers, with commas                                 |
| `pushdown`        | `once`: take filters from a Spark that mixes up the scans of one load, see kcli.spark_source   |
| `partitions`      | how many tasks; by default a few per core, more for much data                                  |
| `max_batch_bytes` | bound on one batch, packed and unpacked; 64 MiB                                                |
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcli.analysis.salvage import LARGEST_BATCH
from kcli.spark_source.filters import Filter
from kcli.spark_source.views import BATCHES, EPOCHS, FINDINGS, OFFSETS, RECORDS, RLMM, SEGMENTS, VIEWS

RANGES = {
    "offsets": {BATCHES: ("last_offset", "base_offset"), RECORDS: ("offset", "offset")},
    "times": {BATCHES: ("max_timestamp", "max_timestamp"), RECORDS: ("timestamp", "timestamp")},
}
"""The columns, by view, that must not lie below the first and above the last of a range."""

LISTS = {"partition": "partition", "epochs": "partition_leader_epoch", "producer_ids": "producer_id"}
ABOUT_BATCHES = (*RANGES, "epochs", "producer_ids")
ONCE = "once"

NAMES = ("view", "path", "paths", "of", "leftovers", "topic", *RANGES, *LISTS, "pushdown", "partitions", "max_batch_bytes")
LARGEST = 2**31 - 1
OF = (BATCHES, RECORDS, SEGMENTS, EPOCHS, RLMM, OFFSETS)
"""The views that have findings."""


class OptionError(ValueError):
    """An option that cannot be used, or paths that lead nowhere; the message is what a person reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked, and of which paths."""

    view: str
    paths: tuple[str, ...]
    of: frozenset[str]
    leftovers: bool
    filters: tuple[Filter, ...]
    partitions: int | None
    max_batch_bytes: int


def view_of(options: Mapping[str, str]) -> str:
    """Return the view that is asked for; OptionError if there is none of that name, or an option is not known."""
    unknown = sorted(name for name in options if name.lower() not in NAMES)
    if unknown:
        raise OptionError(f"option {unknown[0]}: not one of {', '.join(NAMES)}")
    _one_of("pushdown", options.get("pushdown", ONCE), (ONCE,))
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
        leftovers=_one_of("leftovers", options.get("leftovers", "false").lower(), ("true", "false")) == "true",
        filters=tuple(_filters(view, options)),
        partitions=_number("partitions", options["partitions"]) if "partitions" in options else None,
        max_batch_bytes=_number("max_batch_bytes", options["max_batch_bytes"]) if "max_batch_bytes" in options else LARGEST_BATCH,
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
        yield "In", "topic", tuple(word.strip() for word in options["topic"].split(","))
    for name, column in LISTS.items():
        if name in options:
            yield "In", column, tuple(_whole(name, word) for word in options[name].split(","))
    for name, columns in RANGES.items():
        if name in options:
            yield from _range(name, options[name], *columns[view])


def _range(option: str, words: str, upper: str, lower: str) -> Iterator[Filter]:
    first, dots, last = words.partition("..")
    if not dots or not (first or last):
        raise OptionError(f"option {option} {words}: not like 100..200, 100.. or ..200")
    if first:
        yield "GreaterThanOrEqual", upper, _whole(option, first)
    if last:
        yield "LessThanOrEqual", lower, _whole(option, last)


def _whole(option: str, word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise OptionError(f"option {option} {word}: not a whole number") from None


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    given: list[str] = []
    if "path" in options:
        given += [options["path"]] if os.path.lexists(options["path"]) else options["path"].split(",")
    if "paths" in options:
        given += _listed(options["paths"])
    found = tuple(_local(path.strip()) for path in given if path.strip())
    if not found:
        raise OptionError("no path: name log dirs, partition directories or files, as load(...) or as option path")
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
        raise OptionError(f"{path}: kcli reads files, not URLs; mount or copy them to where every worker sees them")
    return "/" + rest.lstrip("/")
