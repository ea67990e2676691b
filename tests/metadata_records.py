"""Makers of metadata records of any type, and of logs and snapshots of them."""

import struct

from formats.messages.metadata import METADATA_SCHEMAS
from formats.primitives import uuid_bytes
from tests.builders import put_record, put_records, put_unsigned_varint

NOW = 1_800_000_000_000
TOPIC_ID, OTHER_ID = "u4NdSfWRQjaZ_ENyxMXLJA", "AAAAAAAAAAAAAAAAAAAAAw"
PLAIN = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "int64": ">q",
    "float64": ">d",
    "bool": ">?",
}


def _put(field, value, version):
    if field.array:
        if value is None:
            return b"\0"
        each = field._replace(array=False)
        return put_unsigned_varint(len(value) + 1) + b"".join(_put(each, item, version) for item in value)
    if field.struct is not None:
        return b"\xff" if value is None else put_fields(field.struct, value, version)
    if field.type in PLAIN:
        return struct.pack(PLAIN[field.type], value)
    if field.type == "uuid":
        return uuid_bytes(value)
    data = value.encode() if isinstance(value, str) else value
    return b"\0" if data is None else put_unsigned_varint(len(data) + 1) + data


def put_fields(fields, values, version):
    """Return fields in a flexible version; those that are not given are zero, or empty."""
    here = [field for field in fields if version in field.versions]
    zeros = {"string": "", "bytes": b"", "uuid": "A" * 22, "bool": False}

    def zero(field):
        return [] if field.array else None if field.struct is not None else zeros.get(field.type, 0)

    plain = b"".join(
        _put(field, values.get(field.name, zero(field)), version) for field in here if field.tag is None
    )
    tagged = sorted(
        (field.tag, _put(field, values[field.name], version))
        for field in here
        if field.tag is not None and field.name in values
    )
    tags = b"".join(put_unsigned_varint(tag) + put_unsigned_varint(len(data)) + data for tag, data in tagged)
    return plain + put_unsigned_varint(len(tagged)) + tags


def record(name, /, version=None, **values):
    """Return a record of a type, with the fields that are given; the others are zero, or empty."""
    schema = METADATA_SCHEMAS[name]
    number = schema.versions.highest if version is None else version
    return bytes([1, schema.api_key, number]) + put_fields(schema.fields, values, number)


def batch(offset, *values, epoch=1, timestamp=NOW):
    """Return a batch of records; the timestamp rises with the offset."""
    return put_records(
        [put_record(number, number, None, value) for number, value in enumerate(values)],
        base_offset=offset,
        partition_leader_epoch=epoch,
        base_timestamp=timestamp + offset,
        max_timestamp=timestamp + offset + len(values) - 1,
    )


def topic(name="orders", topic_id=TOPIC_ID):
    return record("TopicRecord", name=name, topicId=topic_id)


def partition(number=0, topic_id=TOPIC_ID, replicas=(1, 2, 3), leader=1):
    return record(
        "PartitionRecord",
        partitionId=number,
        topicId=topic_id,
        replicas=replicas,
        isr=replicas,
        leader=leader,
    )


def change(number=0, topic_id=TOPIC_ID, **fields):
    return record("PartitionChangeRecord", partitionId=number, topicId=topic_id, **fields)


def config(kind, name, setting, value):
    return record("ConfigRecord", resourceType=kind, resourceName=name, name=setting, value=value)


def put_log(folder, *batches, base=0):
    """Write a segment of a metadata log; return the log dir."""
    directory = folder / "__cluster_metadata-0"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{base:020d}.log").write_bytes(b"".join(batches))
    return folder


def put_topic(folder, name, count=1, leader=7):
    """Write a metadata log that knows one topic, of so many partitions that a broker leads."""
    numbered = (partition(number, OTHER_ID, (leader,), leader) for number in range(count))
    return put_log(folder, batch(0, topic(name, OTHER_ID), *numbered))


CLUSTER = (
    record("FeatureLevelRecord", name="metadata.version", featureLevel=29),
    record("RegisterBrokerRecord", brokerId=1, brokerEpoch=1, fenced=True, rack=None),
    topic(),
    partition(0),
    partition(1, replicas=(2, 3), leader=2),
    config(2, "orders", "retention.ms", "1000"),
    config(2, "orders", "cleanup.policy", "compact,delete"),
    config(4, "1", "ssl.keystore.password", "hush"),
    config(4, "", "follower.replication.throttled.rate", "5"),
    record(
        "AccessControlEntryRecord",
        id=OTHER_ID,
        resourceType=2,
        resourceName="or'ders",
        patternType=4,
        principal="User:CN=a b",
        host="*",
        operation=10,
        permissionType=3,
    ),
    record(
        "ClientQuotaRecord",
        entity=[{"entityType": "user", "entityName": None}, {"entityType": "client-id", "entityName": "c"}],
        key="producer_byte_rate",
        value=1024.5,
        remove=False,
    ),
    record("UserScramCredentialRecord", name="u", mechanism=1, salt=b"s", iterations=4096),
    record("DelegationTokenRecord", owner="User:o", requester="User:o", tokenId="t", maxTimestamp=9),
    record("ProducerIdsRecord", brokerId=1, nextProducerId=1000),
    record("RegisterControllerRecord", controllerId=100),
)
"""Something of every kind: offsets 0 to 14."""
