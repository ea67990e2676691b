"""The rows of `metadata`: what the records of a metadata log come to, what each changed, what differs."""

from typing import Annotated, Any, NamedTuple

from kcli.kafka.kraft.metadata_image import Endpoint
from kcli.rows.declare import Timestamp
from kcli.rows.partitions import OfDirectory


class MetadataSummaryRow(NamedTuple):
    """How many of each kind there are."""

    place: OfDirectory
    metadata_offset: Annotated[int, "of the last record"]
    metadata_epoch: Annotated[int, "of the last record"]
    timestamp: Annotated[Timestamp | None, "of the last record"]
    complete: Annotated[bool, "whether nothing that was read is damaged, and nothing is missing"]
    metadata_version: Annotated[int | None, "level of the feature metadata.version"]
    leader: Annotated[int | None, "of the quorum; null where nothing names one"]
    voters: Annotated[tuple[int, ...], "of the quorum"]
    topics: Annotated[int, "how many"]
    partitions: Annotated[int, "how many"]
    partitions_without_leader: Annotated[int, "how many"]
    partitions_below_replicas: Annotated[int, "with fewer replicas in the ISR than they have"]
    brokers: Annotated[int, "registered ones"]
    brokers_fenced: Annotated[tuple[int, ...], "node ids"]
    controllers: Annotated[int, "registered ones"]
    configs: Annotated[int, "settings"]
    features: Annotated[int, "how many"]
    acls: Annotated[int, "how many"]
    quotas: Annotated[int, "limits"]
    scram: Annotated[int, "credentials"]
    tokens: Annotated[int, "how many"]
    next_producer_id: Annotated[int | None, "null before the first block of producer ids"]


class MetadataTopicRow(NamedTuple):
    """A topic."""

    place: OfDirectory
    topic: Annotated[str, "name"]
    topic_id: Annotated[str, "id"]
    partitions: Annotated[int, "how many"]
    configs: Annotated[dict[str, Any], "settings of its own"]


class MetadataPartitionRow(NamedTuple):
    """A partition."""

    place: OfDirectory
    topic: Annotated[str, "name of the topic"]
    topic_id: Annotated[str, "id of the topic"]
    partition: Annotated[int, "number"]
    leader: Annotated[int, "broker id, -1 for none"]
    isr: Annotated[tuple[int, ...], "replicas in sync"]
    elr: Annotated[tuple[int, ...], "eligible leader replicas (KIP-966)"]
    last_known_elr: Annotated[tuple[int, ...], "the last leader, where there is none"]
    replicas: Annotated[tuple[int, ...], "assigned ones"]
    adding_replicas: Annotated[tuple[int, ...], "of a reassignment"]
    removing_replicas: Annotated[tuple[int, ...], "of a reassignment"]
    directories: Annotated[tuple[str, ...], "ids of the log dirs of the replicas"]
    leader_epoch: Annotated[int, "rises with each leader"]
    partition_epoch: Annotated[int, "rises with each change"]
    leader_recovery_state: Annotated[str, "RECOVERED, or RECOVERING after an unclean election"]


class MetadataBrokerRow(NamedTuple):
    """A broker that is registered."""

    place: OfDirectory
    node_id: Annotated[int, "of the broker"]
    incarnation_id: Annotated[str | None, "of its process"]
    broker_epoch: Annotated[int, "offset of its registration"]
    fenced: Annotated[bool, "it may lead nothing"]
    in_controlled_shutdown: Annotated[bool, "it gives up what it leads"]
    rack: Annotated[str | None, "broker.rack"]
    endpoints: Annotated[tuple[Endpoint, ...], "of its listeners"]
    log_dirs: Annotated[tuple[str, ...], "ids of its log dirs that are online"]
    cordoned_log_dirs: Annotated[tuple[str, ...] | None, "ids of those that get no new replicas"]


class MetadataControllerRow(NamedTuple):
    """A controller that is registered."""

    place: OfDirectory
    node_id: Annotated[int, "of the controller"]
    incarnation_id: Annotated[str, "of its process"]
    endpoints: Annotated[tuple[Endpoint, ...], "of its listeners"]


class MetadataConfigRow(NamedTuple):
    """A dynamic setting."""

    place: OfDirectory
    resource_type: Annotated[str, "TOPIC, BROKER, CLIENT_METRICS or GROUP"]
    resource_name: Annotated[str, "empty for the default of all brokers"]
    name: Annotated[str, "of the setting"]
    value: Annotated[str, "(hidden) for a secret, without --secrets"]


class MetadataFeatureRow(NamedTuple):
    """A feature, and the level at which it is finalized."""

    place: OfDirectory
    feature: Annotated[str, "name"]
    level: Annotated[int, "finalized"]


class MetadataAclRow(NamedTuple):
    """An ACL."""

    place: OfDirectory
    id: Annotated[str, "of the ACL"]
    resource_type: Annotated[str, "TOPIC, GROUP, CLUSTER, ..."]
    resource_name: Annotated[str, "name, or the beginning of names"]
    pattern_type: Annotated[str, "LITERAL or PREFIXED"]
    principal: Annotated[str, "who"]
    host: Annotated[str, "from where; * for any"]
    operation: Annotated[str, "what"]
    permission: Annotated[str, "ALLOW or DENY"]


class MetadataQuotaRow(NamedTuple):
    """A limit of a user, a client id or an address."""

    place: OfDirectory
    entity: Annotated[dict[str, Any], "type and name; a name of null is the default"]
    key: Annotated[str, "what is limited"]
    value: Annotated[float, "limit"]


class MetadataScramRow(NamedTuple):
    """A SCRAM credential; what it hides is not shown."""

    place: OfDirectory
    user: Annotated[str, "who"]
    mechanism: Annotated[str, "SCRAM-SHA-256 or SCRAM-SHA-512"]
    iterations: Annotated[int, "of the hash"]


class MetadataTokenRow(NamedTuple):
    """A delegation token."""

    place: OfDirectory
    token_id: Annotated[str, "id"]
    owner: Annotated[str, "principal"]
    requester: Annotated[str, "principal"]
    renewers: Annotated[tuple[str, ...], "principals"]
    issue_timestamp: Annotated[Timestamp, "when it was issued"]
    expiry_timestamp: Annotated[Timestamp, "when it expires unless it is renewed"]
    max_timestamp: Annotated[Timestamp, "when it expires at last"]


class MetadataProducerIdsRow(NamedTuple):
    """The block of producer ids that comes next."""

    place: OfDirectory
    next_producer_id: Annotated[int, "first id of it"]


class MetadataVoterRow(NamedTuple):
    """A voter of the quorum."""

    place: OfDirectory
    voter_id: Annotated[int, "node id"]
    directory_id: Annotated[str | None, "of its metadata log dir; null before KIP-853"]
    endpoints: Annotated[tuple[Endpoint, ...], "of its listeners; none before KIP-853"]
    kraft_version: Annotated[int, "0 before KIP-853, else 1"]


class MetadataChangeRow(NamedTuple):
    """What a record changed."""

    place: OfDirectory
    metadata_offset: Annotated[int, "of the record"]
    metadata_epoch: Annotated[int, "of the record"]
    timestamp: Annotated[Timestamp, "of the record"]
    record_type: Annotated[str, "Kafka's name of it"]
    kind: Annotated[str, "partition, topic, broker, config, ..."]
    name: Annotated[str, "as orders-3, topic orders, broker 2"]
    change: Annotated[str, "created, deleted, leader, isr, elr, replicas, fenced, unfenced, config, ..."]
    before: Annotated[dict[str, Any], "what changed, as it was; empty for what was created"]
    after: Annotated[dict[str, Any], "what changed, as it is then; empty for what was deleted"]


class MetadataDifferenceRow(NamedTuple):
    """A difference between two images of the metadata."""

    place: OfDirectory
    other_dir: Annotated[str, "directory of the other image; the same for two moments of one log"]
    kind: Annotated[str, "partition, topic, broker, config, ..."]
    name: Annotated[str, "as orders-3, orders, broker 2"]
    change: Annotated[str, "added, removed or changed"]
    field: Annotated[str | None, "that changed; null for what was added or removed"]
    before: Annotated[
        str | None, "value in the first image, lists and objects as JSON; null where it has none"
    ]
    after: Annotated[str | None, "value in the other image; null where it has none"]


class MetadataCommandRow(NamedTuple):
    """A command line of Kafka's tools that makes something again."""

    place: OfDirectory
    kind: Annotated[str, "topic, config, acl, quota or scram; log for what is not whole"]
    name: Annotated[str, "of what it makes, or of the file"]
    command: Annotated[str, "for a shell in which BOOTSTRAP is set; a comment where no tool can"]
