"""`kcli rlmm`: what __remote_log_metadata says about the segments of tiered topics (KIP-405)."""

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from commands import rlmm_cluster, rlmm_tier
from commands.rlmm_state import check, state
from kcli.cli.option import REQUIRED, argument, option
from kcli.cli.options import EngineOptions, Inputs, Output
from kcli.cli.status import UsageError
from kcli.cli.typer_command import Group
from kcli.words import INT32, WordError, parse_integers

if TYPE_CHECKING:
    from formats.kip405 import LineParts
    from kcli.cli.printing import Text

app = Group(
    no_args_is_help=True,
    help="Remote log metadata: what brokers did with each remote segment (KIP-405).",
)

app.command("offsets")(rlmm_tier.offsets)
app.command("coverage")(rlmm_tier.coverage)
app.command("retention")(rlmm_tier.retention)
app.command("follow")(rlmm_tier.follow)
app.command("bootstrap")(rlmm_cluster.bootstrap)
app.add_typer(rlmm_tier.lookup, name="lookup")

KAFKA, KIP, KIP_WITH_PLACES = "kafka", "kip", "kip405"
LINE_FORMATS = (KAFKA, KIP, KIP_WITH_PLACES)
LAYOUT_NAMES = (KAFKA, KIP)
TEXT = "text"
DEFAULT_PARTITIONS = 50


@app.command("dump")
def dump(
    *,
    text_format: str | None = option(
        "--format",
        "Lines of -o text: of RemoteLogMetadataFormatter (the default), or of KIP-405.",
        choices=LINE_FORMATS,
    ),
    properties: list[str] | None = option(
        "--property K=V", "Of --format kip: print.partition=true and others; repeatable."
    ),
    layout: str = option(
        "--layout",
        "As brokers write it, or as KIP-405 says (rows only).",
        default=KAFKA,
        choices=LAYOUT_NAMES,
    ),
    inputs: Inputs,
    output: Output,
    engine: EngineOptions,
) -> None:
    """Print every event of remote log metadata.

    Log dirs, partition dirs, segments, remote_log_snapshot files. --topic, --partition: of the user.

    Example: kcli rlmm dump -o ndjson /var/lib/kafka/data
    """
    if text_format is not None and output.format != TEXT:
        raise UsageError("--format needs -o text")
    if properties and text_format != KIP:
        raise UsageError("--property needs --format kip")
    if layout == KIP and output.format == TEXT:
        raise UsageError("--layout kip gives rows: take another -o than text")
    from kcli.cli.run import Answer, Command, RowTopics, run
    from kcli.jobs.metadata_partitions import expand
    from kcli.jobs.rlmm import dump as jobs
    from kcli.jobs.rlmm.dump import dump_selected, kafka_lines, kip405_lines, topics

    texts: dict[str, Text] = {KAFKA: kafka_lines, KIP_WITH_PLACES: kip405_lines}
    if text_format == KIP:
        texts[KIP] = partial(kip405_lines, shown=_parts(properties or []))
    if layout == KIP:
        from kcli.jobs.rlmm import kip
        from kcli.rows.remote_metadata import KIP_ROW_TYPES_OF_KIND

        command = Command(
            name="rlmm dump",
            job=kip.dump,
            accepts=kip.ACCEPTS,
            expand=expand,
            possible_types=partial(jobs.row_types, types_of_kind=KIP_ROW_TYPES_OF_KIND),
            answer=Answer(default_type="rlmm_kip_event"),
        )
        run(command, inputs, output, engine)
        return
    command = Command(
        name="rlmm dump",
        job=partial(dump_selected, selection=inputs.selection()),
        topics=RowTopics(topics),
        accepts=jobs.ACCEPTS,
        expand=expand,
        possible_types=jobs.row_types,
        answer=Answer(text=texts[text_format or KAFKA]),
    )
    run(command, inputs, output, engine)


def _parts(properties: list[str]) -> "LineParts":
    """Return the parts of a line that --property asks for."""
    from formats.kip405 import parts

    try:
        return parts((name, value) for name, _, value in (word.partition("=") for word in properties))
    except ValueError as error:
        raise UsageError(f"--property {error}") from error


app.command("state")(state)
app.command("check")(check)


@app.command("partition")
def partition(
    users: list[str] = argument(
        "TOPIC_ID:PARTITION...",
        "User partitions, topics by id; :0..3 is four. --layout kip: by name.",
        default=REQUIRED,
    ),
    *,
    count: int = option(
        "--partitions N", "Partitions of __remote_log_metadata.", default=DEFAULT_PARTITIONS, min=1, max=INT32
    ),
    layout: str = option(
        "--layout", "As brokers do, or as KIP-405 says.", default=KAFKA, choices=LAYOUT_NAMES
    ),
    output: Output,
) -> None:
    """Print which partition of __remote_log_metadata holds the events of a user partition.

    Example: kcli rlmm partition u4NdSfWRQjaZ_ENyxMXLJA:0
    """
    from kcli.cli.run import run_rows
    from kcli.jobs.rlmm import kip
    from kcli.jobs.rlmm.dump import partition_rows
    from kcli.rows.remote_metadata import RLMM_KIP_PARTITION

    if layout == KIP:
        named = list(chain.from_iterable(map(_named, users)))
        run_rows("rlmm partition", kip.partition_rows(named, count), output, types=(RLMM_KIP_PARTITION,))
    known = list(chain.from_iterable(map(_user_partitions, users)))
    run_rows("rlmm partition", partition_rows(known, count), output)


def _named(word: str, expected: str = "TOPIC:PARTITION, such as orders:0, or :0..3") -> list[tuple[str, int]]:
    """Return what comes before the last colon, with each partition after it."""
    name, _, numbers = word.rpartition(":")
    try:
        partitions = parse_integers("partition", [numbers], 0, INT32)
    except WordError as error:
        raise UsageError(f"{word}: expected {expected}") from error
    if not name:
        raise UsageError(f"{word}: expected {expected}")
    return [(name, partition) for partition in partitions]


def _user_partitions(word: str) -> list[tuple[str, int]]:
    from formats.errors import FormatError
    from formats.primitives import uuid_bytes

    found = _named(word, "TOPIC_ID:PARTITION, for example u4NdSfWRQjaZ_ENyxMXLJA:0, or :0..3")
    topic_id = word.rpartition(":")[0]
    try:
        uuid_bytes(topic_id, "topic id")
    except FormatError as error:
        raise UsageError(f"{word}: expected a topic id of 22 characters, as in partition.metadata") from error
    return found
