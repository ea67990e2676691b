"""Records of the topic __cluster_metadata: what a KRaft cluster knows about itself.

Lives in `__cluster_metadata-0`, its snapshots `*.checkpoint` and `bootstrap.checkpoint`; written by the
active controller. The truth is `org.apache.kafka.metadata.MetadataRecordSerde` with the schemas of the module
metadata, 3.3 to 4.4.0: later schemas only add to earlier ones. Records have no key.

    +-------+-----+---------+-------------------------------------------------+
    | frame | api | message | message, flexible, to the last byte of the value |
    | 1     | key | version |                                                  |
    +-------+-----+---------+-------------------------------------------------+
    uvarint  uvarint uvarint

AccessControlRecord is of 3.3 and 3.4 alone, where no broker wrote it.
"""

import re
from functools import lru_cache
from operator import attrgetter

from formats import primitives
from formats.errors import CorruptError, UnsupportedError
from formats.layout import FieldSpan
from formats.messages import reader
from formats.messages.declare import declared
from formats.messages.reader import Message, Unknown
from formats.names import CLUSTER_METADATA
from formats.types import Buffer

METADATA_SCHEMAS = declared("""
RegisterBrokerRecord 0 versions 0-4 flexible 0+
    brokerId              int32
    isMigratingZkBroker   bool              2+
    incarnationId         uuid
    brokerEpoch           int64
    endPoints             []BrokerEndpoint: name string, host string, port uint16, securityProtocol int16
    features              []BrokerFeature: name string, minSupportedVersion int16, maxSupportedVersion int16
    rack                  string            nullable
    fenced                bool
    inControlledShutdown  bool              1+
    logDirs               []uuid            3+ tag 0
    cordonedLogDirs       []uuid            4+ nullable tag 1 = null
UnregisterBrokerRecord 1 versions 0 flexible 0+: brokerId int32, brokerEpoch int64
TopicRecord 2 versions 0 flexible 0+: name string, topicId uuid
PartitionRecord 3 versions 0-2 flexible 0+
    partitionId             int32
    topicId                 uuid
    replicas                []int32
    isr                     []int32
    removingReplicas        []int32
    addingReplicas          []int32
    leader                  int32
    leaderRecoveryState     int8     tag 0 = 0
    leaderEpoch             int32
    partitionEpoch          int32
    directories             []uuid   1+
    eligibleLeaderReplicas  []int32  2+ nullable tag 1 = null
    lastKnownElr            []int32  2+ nullable tag 2 = null
ConfigRecord 4 versions 0 flexible 0+
    resourceType  int8
    resourceName  string
    name          string
    value         string  nullable
PartitionChangeRecord 5 versions 0-2 flexible 0+
    partitionId             int32
    topicId                 uuid
    isr                     []int32  nullable tag 0 = null
    leader                  int32    tag 1 = -2
    replicas                []int32  nullable tag 2 = null
    removingReplicas        []int32  nullable tag 3 = null
    addingReplicas          []int32  nullable tag 4 = null
    leaderRecoveryState     int8     tag 5 = -1
    directories             []uuid   1+ nullable tag 8 = null
    eligibleLeaderReplicas  []int32  2+ nullable tag 6 = null
    lastKnownElr            []int32  2+ nullable tag 7 = null
AccessControlRecord 6 versions 0 flexible 0+
    resourceType    int8
    resourceName    string  nullable
    patternType     int8
    principal       string
    host            string
    operation       int8
    permissionType  int8
FenceBrokerRecord 7 versions 0 flexible 0+: id int32, epoch int64
UnfenceBrokerRecord 8 versions 0 flexible 0+: id int32, epoch int64
RemoveTopicRecord 9 versions 0 flexible 0+: topicId uuid
DelegationTokenRecord 10 versions 0 flexible 0+
    owner                string
    requester            string
    renewers             []string
    issueTimestamp       int64
    maxTimestamp         int64
    expirationTimestamp  int64
    tokenId              string
UserScramCredentialRecord 11 versions 0 flexible 0+
    name        string
    mechanism   int8
    salt        bytes
    storedKey   bytes
    serverKey   bytes
    iterations  int32
FeatureLevelRecord 12 versions 0 flexible 0+: name string, featureLevel int16
ClientQuotaRecord 14 versions 0 flexible 0+
    entity  []EntityData: entityType string, entityName string nullable
    key     string
    value   float64
    remove  bool
ProducerIdsRecord 15 versions 0 flexible 0+: brokerId int32, brokerEpoch int64, nextProducerId int64
BrokerRegistrationChangeRecord 17 versions 0-3 flexible 0+
    brokerId              int32
    brokerEpoch           int64
    fenced                int8    tag 0
    inControlledShutdown  int8    1+ tag 1
    logDirs               []uuid  2+ tag 2
    cordonedLogDirs       []uuid  3+ nullable tag 3 = null
AccessControlEntryRecord 18 versions 0 flexible 0+
    id              uuid
    resourceType    int8
    resourceName    string
    patternType     int8
    principal       string
    host            string
    operation       int8
    permissionType  int8
RemoveAccessControlEntryRecord 19 versions 0 flexible 0+: id uuid
NoOpRecord 20 versions 0 flexible 0+
ZkMigrationStateRecord 21 versions 0 flexible 0+: zkMigrationState int8
RemoveUserScramCredentialRecord 22 versions 0 flexible 0+: name string, mechanism int8
BeginTransactionRecord 23 versions 0 flexible 0+: name string nullable tag 0 = null
EndTransactionRecord 24 versions 0 flexible 0+
AbortTransactionRecord 25 versions 0 flexible 0+: reason string nullable tag 0 = null
RemoveDelegationTokenRecord 26 versions 0 flexible 0+: tokenId string
RegisterControllerRecord 27 versions 0 flexible 0+
    controllerId      int32
    incarnationId     uuid
    zkMigrationReady  bool
    endPoints         []ControllerEndpoint: name string, host string, port uint16, securityProtocol int16
    features          []ControllerFeature: name string, minSupportedVersion int16, maxSupportedVersion int16
ClearElrRecord 28 versions 0 flexible 0+: topicName string
UnregisterControllerRecord 29 versions 0 flexible 0+: controllerId int32
""")
METADATA_RECORDS = {schema.api_key: schema for schema in METADATA_SCHEMAS.values()}

FRAME_VERSION = 1

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def type_name(name: str) -> str:
    """Return a record's name as `MetadataRecordType` writes it: TOPIC_RECORD."""
    return _WORD.sub("_", name).upper()


HEAD_FIELDS = METADATA_SCHEMAS["PartitionChangeRecord"].fields[:2]
"""Partition and topic id, with which the records of partitions begin: a log has many that go on alike."""
_head_values, _HEAD_SIZE = attrgetter("values", "size")(reader.fixed_layout("partition", list(HEAD_FIELDS)))
_PARTITION_FRAMES = frozenset(
    bytes((FRAME_VERSION, schema.api_key, number))
    for schema in METADATA_SCHEMAS.values()
    if schema.fields[:2] == HEAD_FIELDS
    for number in range(schema.versions.lowest, schema.versions.highest + 1)
)
_TAIL = 3 + _HEAD_SIZE
_uuid = lru_cache(1 << 14)(primitives.uuid_text)


def _numbered(names: str, first: int = 0) -> dict[int, str]:
    return dict(enumerate(names.split(), first))


CODE_NAMES: dict[str, dict[int, str]] = {
    "fenced": _numbered("false unchanged true", -1),
    "inControlledShutdown": _numbered("unchanged true"),
    "leaderRecoveryState": _numbered("RECOVERED RECOVERING"),
    "resourceType": _numbered("UNKNOWN ANY TOPIC GROUP CLUSTER TRANSACTIONAL_ID DELEGATION_TOKEN USER"),
    "patternType": _numbered("UNKNOWN ANY MATCH LITERAL PREFIXED"),
    "operation": _numbered(
        "UNKNOWN ANY ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS "
        "ALTER_CONFIGS IDEMPOTENT_WRITE CREATE_TOKENS DESCRIBE_TOKENS TWO_PHASE_COMMIT"
    ),
    "permissionType": _numbered("UNKNOWN ANY DENY ALLOW"),
    "mechanism": _numbered("UNKNOWN SCRAM-SHA-256 SCRAM-SHA-512"),
    "securityProtocol": _numbered("PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL"),
    "zkMigrationState": _numbered("NONE MIGRATION PRE_MIGRATION POST_MIGRATION ZK"),
}
"""Field of a record -> Kafka's names of its codes: `ResourceType`, `AclOperation`, ... of ACLs."""
CONFIG_RESOURCES = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER", 16: "CLIENT_METRICS", 32: "GROUP"}
"""The same of `resourceType` of a ConfigRecord: `ConfigResource.Type`."""


def name_of_code(field: str, code: object, record: str = "") -> str | None:
    """Return Kafka's name of a code in a field of a record; None where it has none."""
    names = CONFIG_RESOURCES if (record, field) == ("CONFIG", "resourceType") else CODE_NAMES.get(field, {})
    return None if isinstance(code, bool) or not isinstance(code, int) else names.get(code)


def decode_alike(value: bytes | None) -> Message | Unknown:
    """Return what `decode_metadata` does, with replaced UTF-8; equal messages share values: change none."""
    if value is None or value[:3] not in _PARTITION_FRAMES or len(value) < _TAIL:
        return decode_metadata(value, replace_invalid_utf8=True)
    number, topic_id = _head_values(value, 3)
    template = _template(value[:3], value[_TAIL:])
    if isinstance(template, Unknown):
        return template._replace(raw=value)
    head = {"partitionId": number, "topicId": _uuid(topic_id)}
    return Message(*template[:3], {**template.fields, **head}, *template[4:])


@lru_cache(1 << 14)
def _template(frame: bytes, tail: bytes) -> Message | Unknown:
    return decode_metadata(frame + bytes(_HEAD_SIZE) + tail, replace_invalid_utf8=True)


def decode_metadata(
    value: Buffer | None,
    elements: int = reader.ELEMENTS_MAX,
    *,
    replace_invalid_utf8: bool = False,
    nearest: bool = False,
    spans: list[FieldSpan] | None = None,
) -> Message | Unknown:
    """Return a record of the metadata log or of a snapshot of it; options as of `decode_key`.

    With `nearest` one of an unknown version is read as the known one next to it, which its message then has.
    Null, or bytes after the message, are a CorruptError; a frame version but 1 (0: of 2.8) is an
    UnsupportedError.
    """
    if value is None:
        raise CorruptError(0, f"{CLUSTER_METADATA} value", "a value", "null")
    frame_version, after_frame = primitives.short_varint(value, 0, "frame version")
    if frame_version != FRAME_VERSION:
        raise UnsupportedError(0, "frame version", FRAME_VERSION, frame_version)
    api_key, after_key = primitives.short_varint(value, after_frame, "record type")
    version, start = primitives.short_varint(value, after_key, "record version")
    schema = METADATA_RECORDS.get(api_key)
    if schema is None or (version not in schema.versions and not nearest):
        return Unknown(api_key, version, bytes(value))
    read_as = max(min(version, schema.versions.highest), schema.versions.lowest)
    collector = reader.Collector(elements, replace_invalid_utf8=replace_invalid_utf8, spans=spans)
    collector.span(f"{schema.name} frame version", 0, after_frame, frame_version)
    collector.span(f"{schema.name} record type", after_frame, after_key, api_key)
    collector.span(f"{schema.name} record version", after_key, start, version)
    message = reader.read_message(schema, read_as, value, start, collector)
    if message.tail:
        raise CorruptError(len(value) - len(message.tail), schema.name, "no more bytes", len(message.tail))
    return message
