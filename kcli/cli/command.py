"""How a command is declared: its options, its job, the files that the job reads and the rows that it gives.

    def ls(*, recover: bool = option("--recover", "Recover logs..."), options: Options) -> Command: ...

`kcli.cli.typer_command` shows the options to typer, `kcli.cli.run` runs the command.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import typer
from typer.models import OptionInfo

from formats.bounds import LARGEST_BATCH
from kcli.cli.parsers import split_list
from kcli.cli.status import UsageError
from kcli.logdir.targets import PARTITION, Selection
from kcli.output.answer import Answer
from kcli.output.suggest import did_you_mean
from kcli.words import INT32, INT64, parse_partitions, parse_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcli.engine.contract import Map, Outcome, Reduce, Unit
    from kcli.logdir.find import FileSet
    from kcli.logdir.targets import Target
    from kcli.rows import Item

REQUIRED = ...
"""Typer's default of what must be given."""
SHARED = ("Input", "Output", "Engine")
"""Panels whose options most commands share: they are listed once."""
COMPLETE = "_KCLI_COMPLETE"
"""The variable by which a shell asks what may follow: only then typer needs to know who answers."""

Words: TypeAlias = Callable[[], Iterable[str]]
"""Returns the words that a value may be; called only where a shell completes."""


class OptionDeclaration(OptionInfo):
    """An option with the words that it takes, where they are few."""

    choices: tuple[str, ...] = ()

    @property
    def long_name(self) -> str:
        """Its longest name, with its dashes."""
        return max(self.param_decls or (), key=len)


def option(
    spec: str,
    text: str,
    panel: str | None = None,
    *,
    default: Any = None,
    usual: Any = None,
    choices: tuple[str, ...] = (),
    words: Words | None = None,
    **extra: Any,
) -> Any:
    """Return the declaration of an option.

    `spec`: its names and its metavar, as in `-o --output FORMAT`. Without a metavar it is a flag, off by
    default. `panel`: the part of the help that lists it. `usual`: a default that the help does not show.
    `choices`: a value of others is a UsageError. `words` returns what a shell may complete.
    """
    *_, metavar = parts = spec.split()
    names = [name for name in parts if name.startswith("-")]
    if usual is not None:
        default, extra["show_default"] = usual, False
    if metavar.startswith("-"):
        metavar = "|".join(choices)
        default = False if default is None and not choices and "/" not in spec else default
    declared = OptionDeclaration(
        default=default,
        param_decls=names,
        metavar=metavar or None,
        help=text,
        rich_help_panel=panel,
        show_envvar=False,
        autocompletion=_completer(max(names, key=len), words or (lambda: choices or _alternatives(metavar))),
        **extra,
    )
    declared.choices = choices
    return declared


number = partial(option, max=INT32)
"""An option of a number of 32 bits."""
offset_number = partial(option, min=0, max=INT64)


def moment(records: str, of: str) -> Any:
    """Return the option --at OFFSET|TIME, up to which `records` count; `of`: whose offset it is."""
    forms = "(ISO-8601, @-1h, epoch ms of 12 digits or more)"
    return option("--at OFFSET|TIME", f"{records} up to this offset of {of}, or up to this time {forms}.")


def argument(metavar: str, text: str, *, default: Any = None, words: Words | None = None) -> Any:
    """Return the declaration of an argument; REQUIRED for a default is one that must be given."""
    completer = _completer(metavar, words or (lambda: _alternatives(metavar)))
    return typer.Argument(default, metavar=metavar, help=text, show_default=False, autocompletion=completer)


def _alternatives(metavar: str) -> tuple[str, ...]:
    """Return the words of a metavar such as `a|b`; none of those that stand for something."""
    return tuple(choice for choice in metavar.split("|") if "|" in metavar and choice.islower())


def _completer(name: str, words: Words) -> Callable[..., Any] | None:
    if COMPLETE not in os.environ:
        return None

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        from kcli.cli.completion import complete

        return complete(name, words(), ctx, incomplete)

    return complete


def choose(name: str, value: str, choices: Collection[str]) -> str:
    """Return a value that is one of few; UsageError, with a suggestion, for another."""
    if value not in choices:
        advice = did_you_mean(value, choices)
        raise UsageError(f"{name} {value}: {advice}expected one of {', '.join(choices)}")
    return value


_input, _output, _engine = (partial(option, panel=panel) for panel in SHARED)

COLOR_WORDS = ("auto", "always", "never")
FAIL_ON = ("info", "warning", "error", "never")


class Inputs(NamedTuple):
    """What is read: paths, and which partitions below them."""

    paths: list[str] | None = argument(
        "PATH...", "Log dirs or partition dirs, of some commands files; globs; .tar; - is stdin."
    )
    topic: list[str] | None = _input("--topic NAME,...", "Only these topics; globs.")
    topic_regex: list[str] | None = _input(
        "--topic-regex REGEX", "Only topics that match in full; repeatable."
    )
    partition: list[str] | None = _input("--partition 0..3,7", "Only these partitions.")
    exclude_internal: bool = _input(
        "--exclude-internal", "Leave out topics whose name starts with two underscores."
    )
    include_leftovers: bool = _input(
        "--include-leftovers", "Read -delete, -stray and -future directories too."
    )
    files_from: str | None = _input("--files-from FILE", "Read paths from FILE, one a line; - is stdin.")
    nul: bool = _input("-0 --nul", "Paths that are read end in NUL, not in a line end.")
    server_config: str | None = _input(
        "--server-config FILE",
        "Read the log.dirs of this server.properties; beside PATHs its settings alone.",
    )

    def selection(self) -> Selection:
        """Return which partitions are selected; UsageError for a bad regex or partition list."""
        for regex in self.topic_regex or ():
            try:
                re.compile(regex)
            except (re.error, OverflowError, RecursionError) as error:
                raise UsageError(f"--topic-regex {regex}: {error}") from error
        return Selection(
            topics=tuple(split_list(self.topic)),
            topic_regexes=tuple(self.topic_regex or ()),
            partitions=parse_partitions(split_list(self.partition)),
            exclude_internal=self.exclude_internal,
            include_leftovers=self.include_leftovers,
        )

    def with_paths(self, paths: Iterable[str]) -> "Inputs":
        """Return these inputs with further paths after those that are named."""
        return self._replace(paths=[*(self.paths or []), *paths])


class Output(NamedTuple):
    """Which rows and findings are shown, where, and how."""

    format: str | None = _output(
        "-o --output FORMAT",
        "table (the default on a terminal), tsv (elsewhere), wide, json, ndjson, csv, html, markdown; "
        "text of dump, rlmm dump and epoch show; junit of check; prometheus of those with metrics.",
    )
    out: str | None = _output(
        "--out FILE", "Write rows to .parquet, .csv, .ndjson, .html, .md, metrics to .prom, the run to NAME/."
    )
    label: list[str] | None = _output("--label K=V", "Column label_K of the rows of --out; repeatable.")
    columns: list[str] | None = _output("--columns A,B", "Only these columns, in this order.")
    where: str | None = _output("--where CONDITION", "Only these rows: 'size < 200 and is_control'.")
    sort: list[str] | None = _output("--sort A,-B", "Sort by columns; - is descending.")
    limit: int | None = _output("--limit N", "At most N rows.", min=0, max=INT64)
    only: str | None = _output("--only TYPE", "Only rows of this type.")
    no_headers: bool = _output("--no-headers", "No header line in csv, tsv and table.")
    null: str | None = _output("--null TEXT", "Text for a null in csv and tsv; else empty and \\N.")
    findings: str = _output(
        "--findings WHERE",
        "inline (the default), stderr, none, or a .ndjson, .csv or .parquet file.",
        usual="inline",
    )
    fail_on: str = _output(
        "--fail-on LEVEL",
        "Exit with 1 on findings of info, warning or error (the default); never.",
        usual="error",
        choices=FAIL_ON,
    )
    color: str = _output(
        "--color WHEN", "auto (the default), always or never.", usual="auto", choices=COLOR_WORDS
    )
    no_pager: bool = _output("--no-pager", "Print a long table on a terminal without $PAGER.")
    quiet: bool = _output("-q --quiet", "Print nothing: the exit status is the answer.")
    verbose: int = _output(
        "-v --verbose", "Explain findings; twice: tracebacks of internal errors.", usual=0, count=True
    )


class EngineOptions(NamedTuple):
    """Who does the work: this process, --jobs N processes, or Spark."""

    jobs: int = _engine("--jobs N", "Spread the work over N processes.", usual=1, min=1)
    spark: bool = _engine("--spark", "Spread the work over Spark.")
    spark_master: str | None = _engine("--spark-master URL", "Spark master, e.g. local[4] (implies --spark).")
    spark_remote: str | None = _engine(
        "--spark-remote URL", "Spark Connect server, sc://... (implies --spark)."
    )
    spark_conf: list[str] | None = _engine("--spark-conf K=V", "Spark setting; repeatable (implies --spark).")

    @property
    def uses_spark(self) -> bool:
        """Whether one of the --spark options is given."""
        return bool(self.spark or self.spark_master or self.spark_remote or self.spark_conf)


class Options(NamedTuple):
    """The options that most commands take."""

    inputs: Inputs
    output: Output
    engine: EngineOptions

    def with_inputs(self, **changes: Any) -> "Options":
        """Return the same with some inputs replaced."""
        return self._replace(inputs=self.inputs._replace(**changes))

    def without_selection(self) -> "Options":
        """Return the same paths for a job that selects partitions itself."""
        return self.with_inputs(topic=None, topic_regex=None, partition=None, exclude_internal=False)


class ReadingOptions(NamedTuple):
    """How a command reads whole logs next to a broker: its rate, the page cache, the largest batch."""

    rate: str | None = option("--rate BYTES", "Read at most 50M a second in each process; implies --cold.")
    cold: bool = option("--cold", "Drop pages from the page cache after reading.")
    max_batch_bytes: int = number(
        "--max-batch-bytes N", "Bound on one batch that is decompressed.", default=LARGEST_BATCH, min=1
    )

    @property
    def bytes_per_second(self) -> int:
        """The rate in bytes, 0 without one; UsageError for what is no rate."""
        return 0 if self.rate is None else parse_rate(self.rate, "--rate")

    @property
    def is_cold(self) -> bool:
        """Whether pages that were read are given back."""
        return self.cold or self.rate is not None


BROKER = "What the broker knows"
RUNNING = "running"


def release(which: str, usual: str = "4.4") -> Any:
    """Return the option --kafka-version: `which` release it is, and the `usual` one, without it."""
    return option("--kafka-version X.Y", f"The release {which}, from 3.0 on; without it {usual}.", BROKER)


COORDINATOR_VERSION = release("of the coordinator")
BROKER_STATE = option(
    "--broker",
    "starting (the default): with the epochs that a broker holds after its start. "
    "running: also with an epoch that has no records yet.",
    usual="starting",
    choices=("starting", RUNNING),
)
CLEAN = "clean"
SHUTDOWNS = (CLEAN, "unclean")
SMALLEST_INDEX = 4

INDEX_INTERVAL_BYTES = option(
    "--index-interval-bytes N",
    "The topic's index.interval.bytes; by default as its metadata or --server-config says.",
    BROKER,
    min=0,
)


class StartOptions(NamedTuple):
    """How the broker stopped, and the settings of topics that recovery uses."""

    shutdown: str | None = option(
        "--shutdown",
        "How the broker stopped; by default as the log dir's clean shutdown marker says.",
        BROKER,
        choices=SHUTDOWNS,
    )
    index_interval_bytes: int | None = INDEX_INTERVAL_BYTES
    segment_index_bytes: int | None = option(
        "--segment-index-bytes N",
        "The topic's segment.index.bytes; by default as above, else an index of any length fits.",
        BROKER,
        min=SMALLEST_INDEX,
    )


Expand: TypeAlias = "Callable[[FileSet], FileSet]"
Split: TypeAlias = "Callable[[list[Unit]], list[Unit]]"
OnOutcomes: TypeAlias = "Callable[[Iterator[Outcome], list[Unit]], Iterator[Outcome]]"


class RowTopics(NamedTuple):
    """The options about topics and partitions are about what rows say, and the job heeds them.

    `of`: the topics that are there. `may_have_no_rows`: of a topic that is there, none is an answer.
    """

    of: "Callable[[list[Unit]], Iterable[str]]"
    may_have_no_rows: bool = False


class Command(NamedTuple):
    """What `run` must know of a command.

    `name`: the command as the user types it, a key of kcli.rows.COMMANDS. `job_of` returns the job in place
    of `job`, given what was found. `accepts`: the kinds of targets that the job reads. `expand` may replace
    what was found, e.g. a directory by the files in it. `possible_types`: the row types that targets can
    give. `split` returns units for the same work in which several workers share a large log. `reduce` returns
    the step that combines outcomes, given what was found; `rows_from_reduce`: rows come from it alone.
    `on_outcomes` goes through the outcomes of the units as they come, and may add findings and errors; rows
    then come to this process. `is_difference`: whether a row ends the run with status 1, in place of
    `bad_news_of`. `unbounded_output`: there are as many rows as the files hold, too many for Spark's driver.
    `compares`: a partition that is named twice counts as two replicas; else it is read once, and a file as
    often as it is named, as kafka-dump-log does. `without_rows`: why none is an error, unless the partial of
    an outcome is True.
    """

    name: str
    options: Options
    job: "Map | None" = None
    job_of: "Callable[[FileSet], Map] | None" = None
    accepts: frozenset[str] = frozenset({PARTITION})
    answer: Answer = Answer()
    possible_types: "Callable[[Iterable[Target]], frozenset[str]] | None" = None
    topics: RowTopics | None = None
    expand: "Expand | None" = None
    split: "Split | None" = None
    reduce: "Callable[[FileSet], Reduce] | None" = None
    rows_from_reduce: bool = False
    on_outcomes: "OnOutcomes | None" = None
    is_difference: "Callable[[Item], bool] | None" = None
    unbounded_output: bool = False
    compares: bool = False
    without_rows: "str | Callable[[FileSet], str] | None" = None
