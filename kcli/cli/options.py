"""The options that every command has, in one place, and the parsers of words like `0..3,7` or `@-1h`.

A command is written with its own options and one `common` parameter:

    @common_options
    def end_offset(paths: Paths = None, *, epoch: Annotated[str, typer.Option()], common: Common) -> None:

The decorator shows typer the fields of `Common`, and of every other parameter that is a dataclass of options,
after the command's own, and is where every error of a command becomes one line and an exit status.
"""

import inspect
import re
from collections.abc import Callable, Container
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from kcli.cli.boundary import boundary, say
from kcli.cli.status import MissingError, RefusedError, UsageError

if TYPE_CHECKING:
    from kcli.logdir.select import Selection

__all__ = [
    "Common",
    "MissingError",
    "Paths",
    "RefusedError",
    "UsageError",
    "common_options",
    "joined",
    "output_options",
    "parse_duration",
    "parse_epochs",
    "parse_integers",
    "parse_offset",
    "parse_partitions",
    "parse_time",
    "split_list",
]

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH...",
        help="Log dirs, partition dirs or files; globs; - reads paths from stdin.",
        show_default=False,
    ),
]

INPUT, OUTPUT, ENGINE = "Input", "Output", "Engine"


def _option(*names: str, panel: str, text: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False, **more)


class Common(NamedTuple):
    """The values of the shared options; each field is declared as the option that typer shows."""

    topic: Annotated[
        list[str] | None,
        _option("--topic", panel=INPUT, metavar="NAME,...", text="Only these topics; globs."),
    ] = None
    topic_regex: Annotated[
        list[str] | None,
        _option(
            "--topic-regex", panel=INPUT, metavar="REGEX", text="Only topics that match in full; repeatable."
        ),
    ] = None
    partition: Annotated[
        list[str] | None, _option("--partition", panel=INPUT, metavar="0..3,7", text="Only these partitions.")
    ] = None
    exclude_internal: Annotated[
        bool,
        _option(
            "--exclude-internal", panel=INPUT, text="Leave out topics whose name starts with two underscores."
        ),
    ] = False
    include_leftovers: Annotated[
        bool,
        _option("--include-leftovers", panel=INPUT, text="Read -delete, -stray and -future directories too."),
    ] = False
    files_from: Annotated[
        str | None,
        _option(
            "--files-from", panel=INPUT, metavar="FILE", text="Read paths from FILE, one a line; - is stdin."
        ),
    ] = None
    nul: Annotated[
        bool, _option("-0", "--nul", panel=INPUT, text="Paths that are read end in NUL, not in a line end.")
    ] = False
    server_config: Annotated[
        str | None,
        _option(
            "--server-config",
            panel=INPUT,
            metavar="FILE",
            text="Read the log.dirs of this server.properties.",
        ),
    ] = None

    output: Annotated[
        str | None,
        _option(
            "-o",
            "--output",
            panel=OUTPUT,
            metavar="FORMAT",
            text="table (the default on a terminal), tsv (the default elsewhere), wide, json, ndjson, csv; "
            "text of dump, rlmm dump and epoch show; junit and prometheus of check.",
        ),
    ] = None
    out: Annotated[
        str | None,
        _option(
            "--out",
            panel=OUTPUT,
            metavar="FILE",
            text="Write rows to this .parquet, .csv or .ndjson, or all of the run to NAME/.",
        ),
    ] = None
    label: Annotated[
        list[str] | None,
        _option(
            "--label", panel=OUTPUT, metavar="K=V", text="Label for run.json of --out NAME/; repeatable."
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        _option("--columns", panel=OUTPUT, metavar="A,B", text="Only these columns, in this order."),
    ] = None
    where: Annotated[
        str | None,
        _option(
            "--where", panel=OUTPUT, metavar="CONDITION", text="Only these rows: 'size < 200 and is_control'."
        ),
    ] = None
    sort: Annotated[
        list[str] | None,
        _option("--sort", panel=OUTPUT, metavar="A,-B", text="Sort by columns; - is descending."),
    ] = None
    limit: Annotated[
        int | None,
        _option("--limit", panel=OUTPUT, metavar="N", text="At most N rows.", min=0, max=2**63 - 1),
    ] = None
    only: Annotated[
        str | None, _option("--only", panel=OUTPUT, metavar="TYPE", text="Only rows of this type.")
    ] = None
    no_headers: Annotated[
        bool, _option("--no-headers", panel=OUTPUT, text="No header line in csv, tsv and table.")
    ] = False
    null: Annotated[
        str | None,
        _option(
            "--null", panel=OUTPUT, metavar="TEXT", text="Text for a null in csv and tsv; else empty and \\N."
        ),
    ] = None
    findings: Annotated[
        str,
        _option(
            "--findings",
            panel=OUTPUT,
            metavar="WHERE",
            text="inline (the default), stderr, none, or a .ndjson, .csv or .parquet file.",
        ),
    ] = "inline"
    fail_on: Annotated[
        str,
        _option(
            "--fail-on",
            panel=OUTPUT,
            metavar="LEVEL",
            text="Exit with 1 on findings of info, warning or error (the default); never.",
        ),
    ] = "error"
    color: Annotated[
        str, _option("--color", panel=OUTPUT, metavar="WHEN", text="auto (the default), always or never.")
    ] = "auto"
    no_pager: Annotated[
        bool, _option("--no-pager", panel=OUTPUT, text="Print a long table on a terminal without $PAGER.")
    ] = False
    quiet: Annotated[
        bool, _option("-q", "--quiet", panel=OUTPUT, text="Print nothing: the exit status is the answer.")
    ] = False
    verbose: Annotated[
        int,
        _option(
            "-v",
            "--verbose",
            panel=OUTPUT,
            count=True,
            text="Explain findings; twice: tracebacks of internal errors.",
        ),
    ] = 0

    jobs: Annotated[
        int, _option("--jobs", panel=ENGINE, metavar="N", text="Spread the work over N processes.", min=1)
    ] = 1
    spark: Annotated[bool, _option("--spark", panel=ENGINE, text="Spread the work over Spark.")] = False
    spark_master: Annotated[
        str | None,
        _option(
            "--spark-master",
            panel=ENGINE,
            metavar="URL",
            text="Spark master, e.g. local[4] (implies --spark).",
        ),
    ] = None
    spark_remote: Annotated[
        str | None,
        _option(
            "--spark-remote",
            panel=ENGINE,
            metavar="URL",
            text="Spark Connect server, sc://... (implies --spark).",
        ),
    ] = None
    spark_conf: Annotated[
        list[str] | None,
        _option(
            "--spark-conf", panel=ENGINE, metavar="K=V", text="Spark setting; repeatable (implies --spark)."
        ),
    ] = None

    def selection(self) -> "Selection":
        """Return which partitions are selected; UsageError for a bad regex or partition list."""
        from kcli.logdir.select import Selection

        for regex in self.topic_regex or ():
            try:
                re.compile(regex)
            except (re.error, OverflowError, RecursionError) as error:
                raise UsageError(f"--topic-regex {regex}: {error}") from error
        return Selection(
            topics=tuple(split_list(self.topic)),
            topic_regexes=tuple(self.topic_regex or ()),
            partitions=parse_partitions(",".join(self.partition)) if self.partition else frozenset(),
            exclude_internal=self.exclude_internal,
            include_leftovers=self.include_leftovers,
        )


def common_options(
    command: Callable[..., None], *, left_out: Container[str] = frozenset()
) -> Callable[..., None]:
    """Return the command as typer shall see it: its tuples of options, such as `common`, unfolded.

    Options of the panels that are `left_out` keep their defaults, and those that the command declares itself.
    """
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if hasattr(p.annotation, "_field_defaults")
    }
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters if p.name not in groups]
    names = {p.name for p in own}
    options = {
        name: [p for p in _unfolded(group, left_out) if p.name not in names] for name, group in groups.items()
    }

    def wrapper(**given: Any) -> None:
        with boundary(verbose=given["verbose"]):
            values = {
                name: group(**{option.name: given.pop(option.name) for option in options[name]})
                for name, group in groups.items()
            }
            command(**given, **values)

    shown = [*own, *chain.from_iterable(options.values())]
    wrapper.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # typer reads it
    wrapper.__annotations__ = {p.name: p.annotation for p in shown}
    wrapper.__name__ = command.__name__
    wrapper.__doc__ = command.__doc__
    return wrapper


def output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that reads no files as typer shall see it: with the common options of output alone."""
    return common_options(command, left_out={INPUT, ENGINE})


def _unfolded(group: Any, left_out: Container[str]) -> list[inspect.Parameter]:
    """Return the fields of a NamedTuple of options as parameters."""
    hints = _hints(group)
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in group._field_defaults.items()
        if hints[name].__metadata__[0].rich_help_panel not in left_out
    ]


@cache
def _hints(group: Any) -> dict[str, Any]:
    return get_type_hints(group, include_extras=True)


INT32 = 2**31 - 1
INT64 = 2**63 - 1
MOST_NUMBERS = 1_000_000


def integer(word: str, what: str, low: int, high: int) -> int:
    """Return the number of a word; `what` names it in the UsageError."""
    if not re.fullmatch(r"-?[0-9]{1,19}", word) or not low <= int(word) <= high:
        raise UsageError(f"{what} {word!r}: expected a whole number from {low} to {high}")
    return int(word)


def split_list(values: list[str] | None) -> list[str]:
    """Return the words of an option that takes a list: repeated, or with commas."""
    return [word.strip() for value in values or () for word in value.split(",")]


def joined(values: list[str] | None) -> str | None:
    """Return the words of such an option with commas between them; None without any."""
    return ",".join(values) if values else None


def parse_integers(option: str, values: list[str] | None, low: int, high: int) -> frozenset[int]:
    """Return the numbers of an option that takes a list of numbers and ranges like `0..3,7`, inclusive."""
    return frozenset(chain.from_iterable(_ranges(option, split_list(values), low, high)))


def parse_epochs(text: str) -> tuple[int, ...] | None:
    """Return the epochs of `0..3,7` in the order given, each once, or None for `all`."""
    if text == "all":
        return None
    ranges = _ranges("epoch", split_list([text]), -INT32 - 1, INT32)
    return tuple(dict.fromkeys(chain.from_iterable(ranges)))


def parse_partitions(text: str) -> frozenset[int]:
    """Return the partitions of a list like `0..3,7` or `0-3,7`, ranges inclusive."""
    words = [re.sub(r"^([0-9]+)-([0-9]+)$", r"\1..\2", word) for word in split_list([text])]
    return frozenset(chain.from_iterable(_ranges("partition", words, 0, INT32)))


def _ranges(what: str, words: list[str], low: int, high: int) -> list[range]:
    ranges = []
    for word in words:
        first, dots, last = word.partition("..")
        if dots and not (first and last):
            both = f"{first or 0}..{last or '9' * (len(first) + 1)}"
            raise UsageError(f"{what} {word!r}: write both ends of a range, such as {both}")
        if not first:
            raise UsageError(f"{what} {word!r}: expected a whole number, or a range such as 0..3")
        begin = integer(first, what, low, high)
        end = integer(last, what, low, high) if dots else begin
        if end < begin:
            raise UsageError(f"{what} {word!r}: the range is empty; did you mean {last}..{first}?")
        ranges.append(range(begin, end + 1))
    if sum(one.stop - one.start for one in ranges) > MOST_NUMBERS:
        raise UsageError(f"{what} {','.join(words)!r}: more than {MOST_NUMBERS} numbers")
    return ranges


def parse_offset(text: str) -> int | str:
    """Return an offset as a number, or the word `earliest` or `latest`."""
    if text in {"earliest", "latest"}:
        return text
    if not text.isdecimal():
        raise UsageError(f"offset {text!r}: expected a number, earliest or latest")
    return integer(text, "offset", 0, INT64)


def parse_duration(text: str) -> int:
    """Return the milliseconds of a duration like `30m`, `2d` or `1h30m`."""
    from kcli.times import TimeWordError, duration_ms

    try:
        return duration_ms(text)
    except TimeWordError as error:
        raise UsageError(str(error)) from error


def parse_time(text: str, now_ms: int | None = None) -> int:
    """Return a time in epoch milliseconds; the words are those of `kcli.times`."""
    from kcli.times import LIKE_SECONDS, TimeWordError, moment_ms

    try:
        moment = moment_ms(text, now_ms)
    except TimeWordError as error:
        raise UsageError(str(error)) from error
    if text.isdecimal() and moment in LIKE_SECONDS:
        say(f"kcli: time {text}: taken as milliseconds, a moment of 1970; of seconds write {text}000")
    return moment
