"""The rows of `partition-for` and `uuid`: where something belongs, and ids in their two spellings."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type


class PartitionForRow(NamedTuple):
    """The partition of one key or name."""

    kind: Annotated[str, "key, group, transactional-id, topic-id or share-group"]
    value: Annotated[str, "as given"]
    topic: Annotated[str | None, "the internal topic that the partition is of; null for a key"]
    partitions: Annotated[int, "how many the topic has"]
    hash: Annotated[int, "of the value: murmur2 of keys and of topic-id, Java's hashCode of the others"]
    partition: Annotated[int, "where the value belongs"]


class UuidRow(NamedTuple):
    """One UUID as Kafka and as Java write it."""

    uuid: Annotated[str, "base64url, 22 characters: as Kafka prints topic ids and segment ids"]
    hex: Annotated[str, "hexadecimal with dashes"]
    most_significant_bits: Annotated[int, "the first half as a long"]
    least_significant_bits: Annotated[int, "the second half as a long"]


PARTITION_FOR = row_type("partition_for", PartitionForRow)
UUID = row_type("uuid", UuidRow)

COMMANDS = {"partition-for": (PARTITION_FOR,), "uuid": (UUID,)}
"""The row types that each command can print."""
