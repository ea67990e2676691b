"""Records of the topic __consumer_offsets: committed offsets and groups of every protocol.

Lives in `__consumer_offsets-N`; written by the group coordinator. The truth is
`org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde` with the schemas of the module
group-coordinator, 4.3.1. A key is i16 api key and the key's message in version 0, a value i16 version and
message; no value is a tombstone. Before 4.0 the i16 was called the key's version; the bytes are the same.
"""

from formats.messages.declare import by_key, declared

GROUP_SCHEMAS = declared("""
LegacyOffsetCommitKey 0 versions 0: group string, topic string, partition int32
LegacyOffsetCommitValue 0 versions 0: offset int64, metadata string, commitTimestamp int64
OffsetCommitKey 1 versions 0: group string, topic string, partition int32
OffsetCommitValue 1 versions 0-4 flexible 4+
    offset           int64
    leaderEpoch      int32   3+
    metadata         string
    commitTimestamp  int64
    expireTimestamp  int64   1
    topicId          uuid    4+ tag 0
GroupMetadataKey 2 versions 0: group string
GroupMetadataValue 2 versions 0-4 flexible 4+
    protocolType           string
    generation             int32
    protocol               string            nullable
    leader                 string            nullable
    currentStateTimestamp  int64             2+
    members                []MemberMetadata
        memberId          string
        groupInstanceId   string  3+ nullable
        clientId          string
        clientHost        string
        rebalanceTimeout  int32   1+
        sessionTimeout    int32
        subscription      bytes
        assignment        bytes
ConsumerGroupMetadataKey 3 versions 0: groupId string
ConsumerGroupMetadataValue 3 versions 0 flexible 0+: epoch int32, metadataHash int64 tag 0 = 0
ConsumerGroupPartitionMetadataKey 4 versions 0: groupId string
ConsumerGroupPartitionMetadataValue 4 versions 0 flexible 0+
    topics  []TopicMetadata
        topicId            uuid
        topicName          string
        numPartitions      int32
        partitionMetadata  []PartitionMetadata: partition int32, racks []string
ConsumerGroupMemberMetadataKey 5 versions 0: groupId string, memberId string
ConsumerGroupMemberMetadataValue 5 versions 0 flexible 0+
    instanceId             string                 nullable
    rackId                 string                 nullable
    clientId               string
    clientHost             string
    subscribedTopicNames   []string
    subscribedTopicRegex   string                 nullable
    rebalanceTimeoutMs     int32
    serverAssignor         string                 nullable
    classicMemberMetadata  ClassicMemberMetadata  nullable tag 0
        sessionTimeoutMs    int32
        supportedProtocols  []ClassicProtocol: name string, metadata bytes
ConsumerGroupTargetAssignmentMetadataKey 6 versions 0: groupId string
ConsumerGroupTargetAssignmentMetadataValue 6 versions 0 flexible 0+
    assignmentEpoch      int32
    assignmentTimestamp  int64  tag 0 = 0
ConsumerGroupTargetAssignmentMemberKey 7 versions 0: groupId string, memberId string
ConsumerGroupTargetAssignmentMemberValue 7 versions 0 flexible 0+
    topicPartitions  []TopicPartition: topicId uuid, partitions []int32
ConsumerGroupCurrentMemberAssignmentKey 8 versions 0: groupId string, memberId string
ConsumerGroupCurrentMemberAssignmentValue 8 versions 0 flexible 0+
    memberEpoch                  int32
    previousMemberEpoch          int32
    state                        int8
    assignedPartitions           []TopicPartitions
        topicId           uuid
        partitions        []int32
        assignmentEpochs  []int32  nullable tag 0
    partitionsPendingRevocation  []TopicPartitions
ShareGroupMemberMetadataKey 10 versions 0: groupId string, memberId string
ShareGroupMemberMetadataValue 10 versions 0 flexible 0+
    rackId                string    nullable
    clientId              string
    clientHost            string
    subscribedTopicNames  []string
ShareGroupMetadataKey 11 versions 0: groupId string
ShareGroupMetadataValue 11 versions 0 flexible 0+: epoch int32, metadataHash int64
ShareGroupTargetAssignmentMetadataKey 12 versions 0: groupId string
ShareGroupTargetAssignmentMetadataValue 12 versions 0 flexible 0+
    assignmentEpoch      int32
    assignmentTimestamp  int64  tag 0 = 0
ShareGroupTargetAssignmentMemberKey 13 versions 0: groupId string, memberId string
ShareGroupTargetAssignmentMemberValue 13 versions 0 flexible 0+: topicPartitions []TopicPartition
ShareGroupCurrentMemberAssignmentKey 14 versions 0: groupId string, memberId string
ShareGroupCurrentMemberAssignmentValue 14 versions 0 flexible 0+
    memberEpoch          int32
    previousMemberEpoch  int32
    state                int8
    assignedPartitions   []TopicPartitions: topicId uuid, partitions []int32
ShareGroupStatePartitionMetadataKey 15 versions 0: groupId string
ShareGroupStatePartitionMetadataValue 15 versions 0 flexible 0+
    initializingTopics  []TopicPartitionsInfo: topicId uuid, topicName string, partitions []int32
    initializedTopics   []TopicPartitionsInfo
    deletingTopics      []TopicInfo: topicId uuid, topicName string
ConsumerGroupRegularExpressionKey 16 versions 0: groupId string, regularExpression string
ConsumerGroupRegularExpressionValue 16 versions 0 flexible 0+: topics []string, version int64, timestamp int64
StreamsGroupMetadataKey 17 versions 0: groupId string
StreamsGroupMetadataValue 17 versions 0 flexible 0+
    epoch                   int32
    metadataHash            int64
    validatedTopologyEpoch  int32                   tag 0 = -1
    lastAssignmentConfigs   []LastAssignmentConfig  nullable tag 1: key string, value string
    storedDescriptionTopologyEpoch  int32           tag 2 = -1
    failedDescriptionTopologyEpoch  int32           tag 3 = -1
StreamsGroupMemberMetadataKey 19 versions 0: groupId string, memberId string
StreamsGroupMemberMetadataValue 19 versions 0 flexible 0+
    instanceId          string      nullable
    rackId              string      nullable
    clientId            string
    clientHost          string
    rebalanceTimeoutMs  int32
    topologyEpoch       int32
    processId           string
    userEndpoint        Endpoint    nullable: host string, port uint16
    clientTags          []KeyValue: key string, value string
StreamsGroupTargetAssignmentMetadataKey 20 versions 0: groupId string
StreamsGroupTargetAssignmentMetadataValue 20 versions 0 flexible 0+
    assignmentEpoch      int32
    assignmentTimestamp  int64  tag 0 = 0
StreamsGroupTargetAssignmentMemberKey 21 versions 0: groupId string, memberId string
StreamsGroupTargetAssignmentMemberValue 21 versions 0 flexible 0+
    activeTasks   []TaskIds: subtopologyId string, partitions []int32
    standbyTasks  []TaskIds
    warmupTasks   []TaskIds
StreamsGroupCurrentMemberAssignmentKey 22 versions 0: groupId string, memberId string
StreamsGroupCurrentMemberAssignmentValue 22 versions 0 flexible 0+
    memberEpoch                    int32
    previousMemberEpoch            int32
    state                          int8
    activeTasks                    []TaskIds
        subtopologyId     string
        partitions        []int32
        assignmentEpochs  []int32  nullable tag 0
    standbyTasks                   []TaskIds
    warmupTasks                    []TaskIds
    activeTasksPendingRevocation   []TaskIds
    standbyTasksPendingRevocation  []TaskIds
    warmupTasksPendingRevocation   []TaskIds
StreamsGroupTopologyKey 23 versions 0: groupId string
StreamsGroupTopologyValue 23 versions 0 flexible 0+
    epoch          int32
    subtopologies  []Subtopology
        subtopologyId            string
        sourceTopics             []string
        sourceTopicRegex         []string
        stateChangelogTopics     []TopicInfo
            name               string
            partitions         int32
            replicationFactor  int16
            topicConfigs       []TopicConfig: key string, value string
        repartitionSinkTopics    []string
        repartitionSourceTopics  []TopicInfo
        copartitionGroups        []CopartitionGroup
            sourceTopics             []int16
            sourceTopicRegex         []int16
            repartitionSourceTopics  []int16
""")
GROUP_KEYS = by_key(GROUP_SCHEMAS, "Key")
GROUP_VALUES = by_key(GROUP_SCHEMAS, "Value")

CONSUMER_PROTOCOL = declared("""
ConsumerProtocolSubscription 0 versions 0-3
    topics           []string
    userData         bytes             nullable
    ownedPartitions  []TopicPartition  1+: topic string, partitions []int32
    generationId     int32             2+
    rackId           string            3+ nullable
ConsumerProtocolAssignment 0 versions 0-3: assignedPartitions []TopicPartition, userData bytes nullable
""")
"""What consumers of the classic protocol put into a member's bytes, after an i16 version; it has no api key.
"""

CONSUMER_PROTOCOL_FIELDS = {
    "subscription": "ConsumerProtocolSubscription",
    "assignment": "ConsumerProtocolAssignment",
}
"""Fields of a member of GroupMetadataValue, and which message they hold."""
