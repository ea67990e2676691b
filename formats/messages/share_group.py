"""Records of the topic __share_group_state: which records a share group has in flight (KIP-932).

Lives in `__share_group_state-N`; written by the share coordinator. The truth is
`org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde` with the schemas of the module
share-coordinator, 4.3.1. Keys and values are framed as in `__consumer_offsets`.
"""

from formats.messages.declare import by_key, declared

SHARE_SCHEMAS = declared("""
ShareSnapshotKey 0 versions 0: groupId string, topicId uuid, partition int32
ShareSnapshotValue 0 versions 0 flexible 0+
    snapshotEpoch          int32
    stateEpoch             int32
    leaderEpoch            int32
    startOffset            int64
    deliveryCompleteCount  int32         tag 0 = -1
    createTimestamp        int64
    writeTimestamp         int64
    stateBatches           []StateBatch
        firstOffset    int64
        lastOffset     int64
        deliveryState  int8
        deliveryCount  int16
ShareUpdateKey 1 versions 0: groupId string, topicId uuid, partition int32
ShareUpdateValue 1 versions 0 flexible 0+
    snapshotEpoch          int32
    leaderEpoch            int32
    startOffset            int64
    deliveryCompleteCount  int32         tag 0 = -1
    stateBatches           []StateBatch
""")
SHARE_KEYS = by_key(SHARE_SCHEMAS, "Key")
SHARE_VALUES = by_key(SHARE_SCHEMAS, "Value")
