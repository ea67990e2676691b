"""`kcli partition-for`: which partition a key, a group or another name belongs to."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.command import Output, number, option
from kcli.cli.status import UsageError
from kcli.words import INT32

if TYPE_CHECKING:
    from kcli.rows.lookups import PartitionForRow

FORMS = ("string", "short", "int", "long", "hex", "base64")
EXAMPLE_ID = "u4NdSfWRQjaZ_ENyxMXLJA"


def partition_for(
    *,
    key: list[str] | None = option(
        "--key TEXT", "Records with this key, as producers place them; repeatable."
    ),
    key_format: str = option(
        "--as",
        "How --key is written: as Kafka's serializers make bytes of it, or the bytes.",
        default=FORMS[0],
        choices=FORMS,
    ),
    group: list[str] | None = option("--group ID", "A group, in __consumer_offsets; repeatable."),
    transactional_id: list[str] | None = option(
        "--transactional-id ID", "A transactional id, in __transaction_state; repeatable."
    ),
    topic_id: list[str] | None = option(
        "--topic-id ID:PARTITION", "A user partition, in __remote_log_metadata; repeatable."
    ),
    share_group: list[str] | None = option(
        "--share-group GROUP:ID:PARTITION", "A share partition, in __share_group_state; repeatable."
    ),
    partitions: int | None = number(
        "--partitions N", "Partitions of the topic; 50 unless a --key is given.", min=1
    ),
    output: Output,
) -> None:
    """Print which partition a key, a group, a transactional id or a topic id belongs to.

    Example: kcli partition-for --group billing --transactional-id mover-1
    """
    from formats.names import CONSUMER_OFFSETS, TRANSACTION_STATE
    from kcli.cli.run import run_rows
    from kcli.jobs import identifiers as jobs
    from kcli.kafka.remote.partitioning import DEFAULT_PARTITIONS

    if key and partitions is None:
        raise UsageError("--key needs --partitions N: how many the topic has")
    count = partitions or DEFAULT_PARTITIONS

    by_group = partial(jobs.text_row, "group", topic=CONSUMER_OFFSETS, partitions=count)
    by_id = partial(jobs.text_row, "transactional-id", topic=TRANSACTION_STATE, partitions=count)
    of_topic = f"TOPIC_ID:PARTITION, for example {EXAMPLE_ID}:0"
    of_group = f"GROUP:TOPIC_ID:PARTITION, for example billing:{EXAMPLE_ID}:0"
    answers = [
        *_rows("--key", key, f"a key as {key_format}", lambda v: jobs.key_row(v, key_format, count)),
        *_rows("--group", group, "a group id", by_group),
        *_rows("--transactional-id", transactional_id, "a transactional id", by_id),
        *_rows("--topic-id", topic_id, of_topic, lambda v: jobs.topic_id_row(_numbered(v), count)),
        *_rows(
            "--share-group", share_group, of_group, lambda v: jobs.share_group_row(_share_partition(v), count)
        ),
    ]
    if not answers:
        raise UsageError("use one of --key, --group, --transactional-id, --topic-id, --share-group at least")
    run_rows("partition-for", answers, output)


def _rows(
    option: str, values: list[str] | None, expected: str, row: "Callable[[str], PartitionForRow]"
) -> "Iterator[PartitionForRow]":
    """Yield a row for each value of an option; UsageError for one that is not what is expected."""
    from formats.errors import FormatError
    from kcli.logdir.buffers import word_of

    for value in values or ():
        try:
            yield row(value)
        except (FormatError, ValueError) as error:
            raise UsageError(f"{option} {word_of(value)}: expected {expected}") from error


def _numbered(text: str) -> tuple[str, int]:
    """Return what is before the last colon, and the number after it; ValueError without one."""
    name, _, number = text.rpartition(":")
    if not number.isascii() or not number.isdecimal() or len(number) > len(str(INT32)) or int(number) > INT32:
        raise ValueError(text)
    return name, int(number)


def _share_partition(text: str) -> tuple[str, str, int]:
    """Return group, topic id and partition; ValueError where one of them is missing."""
    prefix, partition = _numbered(text)
    group, _, topic_id = prefix.rpartition(":")
    if not group:
        raise ValueError(text)
    return group, topic_id, partition
