"""The options that commands share, in groups; a command takes those that it needs."""

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from formats.bounds import LARGEST_BATCH
from kcli.cli.option import SHARED, argument, number, option
from kcli.cli.parsers import split_list
from kcli.cli.status import UsageError
from kcli.words import INT64, parse_partitions, parse_rate

if TYPE_CHECKING:
    from kcli.logdir.targets import Selection

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

    def selection(self) -> "Selection":
        """Return which partitions are selected; UsageError for a bad regex or partition list."""
        from kcli.logdir.targets import Selection

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

    def with_paths(self, more: Iterable[str]) -> "Inputs":
        """Return these inputs with further paths after those that are named."""
        return self._replace(paths=[*(self.paths or []), *more])


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


class Given(NamedTuple):
    """What most commands take."""

    inputs: Inputs
    output: Output
    engine: EngineOptions

    def without_selection(self) -> "Given":
        """Return the same paths for a job that selects partitions itself."""
        rest = self.inputs._replace(topic=None, topic_regex=None, partition=None, exclude_internal=False)
        return self._replace(inputs=rest)


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

COORDINATOR_VERSION = option(
    "--kafka-version X.Y", "The release of the coordinator, from 3.0 on; without it 4.4.", BROKER
)
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
