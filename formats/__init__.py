"""Kafka's on-disk formats: bytes to values and back, pure.

Which module reads which file:

    *.log, *.checkpoint (KRaft)                 batch, record, control; legacy and message_set for magic 0 and
    1;
                                                many at once: bulk, checksums, record_columns
    records of the internal topics              messages
    *.index, *.timeindex, *.txnindex            index
    *.snapshot                                  producer_snapshot
    leader-epoch-checkpoint, *-offset-checkpoint, _rlmm_committed_offsets      checkpoint
    meta.properties, partition.metadata, .kafka_cleanshutdown, server.properties    properties
    quorum-state                                quorum
    remote_log_snapshot                         remote_snapshot
    values of __remote_log_metadata             remote_metadata
    *.rsm-manifest (Aiven's plugin)             segment_manifest
    names of files and directories              names

Underneath: types, errors, layout (one Construct declaration, many readers),
primitives (varints, strings, uuids, tagged fields), crc, compression, and
java_text and json_text (text, numbers, lines and JSON as Java reads them).
"""
