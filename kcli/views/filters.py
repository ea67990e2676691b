"""From the filters that Spark offers to what need not be read; Spark still checks every row itself.

A filter arrives as `(name of its class, column, value)`: so this module knows no pyspark, and a class that a
later Spark adds is simply not used.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

PUSHING_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"

MATCHES = "Matches"
"""The kind of a filter of the option `topic`: names or globs, one of which a topic meets. Spark has none."""

LOWEST = -(2**63)
HIGHEST = 2**63 - 1

Filter: TypeAlias = tuple[str, str, Any]

CERTAIN = frozenset({"topic", "partition", "metadata_partition"})
"""Columns whose value is the same for all rows of a directory: its name says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Whole numbers from `low` to `high`, both inclusive, or only those in `among`."""

    low: int = LOWEST
    high: int = HIGHEST
    among: frozenset[int] | None = None

    def __contains__(self, number: object) -> bool:
        return (
            isinstance(number, int)
            and self.low <= number <= self.high
            and (self.among is None or number in self.among)
        )

    @property
    def is_all(self) -> bool:
        """Whether every number is in it."""
        return self == Range()

    @property
    def few(self) -> frozenset[int]:
        """The numbers in it, where they are listed; else none."""
        if self.among is None:
            return frozenset({self.low}) if self.low == self.high else frozenset()
        return frozenset(number for number in self.among if number in self)

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number that can be in it; low above high where there is none."""
        if self.among is None:
            return self.low, self.high
        inside = [number for number in self.among if number in self]
        return (min(inside), max(inside)) if inside else (HIGHEST, LOWEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What the filters of a query leave: topics (None: all), and ranges of numbers by column.

    A topic meets one at least of each tuple of `globs`.
    """

    topics: frozenset[str] | None = None
    prefixes: tuple[str, ...] = ()
    globs: tuple[tuple[str, ...], ...] = ()
    ranges: dict[str, Range]

    def range(self, *columns: str) -> Range:
        """Return the range of a column.

        Of several, the numbers that lie between the bounds of all of them.
        """
        found = [self.ranges[column] for column in columns if column in self.ranges]
        if len(found) == 1:
            return found[0]
        bounds = [one.bounds for one in found]
        return Range(
            low=max((low for low, _ in bounds), default=LOWEST),
            high=min((high for _, high in bounds), default=HIGHEST),
        )

    def wants_topic(self, topic: str | None) -> bool:
        """Whether rows of this topic can pass; those without one cannot where the topic is compared."""
        if topic is None:
            return self.topics is None and not self.prefixes and not self.globs
        return (
            (self.topics is None or topic in self.topics)
            and all(map(topic.startswith, self.prefixes))
            and all(any(fnmatchcase(topic, glob) for glob in globs) for globs in self.globs)
        )

    def wants_partition(self, number: int | None) -> bool:
        """Whether rows of this partition can pass."""
        partitions = self.range("partition")
        return partitions.is_all or number in partitions


def are_offered() -> bool:
    """Whether this process is the one in which Spark plans with filters.

    It refuses readers that take filters in any other.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return PUSHING_PLANNER in sys.modules or (main is not None and main.name == PUSHING_PLANNER)


def plain(filters: Iterable[Any]) -> Iterator[Filter]:
    """Yield Spark's filters on columns, as this module knows them."""
    for one in filters:
        path: Sequence[str] = getattr(one, "attribute", ())
        if len(path) == 1:
            yield type(one).__name__, path[0].lower(), getattr(one, "value", None)


def certain(filters: Iterable[Filter]) -> Iterator[Filter]:
    """Yield those filters of a query that can leave out directories without a change of the answer.

    Offsets and times are none of them: names and indexes only say what a sound log holds. No checksum covers
    the base offset of a batch, so a row that passes may be in a file that the filter would leave out.
    """
    return (one for one in filters if one[1] in CERTAIN)


def pushed(filters: Iterable[Filter]) -> Pushed:
    """Return what is left by all of the filters; those of other kinds, columns or values leave everything."""
    found = Pushed(ranges={})
    for kind, column, value in filters:
        if column == "topic":
            found = _topic(found, kind, value)
        elif (numbers := _range(found.ranges.get(column, Range()), kind, value)) is not None:
            found = replace(found, ranges={**found.ranges, column: numbers})
    return found


def _topic(found: Pushed, kind: str, value: Any) -> Pushed:
    if kind == "StringStartsWith" and isinstance(value, str):
        return replace(found, prefixes=(*found.prefixes, value))
    if kind == MATCHES:
        return replace(found, globs=(*found.globs, tuple(value)))
    values = (value,) if kind in _EQUAL else value if kind == "In" else None
    if not isinstance(values, (list, tuple)) or not all(isinstance(one, str) for one in values):
        return found
    topics = frozenset(values)
    return replace(found, topics=topics if found.topics is None else found.topics & topics)


_EQUAL = frozenset({"EqualTo", "EqualNullSafe"})


def _range(before: Range, kind: str, value: Any) -> Range | None:
    """Return what a filter leaves of a range; None for one that says nothing about whole numbers."""
    if kind == "In" and isinstance(value, (list, tuple)) and all(map(_is_whole, value)):
        among = frozenset(value)
        return replace(before, among=among if before.among is None else before.among & among)
    if not _is_whole(value) or kind not in _BOUNDS:
        return None
    low, high = _BOUNDS[kind](value)
    return replace(before, low=max(before.low, low), high=min(before.high, high))


_BOUNDS: dict[str, Callable[[int], tuple[int, int]]] = {
    **dict.fromkeys(_EQUAL, lambda value: (value, value)),
    "GreaterThan": lambda value: (value + 1, HIGHEST),
    "GreaterThanOrEqual": lambda value: (value, HIGHEST),
    "LessThan": lambda value: (LOWEST, value - 1),
    "LessThanOrEqual": lambda value: (LOWEST, value),
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
