"""Records of the topic __remote_log_metadata as declared messages: for their JSON and where their fields lie.

Lives in `__remote_log_metadata-N` and `remote_log_snapshot`; the truth are the
schemas of the module storage, 3.0 to 4.3.1. Kafka wrote three layouts and left
the version at 0. Here they are versions, numbered by `LAYOUTS`: a value is of
the layout that `formats.remote_metadata.decode` tells, by the length of its tail.
"""

from formats.messages.declare import declared
from formats.remote_metadata import LAYOUT_3_0, LAYOUT_3_6, LAYOUT_4_0

LAYOUTS = {LAYOUT_3_0: 0, LAYOUT_3_6: 1, LAYOUT_4_0: 2}

SCHEMAS = declared("""
RemoteLogSegmentMetadataRecord 0 versions 0-2 flexible 0+
    remoteLogSegmentId     RemoteLogSegmentIdEntry
        topicIdPartition  TopicIdPartitionEntry
            name       string
            id         uuid
            partition  int32
        id                uuid
    startOffset            int64
    endOffset              int64
    brokerId               int32
    maxTimestampMs         int64
    eventTimestampMs       int64
    segmentLeaderEpochs    []SegmentLeaderEpochEntry
        leaderEpoch  int32
        offset       int64
    segmentSizeInBytes     int32
    customMetadata         bytes                      1+ nullable
    remoteLogSegmentState  int8
    txnIndexEmpty          bool                       2+ tag 0
RemoteLogSegmentMetadataUpdateRecord 1 versions 0-1 flexible 0+
    remoteLogSegmentId     RemoteLogSegmentIdEntry
        topicIdPartition  TopicIdPartitionEntry
            name       string
            id         uuid
            partition  int32
        id                uuid
    brokerId               int32
    eventTimestampMs       int64
    customMetadata         bytes                    1+ nullable
    remoteLogSegmentState  int8
RemotePartitionDeleteMetadataRecord 2 versions 0 flexible 0+
    topicIdPartition            TopicIdPartitionEntry
        name       string
        id         uuid
        partition  int32
    brokerId                    int32
    eventTimestampMs            int64
    remotePartitionDeleteState  int8
RemoteLogSegmentMetadataSnapshotRecord 3 versions 0-2 flexible 0+
    segmentId              uuid
    startOffset            int64
    endOffset              int64
    brokerId               int32
    maxTimestampMs         int64
    eventTimestampMs       int64
    segmentLeaderEpochs    []SegmentLeaderEpochEntry
        leaderEpoch  int32
        offset       int64
    segmentSizeInBytes     int32
    customMetadata         bytes                      1+ nullable
    remoteLogSegmentState  int8
    txnIndexEmpty          bool                       2+ tag 0
""")
RECORDS = {schema.api_key: schema for schema in SCHEMAS.values()}
