"""Rules about the files of partitions: `LOG`, `IDX`, `DUMP`, `PROD`, `EPOCH`, and `SALV` of copies."""

from kcli.kafka.findings.catalogue.rule import Rule

REBUILD = (
    "Remove the offset index and the time index of the segment while the broker is stopped: without an "
    "offset index it writes both anew from the log."
)

LOGS: dict[str, Rule] = {
    "LOG-001": Rule(
        "warning",
        "The log ends in an incomplete batch.",
        "A clean start stops before it, and the next append overwrites it; recovery cuts it off.",
        "Usual after a kill or a power loss. Compare with another replica if these bytes were acknowledged.",
    ),
    "LOG-002": Rule(
        "error",
        "A range of a log is no batch: the chain of batches breaks here.",
        "A clean start that reads this place fails with CorruptRecordException, one that does not look there "
        "lets consumers and followers fail on it. Recovery truncates the log here, and deletes every later "
        "segment.",
        "Do not delete files. Check other replicas, and save the records after it before this broker starts: "
        "kcli salvage, or kcli dump --offsets from the next good offset on.",
    ),
    "LOG-003": Rule(
        "error",
        "A batch does not match its checksum or structure.",
        "Recovery truncates the log at this batch and deletes every later segment; a clean start does not "
        "notice.",
        "Check the disk and the other replicas before this broker starts uncleanly.",
    ),
    "LOG-004": Rule(
        "info",
        "The log ends in NUL bytes: preallocated (log.preallocate), or left by a power cut.",
        "Recovery trims them; a clean start over them fails.",
        "Nothing, unless the shutdown was clean: then preallocated space was not trimmed and the start may "
        "fail.",
    ),
    "LOG-005": Rule(
        "info",
        "The file changes while it is read: a broker writes to it.",
        "It goes on appending.",
        "The answer is right for the moment at which the file was opened; run again, or on a copy.",
    ),
    "LOG-006": Rule(
        "error",
        "The log ends below its log start offset.",
        "At the next start every segment is deleted and the log begins empty at the log start offset.",
        "Keep a copy before the start: all records here go. Find out who removed segments, or whether the "
        "log start checkpoint belongs to another replica.",
    ),
    "LOG-007": Rule(
        "warning",
        "A partition directory has no segment.",
        "It creates an empty one at the log start offset.",
        "Harmless for a new partition; otherwise the data is gone.",
    ),
    "LOG-008": Rule(
        "error",
        "A file of a partition directory or of a log dir could not be read.",
        "It takes the log dir offline, or does not start; where it may read the file, its answers differ "
        "from these.",
        "Check permissions and the disk, or run kcli as a user that may read the file; what depends on it is "
        "null.",
    ),
    "LOG-009": Rule(
        "error",
        "A cleanly stopped log ends in NUL bytes, as of a power cut: the broker does not load it.",
        "It does not recover after a clean stop: it reads the zeros as a batch, and its process ends with "
        "CorruptRecordException.",
        "Remove the clean shutdown marker before the start, so that recovery trims the zeros; find out what "
        "wrote them.",
    ),
    "LOG-010": Rule(
        "error",
        "A file has the extension of a log file, but its name is not an offset of 20 digits.",
        "It fails to read the offset from the name, and its process ends (NumberFormatException). "
        "With fewer digits it creates an empty segment with the canonical name, and never reads this file.",
        "Before the broker starts: rename the file to 20 digits if it belongs here, else move it elsewhere.",
    ),
    "LOG-012": Rule(
        "error",
        "An entry with the name of a log file or of a log dir's own file is something else: a directory, a "
        "pipe, a broken symlink, a git-lfs pointer, an archive, text.",
        "In a partition it ignores what is no regular file, and fails when it creates a file of that name; a "
        "clean start takes other bytes for a batch that is not complete. In a log dir a directory keeps it "
        "from starting, a broken link does or takes the log dir offline; it waits for ever on a pipe.",
        "Find out what created it, and put the real file in its place before the broker starts (git lfs "
        "pull, or a copy from another replica).",
    ),
    "LOG-014": Rule(
        "info",
        "A file or a directory was removed or renamed after it was listed, or while NFS had it open.",
        "Retention, compaction, the deletion of a topic and a move to another log dir do this while it runs.",
        "Nothing, if the broker runs: the rest is answered. Otherwise find out what removed it, and run "
        "again.",
    ),
    "LOG-018": Rule(
        "warning",
        "A segment holds a batch more than 2147483647 offsets above its base offset.",
        "Where it recovers the segment, at a start without its index or after an unclean stop, it splits the "
        "segment in two or more, and loses nothing; where the segment does not end with such a batch, its "
        "process ends. Until then lookups by index can miss the batch.",
        "Nothing, if an old release compacted the topic (KAFKA-5413). Otherwise the batch is damaged (the "
        "checksum does not cover its base offset): compare with another replica.",
    ),
    "LOG-026": Rule(
        "error",
        "A segment holds a batch below its base offset.",
        "Its indexes hold offsets relative to the base offset: recovery fails, and lookups miss the batch.",
        "The file has a wrong name or place, or the batch is damaged (the checksum does not cover its base "
        "offset): compare with another replica.",
    ),
    "LOG-027": Rule(
        "info",
        "Records have timestamps more than an hour ahead of the clock.",
        "retention.ms counts from the largest timestamp of a segment: it keeps this one, and all later ones, "
        "for longer.",
        "Nothing yet. message.timestamp.after.max.ms (an hour since 4.0) refuses new ones; kcli retention "
        "names the records and their producer.",
    ),
    "LOG-028": Rule(
        "warning",
        "A timestamp ahead of the clock keeps its segment for more than a year, or later segments that are "
        "past their time.",
        "It deletes from the oldest segment on, and stops at the first that stays: this one.",
        "Limit the topic by retention.bytes, which does not look at timestamps, or delete the records up to "
        "there (kafka-delete-records.sh). Often a producer sends microseconds for ms: kcli retention names "
        "it.",
    ),
    "LOG-029": Rule(
        "warning",
        "The log cleaner does not clean a compacted log that is dirty enough: an open transaction, a high "
        "watermark that does not rise or a timestamp ahead of the clock stops it, a cleaning failed, or the "
        "cleaner stopped.",
        "It goes on appending, and the log grows. A log whose cleaning failed is left alone until a restart.",
        "End a transaction that hangs (kcli txn open). Bring back the replicas that a high watermark waits "
        "for (kcli metadata show has the ISR). Else look for the cleaner in server.log: "
        "log.cleaner.enable, an exception of a cleaning, a thread that died; a restart begins anew.",
    ),
    "IDX-001": Rule(
        "info",
        "A segment has no offset index.",
        "It recovers the segment and rebuilds its indexes at the next start, also after a clean stop.",
        "Nothing. Idle active segments of live brokers can look like this.",
    ),
    "IDX-002": Rule(
        "warning",
        "The last index entry does not lead to the end of the log: a scan of the bytes sees another end.",
        "A clean start trusts the entry: the log ends where it leads, and appends continue there.",
        "Remove the clean shutdown marker before the start: the broker then rebuilds the index from the "
        "bytes.",
    ),
    "IDX-003": Rule(
        "info",
        "An index still has its preallocated tail.",
        "It rebuilds the index during recovery, or trims it when it closes.",
        "Nothing: this is how a running or killed broker leaves its active segment.",
    ),
    "DUMP-002": Rule(
        "error",
        "The records of a batch cannot be read.",
        "Consumers and replicas fail on it where they decompress it; recovery cuts the log here if the "
        "checksum is wrong.",
        "Compare with the other replicas. If a limit was exceeded, --max-batch-bytes raises it.",
    ),
    "DUMP-003": Rule(
        "warning",
        "Entries of an index do not increase.",
        "After a clean stop it takes every slot for an entry, and its binary search can miss entries.",
        "Ordinary in the preallocated end of an index whose segment was truncated. Otherwise remove the "
        "index: the broker rebuilds it.",
    ),
    "DUMP-004": Rule(
        "warning",
        "Index entries do not name the offset of the batch at their position.",
        "It reads on from there until it finds the offset.",
        "Releases up to 4.0 write such entries for an append of several batches, and they are harmless.",
    ),
    "DUMP-005": Rule(
        "info",
        "No index leads to the selected records; the log was scanned from its beginning.",
        "It reads from the start of the segment as well.",
        "Nothing.",
    ),
    "DUMP-006": Rule(
        "error",
        "An index fails the check that a starting broker makes, or ends in the middle of an entry.",
        "It deletes the index, recovers the segment and writes the index anew; it ignores the partial entry "
        "of a transaction index.",
        "Nothing after a crash: brokers write whole entries. After a clean stop look at the disk.",
    ),
    "DUMP-007": Rule(
        "warning",
        "An index cannot be compared with its segment.",
        "It deletes an index without a log, and recovers a log without an index.",
        "Keep the files of a segment together when copying.",
    ),
    "DUMP-009": Rule(
        "warning",
        "The last message inside a wrapper is cut.",
        "It skips the message without an error, as consumers do.",
        "The message cannot be read. Old producers wrote such wrappers.",
    ),
    "LOG-017": Rule(
        "error",
        "A batch contradicts itself or the batch before it: a magic above 2, more records than offsets, "
        "records outside of it, or offsets that do not rise from one batch or record to the next.",
        "Consumers and replicas fail on it, pass records over or see offsets twice. A clean start does not "
        "notice; recovery fails with InvalidOffsetException where such a batch would become an index entry.",
        "No release writes this, and no checksum covers the magic and the base offset: find out what wrote "
        "it, and compare with another replica.",
    ),
    "LOG-022": Rule(
        "warning",
        "Offsets are missing between two segments or batches of a log, or before its first segment, and "
        "nothing else shows that it was cleaned or is tiered.",
        "It does not notice: the log begins at its first segment, consumers and followers go on at the next "
        "batch.",
        "A segment may be lost: fetch the batches from another replica (kcli replica diff), if one has them. "
        "Nothing is lost where this broker fetched the log from a leader that had compacted it.",
    ),
    "LOG-023": Rule(
        "error",
        "Offsets are missing between two segments or batches of a topic that is not compacted by its "
        "configuration.",
        "It does not notice: consumers go on at the next batch.",
        "These records are lost: copy them from another replica (kcli replica diff), or let this one fetch "
        "anew. Nothing is lost if the topic was compacted before.",
    ),
    "LOG-025": Rule(
        "error",
        "A log ends below its recovery point, up to which all was flushed: it was stopped cleanly, or it was "
        "not and is empty.",
        "It does not notice: the log ends earlier, and new records get the offsets of the lost ones.",
        "Where an index of the last segment is damaged (IDX-002), remove its indexes before the start: the "
        "broker then finds the whole log. Else its end was lost or removed since the stop: compare with "
        "another replica (kcli replica diff) before this one may lead.",
    ),
    "IDX-004": Rule(
        "error",
        "An entry of an offset index or a time index contradicts the batches that it leads to, or a time "
        "index ends below the largest timestamp of its segment.",
        "Lookups and fetches from this entry on fail, begin too late and miss records, or pass the segment "
        "over. It takes the last time entry for the age of the segment: retention may delete it too early.",
        REBUILD,
    ),
    "IDX-007": Rule(
        "warning",
        "A segment has no time index, or one without entries; or, after a clean stop, its preallocated tail.",
        "Lookups by time pass the segment over; retention goes by the modification time of the log.",
        REBUILD,
    ),
    "IDX-008": Rule(
        "error",
        "A transaction index has an entry of no aborted transaction in its segment, or lacks one.",
        "Consumers with read_committed leave out records that were committed, or get records of a "
        "transaction that was aborted.",
        "Remove the clean shutdown marker before the start: recovery writes the index anew.",
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
        "A batch repeats sequences of its producer, or lies outside the transaction that its producer has "
        "open, or it or an end marker has a lower epoch than the one before.",
        "A leader refuses such an append or drops it as a duplicate: consumers see records twice. A start "
        "that reads both ends of a transaction ends the process (InvalidTxnStateException).",
        "Find out what wrote the log: no broker appends such a batch. kcli startup says whether it loads.",
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
        "A producer snapshot is missing at the base offset of a segment or at the end of a cleanly stopped "
        "log, or lacks a producer of the batches before it.",
        "It takes an older one and reads the batches after it; it accepts a batch of a producer that it does "
        "not know twice. The upload of the segment before a missing one to remote storage fails.",
        "Nothing without remote storage, or of producers that were idle for producer.id.expiration.ms (a "
        "day); else kcli salvage writes it.",
    ),
    "PROD-009": Rule(
        "info",
        "A producer snapshot lies above the log end.",
        "It deletes it when it starts.",
        "The log was longer once: compare with another replica (kcli replica diff), unless it was truncated.",
    ),
    "PROD-010": Rule(
        "info",
        "Producers of the newest producer snapshot expired before the time of the start.",
        "It forgets a producer that has written nothing for producer.id.expiration.ms (a day), unless a "
        "transaction of it is open.",
        "To see what the broker remembered then, name the time: --at.",
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
        "No broker removes a log and leaves its indexes. Unpack the log first, if somebody packed it, "
        "or compare with another replica (kcli replica diff) and copy the segment from there.",
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
        "The topic id of a partition is not that of its topic in the metadata log, or partitions of one "
        "topic have different ids.",
        "It takes the directory for a stray of a deleted topic, renames it to -stray, and begins an empty "
        "replica.",
        "Keep a copy. The directory is of an older topic of this name, or from another cluster; kcli ls "
        "--columns dir,topic_id shows the ids.",
    ),
    "SALV-001": Rule(
        "error",
        "Bytes of a log could not be saved: they are not in the copy.",
        "Recovery would cut the log where they begin, and delete every later segment.",
        "Fetch these offsets from another replica, if one has them (kcli replica diff).",
    ),
    "SALV-004": Rule(
        "error",
        "A small file or a metadata snapshot is damaged, missing or cannot be read, or no "
        "leader-epoch-checkpoint fits the batches: the copy lacks it, or has a wrong one.",
        "Without all epochs it answers followers wrongly, and cannot serve or expire remote segments. "
        "Without partition.metadata a KRaft broker renames the directory to -stray from 3.7 on. Without "
        "quorum-state it may vote twice in an epoch. Without its snapshot a metadata log may lack its "
        "beginning.",
        "Put the file of another replica into the copy before it is used: partition.metadata is the same on "
        "all, kcli epoch diff shows missing epochs. Wait with a voter that lost its vote until another one "
        "was elected. A snapshot is not needed where a newer one is in the copy, or its log goes on past it.",
    ),
    "SALV-005": Rule(
        "warning",
        "The leader epochs of the copy are made from its batches, and may lack those without records.",
        "It answers for an epoch that it does not know from the one before.",
        "Nothing, unless a follower needs the missing epochs: kcli epoch diff with another replica shows "
        "them.",
    ),
    "SALV-010": Rule(
        "error",
        "Records are lost that no log has: indexes show them, offsets are missing in a topic that is not "
        "compacted by its configuration, or a cleanly stopped log ends below its recovery point.",
        "It does not notice: consumers go on at the next batch, or where the log ends.",
        "The copy lacks them: fetch them from another replica, if one has them (kcli replica diff). Nothing "
        "is lost if the topic was compacted before.",
    ),
    "SALV-011": Rule(
        "warning",
        "Records may be lost that no log has: offsets are missing, or an index that was not closed, the high "
        "watermark, the recovery point or a producer snapshot goes past the log end.",
        "It does not notice, lowers the high watermark to the log end and deletes the snapshot.",
        "Compare the copy with another replica (kcli replica diff). Nothing is lost where the topic was "
        "compacted, or the log truncated.",
    ),
}
