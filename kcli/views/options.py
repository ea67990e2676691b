"""The options of the Spark format `kcli`, as `.option(...)`, `.load(...)` or SQL's `OPTIONS (...)` give them.

| option            | meaning |
|-------------------|---------|
| `view`            | batches (the default), records, segments, epochs, rlmm, offsets, producers, |
|                   | groups, group_offsets, transactions, retention, retention_partitions,       |
|                   | compact, metadata_topics,                                                   |
|                   | metadata_partitions, metadata_brokers, metadata_configs or findings         |
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
from collections.abc import Mapping
from dataclasses import dataclass

from formats.bounds import LARGEST_BATCH
from kcli.dump.options import RecordFilter
from kcli.logdir.targets import Selection
from kcli.views.definitions import BATCHES, OF_USERS, RECORDS, VIEWS
from kcli.words import (
    INT32,
    INT64,
    WordError,
    integer,
    moment_ms,
    parse_integers,
    parse_offsets,
    parse_partitions,
    parse_times,
)

OF_PARTITIONS = ("topic", "partition")
OF_BATCHES = ("offsets", "times", "epochs", "producer_ids")
OPTION_NAMES = (
    *("view", "path", "paths", "leftovers", *OF_PARTITIONS, *OF_BATCHES),
    *("partitions", "max_batch_bytes"),
)
OF_A_CATALOG = frozenset({"location", "external", "owner", "provider", "transient_lastddltime"})
"""What Spark's catalog adds to the options of a table, also a second time after `option.`."""
NO_TABLES = (
    "Spark gives a Python data source no options of a table: use CREATE TEMPORARY VIEW name USING kcli "
    "OPTIONS (...)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewQuery:
    """The view, the paths, and what limits the rows: of rlmm `selection` is about events."""

    view: str
    paths: tuple[str, ...]
    selection: Selection
    filter: RecordFilter
    partitions: int | None
    max_batch_bytes: int


def view_of(options: Mapping[str, str]) -> str:
    """Return the view that the options name; WordError for an unknown view or option."""
    unknown = sorted(name for name in options if name.lower() not in OPTION_NAMES)
    if any(name.lower() in OF_A_CATALOG or name.lower().startswith("option.") for name in unknown):
        raise WordError(NO_TABLES)
    if unknown:
        raise WordError(f"option {unknown[0]}: not one of {', '.join(OPTION_NAMES)}")
    return _one_of("view", options.get("view", BATCHES), tuple(VIEWS))


def query(options: Mapping[str, str]) -> ViewQuery:
    """Return what options ask for; WordError names the first that cannot be used."""
    view = view_of(options)
    for name in options:
        if name in {*OF_PARTITIONS, *OF_BATCHES} and name not in macro_options(view):
            raise WordError(f"option {name}: it is not for the view {view}; compare columns in the query")

    values = {name: [item.strip() for item in value.split(",")] for name, value in options.items()}
    leftovers = _one_of("leftovers", options.get("leftovers", "false").lower(), ("true", "false")) == "true"
    if not all(values.get("topic", ())):
        raise WordError("option topic: an empty name; leave it out for all topics")

    def number(name: str) -> int | None:
        return integer(options[name], f"option {name}", 1, INT32) if name in options else None

    def numbers(name: str, highest: int) -> frozenset[int]:
        return frozenset(parse_integers(f"option {name}", values.get(name, []), -1, highest))

    return ViewQuery(
        view=view,
        paths=_paths(options),
        selection=Selection(
            topics=tuple(values.get("topic", ())),
            partitions=parse_partitions(values.get("partition", [])),
            include_leftovers=leftovers,
        ),
        filter=RecordFilter(
            offsets=parse_offsets("option offsets", options["offsets"]) if "offsets" in options else None,
            times=parse_times("option times", options["times"], moment_ms) if "times" in options else None,
            epochs=numbers("epochs", INT32),
            producer_ids=numbers("producer_ids", INT64),
        ),
        partitions=number("partitions"),
        max_batch_bytes=number("max_batch_bytes") or LARGEST_BATCH,
    )


def macro_options(view: str) -> tuple[str, ...]:
    """Return the options of a view that limit its rows; where to read, and leftovers, are for all views."""
    of_logs = (*OF_BATCHES, "max_batch_bytes") if view in {BATCHES, RECORDS} else ()
    return (*(() if view in OF_USERS else OF_PARTITIONS), *of_logs)


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise WordError(f"option {option} {value}: one of {', '.join(allowed)}")
    return value


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    texts: list[str] = []
    if "path" in options:
        texts += [options["path"]] if os.path.lexists(options["path"]) else options["path"].split(",")
    if "paths" in options:
        texts += _listed(options["paths"])
    paths = tuple(_local(path if os.path.lexists(path) else path.strip()) for path in texts if path.strip())
    if not paths:
        table = "" if options else f"; where this is a table: {NO_TABLES}"
        raise WordError(
            f"no path: name log dirs, partition directories or files, as load(...) or as option path{table}"
        )
    return paths


def _listed(text: str) -> list[str]:
    try:
        paths = json.loads(text)
    except ValueError:
        return text.split(",")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise WordError("option paths: a JSON list of texts, or texts with commas between them")
    return paths


def _local(path: str) -> str:
    """Return a path that can be opened: Spark's users write file:/data as well."""
    scheme, colon, tail = path.partition(":")
    if not colon or "/" in scheme or os.path.lexists(path) or not tail.startswith("/"):
        return path
    if scheme != "file":
        raise WordError(
            f"{path}: kcli reads files, not URLs; mount or copy them to where every worker sees them"
        )
    return "/" + tail.lstrip("/")
