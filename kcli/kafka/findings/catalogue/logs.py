"""Rules about logs and their indexes: `LOG`, `IDX`, and `DUMP`, of what only `dump` and `scan` see."""

from kcli.kafka.findings.catalogue.rule import Rule

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
        "The log ends in preallocated zeros.",
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
        "A cleanly stopped log ends in zeros: the broker does not load it.",
        "It does not recover after a clean stop: it reads the zeros as a batch, and its process ends with "
        "CorruptRecordException.",
        "Remove the clean shutdown marker before the start, so that recovery trims the zeros; find out what "
        "wrote them.",
    ),
    "LOG-010": Rule(
        "error",
        "A file has the extension of a log file, but its name is not an offset of 20 digits.",
        "It fails to read the offset from the name (NumberFormatException) and takes the log dir offline. "
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
        "A file or a directory was removed or renamed after it was listed.",
        "Retention, compaction, the deletion of a topic and a move to another log dir do this while it runs.",
        "Nothing, if the broker runs: the rest is answered. Otherwise find out what removed it, and run "
        "again.",
    ),
    "LOG-018": Rule(
        "error",
        "A segment holds a batch below its base offset, or more than 2147483647 offsets above it.",
        "Its indexes hold offsets relative to the base offset: recovery fails, and lookups miss the batch.",
        "The file has a wrong name or place, or the batch is damaged (the checksum does not cover its base "
        "offset): compare with another replica.",
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
}
