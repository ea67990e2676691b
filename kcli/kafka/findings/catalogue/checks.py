"""Rules of what only `check` sees: it holds the files of a log dir against each other and the batches."""

from kcli.kafka.findings.catalogue.rule import Rule

REBUILD = (
    "Remove the offset index and the time index of the segment while the broker is stopped: without an "
    "offset index it writes both anew from the log."
)

CHECKS: dict[str, Rule] = {
    "LOG-016": Rule(
        "error",
        "A file with the name of a log is something else: a git-lfs pointer, an archive, text.",
        "A clean start takes its bytes for a batch that is not complete, and the log for empty.",
        "Put the real segment in its place (git lfs pull, or a copy from another replica).",
    ),
    "LOG-017": Rule(
        "error",
        "A batch header contradicts itself: more records than offsets, or a negative number of them.",
        "Consumers and replicas fail on it, or see offsets twice.",
        "No release writes such a header: find out what wrote it, and compare with another replica.",
    ),
    "LOG-019": Rule(
        "warning",
        "Offsets are missing between two segments of a log that was not cleaned.",
        "It does not notice: consumers go on at the next segment.",
        "A segment may be lost: compare with another replica (kcli replica diff).",
    ),
    "LOG-020": Rule(
        "error",
        "The records of a batch have offsets that do not rise, or that lie outside of the batch.",
        "Consumers get them in a wrong order, or pass them over.",
        "No producer writes such a batch: compare with another replica.",
    ),
    "LOG-021": Rule(
        "error",
        "A segment that is not the last ends with bytes that are no batch.",
        "A clean start does not look there: consumers and followers that come there fail, or get no further. "
        "Recovery cuts the log there and deletes every later segment.",
        "kcli salvage writes a copy without these bytes; or copy the segment from another replica.",
    ),
    "LOG-022": Rule(
        "warning",
        "Offsets are missing between two batches of a log or before the first batch of a segment, and "
        "nothing else shows that it was cleaned.",
        "It does not notice: consumers and followers go on at the next batch.",
        "Fetch the batches from another replica (kcli replica diff), if one has them. Nothing is lost where "
        "this broker fetched the log from a leader that had compacted it.",
    ),
    "LOG-023": Rule(
        "error",
        "Offsets are missing between two segments or batches of a topic that is not compacted by its "
        "configuration.",
        "It does not notice: consumers go on at the next batch.",
        "These records are lost: copy them from another replica (kcli replica diff), or let this one fetch "
        "anew. "
        "Nothing is lost if the topic was compacted before.",
    ),
    "LOG-024": Rule(
        "warning",
        "The leader epochs of a cleanly stopped log, or its log start in the checkpoint, lie below its first "
        "segment, and it is not tiered.",
        "It does not notice: the log begins at its first segment.",
        "The first segments were lost, or removed by hand: copy them from another replica (kcli replica "
        "diff).",
    ),
    "LOG-025": Rule(
        "error",
        "A log that was stopped cleanly ends below its recovery point, up to which all was flushed.",
        "It does not notice: the log ends earlier, and new records get the offsets of the lost ones.",
        "Where an index of the last segment is damaged (IDX-002), remove its indexes before the start: the "
        "broker then finds the whole log. Else its end was lost or removed since the stop: compare with "
        "another replica (kcli replica diff) before this one may lead.",
    ),
    "IDX-004": Rule(
        "error",
        "An entry of an offset index leads to a byte at which no good batch begins.",
        "It reads garbage there: fetches and lookups that begin at this entry fail or miss records.",
        REBUILD,
    ),
    "IDX-005": Rule(
        "error",
        "An entry of an offset index leads past its offset.",
        "It begins to read too late: fetches and lookups from this entry on miss records.",
        REBUILD,
    ),
    "IDX-006": Rule(
        "error",
        "An entry of a time index contradicts the timestamps of the batches.",
        "Lookups by time begin too late and miss records, or search the wrong segment.",
        REBUILD,
    ),
    "IDX-007": Rule(
        "warning",
        "A segment has no time index, or an empty one.",
        "Lookups by time pass the segment over; retention goes by the modification time of the log.",
        REBUILD,
    ),
    "IDX-008": Rule(
        "error",
        "An entry of a transaction index is of no aborted transaction in its segment.",
        "Consumers with read_committed leave out records that were committed.",
        "Remove the clean shutdown marker before the start: recovery writes the index anew.",
    ),
    "IDX-009": Rule(
        "error",
        "A transaction index lacks an aborted transaction of its segment.",
        "Consumers with read_committed get records of a transaction that was aborted.",
        "Remove the clean shutdown marker before the start: recovery writes the index anew.",
    ),
    "IDX-012": Rule(
        "error",
        "A time index ends below the largest timestamp of its segment.",
        "It takes the last entry for the age of the segment: retention by time deletes it too early. Lookups "
        "by time pass it over.",
        REBUILD,
    ),
    "PROD-001": Rule(
        "warning",
        "A producer snapshot cannot be read.",
        "It deletes the file and takes an older one, or reads the whole log for the state of producers.",
        "Nothing, if older snapshots are there; check the disk.",
    ),
    "PROD-002": Rule(
        "error",
        "A producer snapshot contradicts the batches before it.",
        "It takes the snapshot for true: it refuses good batches (OutOfOrderSequenceException) or accepts "
        "batches twice.",
        "Remove the snapshots while the broker is stopped: it follows the batches instead.",
    ),
    "PROD-003": Rule(
        "warning",
        "Sequences are missing between two batches of a producer.",
        "A leader refuses such an append, a follower takes it: batches may have been lost.",
        "Compare with another replica (kcli replica diff).",
    ),
    "PROD-004": Rule(
        "error",
        "A batch repeats sequences of its producer.",
        "A leader would have dropped it as a duplicate: consumers see records twice.",
        "Find out what wrote the log: no broker appends such a batch.",
    ),
    "PROD-005": Rule(
        "error",
        "The epoch of a producer goes down from one batch to the next.",
        "A leader refuses such an append (InvalidProducerEpochException).",
        "Find out what wrote the log: no broker appends such a batch.",
    ),
    "PROD-006": Rule(
        "info",
        "A producer of the batches is not in the snapshot after them.",
        "It does not know the producer after a start: a batch that is sent again is accepted twice.",
        "Ordinary for producers that were idle for producer.id.expiration.ms (a day).",
    ),
    "PROD-007": Rule(
        "warning",
        "A cleanly stopped log has batches of producers, and no producer snapshot.",
        "It starts without a producer and reads no batch for them: it accepts batches that are sent again, "
        "forgets open transactions, and refuses what follows in them.",
        "Put the snapshots back, or remove the clean shutdown marker before the start: without it the broker "
        "reads the batches.",
    ),
    "PROD-008": Rule(
        "info",
        "A producer snapshot is missing at the base offset of a segment, or at the end of a cleanly stopped "
        "log.",
        "It takes an older one and reads the batches after it. The upload of the segment before it to remote "
        "storage fails.",
        "Nothing without remote storage; else kcli salvage writes it.",
    ),
    "PROD-009": Rule(
        "info",
        "A producer snapshot lies above the log end.",
        "It deletes it when it starts.",
        "The log was longer once: compare with another replica (kcli replica diff), unless it was truncated.",
    ),
    "PROD-010": Rule(
        "error",
        "A batch of a producer lies outside the transaction that the producer has open.",
        "A start that reads both ends the process (InvalidTxnStateException): after an unclean stop, or "
        "without a newer producer snapshot.",
        "Find out what wrote the log: no broker appends such a batch. kcli startup says whether it loads.",
    ),
    "EPOCH-007": Rule(
        "error",
        "Batches have another leader epoch than the leader-epoch-checkpoint says.",
        "It answers OffsetForLeaderEpoch from the checkpoint: followers truncate to a wrong offset.",
        "kcli epoch show --from batches shows the epochs of the batches; compare with the other replicas.",
    ),
    "EPOCH-008": Rule(
        "error",
        "The leader epoch goes down from one batch to the next.",
        "It does not notice; no leader writes such a log.",
        "Find out what wrote the segment, and compare with another replica. No checksum covers the epoch.",
    ),
    "EPOCH-009": Rule(
        "info",
        "Batches lie before the first entry of the leader-epoch-checkpoint.",
        "It answers for their epoch with the first entry's start: a follower keeps less than it could.",
        "Ordinary where a truncation lowered the log start, or the file was lost once.",
    ),
    "IDX-011": Rule(
        "error",
        "A segment has indexes, and no log.",
        "It deletes the indexes (Found an orphaned index file) and goes on without the segment.",
        "No broker removes a log and leaves its indexes: compare with another replica (kcli replica diff), "
        "and copy the segment from there before a start.",
    ),
    "IDX-010": Rule(
        "info",
        "An index does not fit its log, and recovery rebuilds it.",
        "After a stop that was not clean it reads the segment and writes its indexes anew.",
        "Nothing: a running or killed broker leaves stale entries after a truncation.",
    ),
    "CKPT-002": Rule(
        "warning",
        "A checkpoint file names a partition that has no directory in its log dir.",
        "It ignores the line; if the partition is still assigned here, it begins an empty replica.",
        "Ordinary for a minute after a topic was deleted or moved. Otherwise find out who removed it.",
    ),
    "TOPIC-001": Rule(
        "error",
        "The topic id of a partition is not that of its topic in the metadata log.",
        "It takes the directory for a stray of a deleted topic, renames it to -stray, and begins an empty "
        "replica.",
        "Keep a copy. The directory is of an older topic of this name, or from another cluster.",
    ),
    "TOPIC-002": Rule(
        "error",
        "Partitions of one topic have different topic ids.",
        "It takes those for strays whose id is not that of the cluster's metadata.",
        "Keep copies; kcli ls --columns dir,topic_id shows the ids.",
    ),
    "SALV-001": Rule(
        "error",
        "Bytes of a log could not be saved: they are not in the copy.",
        "Recovery would cut the log where they begin, and delete every later segment.",
        "Fetch these offsets from another replica, if one has them (kcli replica diff).",
    ),
    "SALV-002": Rule(
        "warning",
        "The leader-epoch-checkpoint contradicts the batches: that of the copy is made from the batches.",
        "Recovery keeps such a file: followers get a wrong end of an epoch, and truncate at a wrong offset.",
        "Nothing. Epochs without records are not in the copy; kcli epoch show --from batches shows what is.",
    ),
    "SALV-003": Rule(
        "error",
        "The leader epochs of the batches go down: no leader-epoch-checkpoint fits all of them.",
        "Followers get a wrong end of an epoch, and truncate at a wrong offset.",
        "No checksum covers the epoch of a batch: compare with another replica (kcli replica diff) before "
        "the copy is used.",
    ),
    "SALV-004": Rule(
        "error",
        "The leader-epoch-checkpoint could not be saved, and the batches may not show all of its epochs.",
        "Without the epochs of remote segments it answers followers wrongly for them, and cannot serve or "
        "expire these segments.",
        "Copy the file from another replica into the copy (kcli epoch diff shows what is missing), or from a "
        "backup.",
    ),
    "SALV-005": Rule(
        "warning",
        "The leader-epoch-checkpoint could not be saved: that of the copy is made from the batches.",
        "It does not load a log with a damaged file. Without the file it begins with no epochs.",
        "Nothing. Epochs without records are not in the copy; the file of another replica has them.",
    ),
    "SALV-006": Rule(
        "error",
        "partition.metadata is damaged or cannot be read: the copy has none.",
        "It does not load a log with a damaged file. From 3.7 on a KRaft broker renames a directory without "
        "the file to -stray and begins an empty replica.",
        "Copy the file from another replica of the partition into the copy: all have the same.",
    ),
    "SALV-007": Rule(
        "error",
        "partition.metadata is missing, though the broker knew topic ids: the copy has none.",
        "From 3.7 on a KRaft broker renames such a directory to -stray and begins an empty replica. A "
        "release before writes the file anew, with the id of its metadata.",
        "Copy the file from another replica of the partition into the copy: all have the same.",
    ),
    "SALV-008": Rule(
        "error",
        "quorum-state of a metadata log is damaged, missing or cannot be read: the copy has none.",
        "It does not know that it voted: it may vote twice in an epoch.",
        "Where another voter was elected since, nothing. Else do not start this one before a leader is.",
    ),
    "SALV-009": Rule(
        "error",
        "The indexes of a segment show records that no log has: its log is gone, or ends before them.",
        "It deletes the indexes or writes them anew, and goes on without these records.",
        "The copy lacks them: fetch them from another replica, if one has them (kcli replica diff).",
    ),
    "SALV-010": Rule(
        "error",
        "Records are lost that no log has: offsets are missing in a log of a topic that is not compacted by "
        "its configuration, or a log that was stopped cleanly ends below its recovery point.",
        "It does not notice: consumers go on at the next batch, or where the log ends.",
        "The copy lacks them: fetch them from another replica, if one has them (kcli replica diff). Nothing "
        "is lost if the topic was compacted before.",
    ),
    "SALV-011": Rule(
        "warning",
        "Records may be lost that no log has: offsets are missing between two segments or batches, or the "
        "high watermark, the recovery point or a producer snapshot lies above the log end.",
        "It does not notice, lowers the high watermark to the log end and deletes the snapshot.",
        "Compare the copy with another replica (kcli replica diff). Nothing is lost where the topic was "
        "compacted, or the log truncated.",
    ),
    "SALV-012": Rule(
        "info",
        "An index that was not closed, or is damaged, has entries past the end of its log.",
        "After a stop that was not clean it writes the index anew.",
        "A running or killed broker leaves such entries after a truncation. After a loss of power the log "
        "may have lost its end: compare the copy with another replica (kcli replica diff).",
    ),
    "SALV-013": Rule(
        "warning",
        "A producer snapshot has producers of which a salvaged copy has no batch.",
        "Without such a producer it takes the next batch of it for the first: a batch that is sent again is "
        "not noticed, and an older epoch of a transactional producer is not refused.",
        "Nothing where these producers have stopped. Else copy the newest .snapshot of the partition up to "
        "the log end of the copy next to its logs, if no batch was left out before it.",
    ),
    "SALV-014": Rule(
        "error",
        "A snapshot of a metadata log is damaged or cannot be read, or an entry has the name of none: the "
        "copy lacks it.",
        "It does not start with the newest snapshot if that cannot be read, but for a broken link, nor, "
        "mostly, if it is damaged (META-008), nor with a name that ends in .checkpoint and does not begin "
        "with an offset and an epoch.",
        "Nothing for a name, nor where a newer snapshot is in the copy, or its log goes on past this one. "
        "Else copy the file from another controller or broker into the copy.",
    ),
}
