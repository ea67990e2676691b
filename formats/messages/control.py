"""The values of control records, which the broker and the KRaft quorum write into the log, between the data.

The truth are the schemas of `org.apache.kafka.common.message` in the module clients:
EndTxnMarker, LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord,
KRaftVersionRecord, VotersRecord. Their numbers here are those of `ControlRecordType`.
Each begins with its version: a frame for the marker, a field of the others.
"""

from formats.messages.declare import declared

CONTROL_SCHEMAS = declared("""
EndTxnMarker 1 versions 0: version int16, coordinatorEpoch int32
LeaderChangeMessage 2 versions 0-1 flexible 0+
    version         int16
    leaderId        int32
    voters          []Voter: voterId int32, voterDirectoryId uuid 1+
    grantingVoters  []Voter
SnapshotHeaderRecord 3 versions 0 flexible 0+: version int16, lastContainedLogTimestamp int64
SnapshotFooterRecord 4 versions 0 flexible 0+: version int16
KRaftVersionRecord 5 versions 0 flexible 0+: version int16, kRaftVersion int16
VotersRecord 6 versions 0 flexible 0+
    version  int16
    voters   []Voter
        voterId              int32
        voterDirectoryId     uuid
        endpoints            []Endpoint: name string, host string, port uint16
        kRaftVersionFeature  KRaftVersionFeature: minSupportedVersion int16, maxSupportedVersion int16
""")
CONTROL_VALUES = {schema.api_key: schema for schema in CONTROL_SCHEMAS.values()}
"""By the number of their ControlRecordType; ABORT (0) has the marker's, too."""
