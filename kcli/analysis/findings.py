"""What kcli can find: stable codes, what each means, what the broker does, what to do.

Codes are promises: scripts grep for them. `kcli explain CODE` prints an entry;
a test fails when a code is used but not explained, or explained but not used.
"""

import os
from typing import NamedTuple

SEVERITIES = ("info", "warning", "error")


class Rule(NamedTuple):
    """One entry of the catalogue."""

    severity: str
    title: str
    broker: str
    action: str


class Finding(NamedTuple):
    """Something worth knowing about a file or directory.

    Paths as reached from the argument, `position` in bytes. `dir` is the directory of the partition, or of
    the file. `path` is the file; None for a finding about `dir` itself. `more` counts the findings of the
    same code in the same file that are not listed; None where each is listed.
    """

    code: str
    message: str
    dir: str | None = None
    path: str | None = None
    position: int | None = None
    expected: str | int | None = None
    found: str | int | None = None
    more: int | None = None

    @property
    def file(self) -> str | None:
        """The base name of the file; None for a finding about a directory."""
        return None if self.path is None else os.path.basename(self.path)

    @property
    def place(self) -> str | None:
        """The path of the file, or of the directory where no file is to blame."""
        return self.path or self.dir

    @property
    def severity(self) -> str:
        """The severity that the catalogue gives this code: info, warning or error."""
        return CATALOGUE[self.code].severity


CATALOGUE: dict[str, Rule] = {
    "LOG-001": Rule(
        "warning",
        "The log ends in an incomplete batch.",
        "A clean start stops before it, and the next append overwrites it; recovery cuts it off.",
        "Usual after a kill or a power loss. Compare with another replica if these bytes were acknowledged.",
    ),
    "LOG-002": Rule(
        "error",
        "A batch length is impossible: the chain of batches breaks here.",
        "A clean start that reads this place fails with CorruptRecordException; recovery truncates the log "
        "here.",
        "Do not delete files. Check other replicas; let an unclean start recover, or restore this replica.",
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
        "warning",
        "The log ends below its log start offset.",
        "At the next start every segment is deleted and the log begins empty at the log start offset.",
        "Find out who removed segments, or whether the log start checkpoint belongs to another replica.",
    ),
    "LOG-007": Rule(
        "warning",
        "A partition directory has no segment.",
        "It creates an empty one at the log start offset.",
        "Harmless for a new partition; otherwise the data is gone.",
    ),
    "LOG-008": Rule(
        "error",
        "A file of a partition directory could not be read.",
        "It takes the log dir offline, or does not start.",
        "Check permissions and the disk; what depends on this file is null.",
    ),
    "LOG-009": Rule(
        "error",
        "A cleanly stopped log ends in zeros: the broker does not load it.",
        "It does not recover after a clean stop: it reads the zeros as a batch and stops with "
        "CorruptRecordException.",
        "Remove the clean shutdown marker before the start, so that recovery trims the zeros; find out what "
        "wrote them.",
    ),
    "LOG-010": Rule(
        "error",
        "A file has the extension of a log file, but its name is not an offset.",
        "It fails to read the offset from the name (NumberFormatException) and takes the log dir offline.",
        "Move the file elsewhere before the broker starts.",
    ),
    "LOG-011": Rule(
        "error",
        "Offsets do not increase from one batch to the next.",
        "A clean start does not notice; recovery fails with InvalidOffsetException where such a batch would "
        "become an index entry.",
        "No broker appends like this: find out what wrote the segment, and compare with another replica.",
    ),
    "LOG-012": Rule(
        "error",
        "An entry with a log-file name is not a regular file (directory, pipe, broken symlink).",
        "It ignores the entry, and fails when it creates a file of that name.",
        "Find out what created it, and whether a segment or an index is missing.",
    ),
    "LOG-013": Rule(
        "error",
        "The name of a log file is not canonical (20 digits), and the canonical file is missing.",
        "It reads the offset from the name, creates an empty segment with the canonical name, and never "
        "reads this file.",
        "Before the broker starts: rename the file to 20 digits if it belongs here, else move it elsewhere.",
    ),
    "LOG-014": Rule(
        "info",
        "A file or a directory was removed or renamed after it was listed.",
        "Retention, compaction, the deletion of a topic and a move to another log dir do this while it runs.",
        "Nothing beside a running broker: the rest is answered. Otherwise find out what removed it, and run "
        "again.",
    ),
    "LOG-015": Rule(
        "error",
        "A batch has a magic above 2.",
        "It reads the batch as one of magic 2; followers and consumers refuse it (CorruptRecordException).",
        "No release writes such a magic, and no checksum covers it: compare with another replica.",
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
    "DUMP-001": Rule(
        "error",
        "A range of a log cannot be read; the dump continues after it.",
        "Recovery truncates the log where the range begins; a clean start that reads there fails.",
        "The records after it are still in the file. Save them before this broker starts: kcli dump "
        "--offsets, from the next good offset on.",
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
        "A file ends in the middle of an entry.",
        "It rebuilds such an index when it starts; it ignores the partial entry of a transaction index.",
        "Check the disk: brokers write whole entries.",
    ),
    "DUMP-007": Rule(
        "warning",
        "An index cannot be compared with its segment.",
        "It deletes an index without a log, and recovers a log without an index.",
        "Keep the files of a segment together when copying.",
    ),
    "DUMP-008": Rule(
        "error",
        "An index fails the check that a starting broker makes.",
        "It deletes the index, recovers the segment and writes the index anew.",
        "Nothing, unless the broker was stopped cleanly: then look at the disk.",
    ),
    "DUMP-009": Rule(
        "warning",
        "The last message inside a wrapper is cut.",
        "It skips the message without an error, as consumers do.",
        "The message cannot be read. Old producers wrote such wrappers.",
    ),
    "EPOCH-001": Rule(
        "warning",
        "There is no leader-epoch-checkpoint.",
        "It starts with an empty epoch cache: every OffsetForLeaderEpoch answer is undefined (-1, -1).",
        "kcli epoch show --from batches shows the epochs that the batches themselves carry.",
    ),
    "EPOCH-002": Rule(
        "warning",
        "Lines of the leader-epoch-checkpoint contradict each other.",
        "It replays them in file order: a later line erases earlier entries with a higher or equal epoch or "
        "offset.",
        "Only a broker should write this file; compare with the other replicas.",
    ),
    "EPOCH-003": Rule(
        "info",
        "Epoch entries start at or past the log end offset.",
        "It drops them when it loads the log: no record of these epochs is here.",
        "Ordinary after a crash or a truncation, whose flush runs in the background.",
    ),
    "EPOCH-004": Rule(
        "info",
        "Epoch entries lie below the log start offset.",
        "It moves the newest of them to the log start offset and drops the others.",
        "Ordinary after records were deleted.",
    ),
    "EPOCH-005": Rule(
        "info",
        "The offset lies outside the log.",
        "Its epoch cache does not know the log end: every offset past the last entry's start has the last "
        "epoch.",
        "Check the offset; kcli ls shows where the log begins and ends.",
    ),
    "EPOCH-006": Rule(
        "info",
        "Recovery adds leader epochs that the checkpoint lacks.",
        "It assigns every epoch newer than those in its cache while it recovers segments at its start.",
        "The first offset of an epoch that is found so is only right if its first batch lies in a recovered "
        "segment.",
    ),
    "LOOKUP-001": Rule(
        "info",
        "A segment has no known timestamp: the modification time of its file counts as its largest.",
        "It does the same; the answer changes when a file is copied without its times.",
        "Trust the answer only where the files keep the times that the broker gave them.",
    ),
    "LOOKUP-002": Rule(
        "info",
        "The segment to search has no such record, and later ones are not searched.",
        "It searches the first segment whose largest timestamp is late enough, and no other.",
        "Timestamps do not increase with offsets, or records were deleted: search by offset, or read the "
        "records.",
    ),
    "LOOKUP-003": Rule(
        "warning",
        "A time index still has its preallocated tail although the shutdown was clean.",
        "It takes the zeros for entries: the largest timestamp of the segment is 0, and lookups skip it.",
        "Remove the clean shutdown marker before the broker starts: it then rebuilds the index.",
    ),
    "LOOKUP-004": Rule(
        "warning",
        "The log begins in remote storage, which is not searched.",
        "It asks the remote segments first, oldest epoch first, and the local log after them.",
        "If the time lies before the local log start, kcli rlmm dump shows which remote segment covers it "
        "(max_timestamp_ms).",
    ),
    "DIR-001": Rule(
        "warning",
        "A file of a log dir is not known to Kafka.",
        "It ignores it.",
        "Move it elsewhere: nothing else should lie there.",
    ),
    "DIR-002": Rule(
        "info",
        "Leftover directories were left out (-delete, -stray, -future).",
        "It deletes -delete directories, keeps -stray ones, and goes on with -future ones.",
        "Add --include-leftovers to read them too.",
    ),
    "DIR-003": Rule(
        "error",
        "A checkpoint file of the log dir is damaged.",
        "It takes a damaged recovery point or log start file for an empty one: full recovery, log starts at "
        "the first segments.",
        "The rows show what the broker would see. Let it write the file anew; keep the damaged one to find "
        "out why.",
    ),
    "DIR-004": Rule(
        "error",
        "A file of the log dir itself could not be read.",
        "It may be able to read the file; then its answers differ from these.",
        "Run kcli as a user that may read the file, and check the disk.",
    ),
    "DIR-005": Rule(
        "error",
        "A file of the log dir itself is damaged in a way that stops the broker.",
        "A bad meta.properties keeps it from starting; a bad replication-offset-checkpoint takes the log dir "
        "offline.",
        "Restore meta.properties from another log dir of the same node (directory.id differs); a bad "
        "checkpoint may be removed.",
    ),
    "DIR-006": Rule(
        "error",
        "The name of a directory in a log dir is not TOPIC-PARTITION.",
        "It fails to parse the name while it loads the log dir (KafkaException), and does not start.",
        "Move it elsewhere before the broker starts; lost+found of a disk means that the log dir should be a "
        "directory below.",
    ),
    "DIR-007": Rule(
        "error",
        "An entry with the name of a log dir's own file is not a regular file (directory, pipe, broken "
        "symlink).",
        "A directory keeps it from starting, a broken link does or takes the log dir offline; it waits for "
        "ever when it opens a pipe.",
        "Find out what created it, and remove it before the broker starts.",
    ),
    "START-001": Rule(
        "warning",
        "Recovery cuts a segment at its first bad batch.",
        "It truncates the log there; what follows in the segment is lost on this replica.",
        "Compare with the other replicas before this broker starts: they may hold what is cut.",
    ),
    "START-002": Rule(
        "warning",
        "Recovery deletes a segment because an earlier one was cut.",
        "It deletes every segment after the one that it had to cut, whether those are damaged or not.",
        "Keep a copy of the directory; fetch the records from another replica.",
    ),
    "START-003": Rule(
        "info",
        "A deletion, cleaning or swap was interrupted; the broker finishes it first.",
        "It deletes .deleted and .cleaned files and puts .swap files in the place of what they replace.",
        "Nothing.",
    ),
    "START-004": Rule(
        "warning",
        "A transaction index contradicts its segment; the segment is recovered.",
        "It reads the whole segment and rebuilds all its indexes, after a clean stop too.",
        "Find out what changed the index: a broker does not write it like this.",
    ),
    "START-005": Rule(
        "info",
        "The log was not stopped cleanly; this answer comes from headers alone.",
        "It reads the unflushed segments whole, checks every checksum, and cuts the log at the first batch "
        "that is wrong.",
        "If damage is suspected, kcli ls --recover makes the same checks; nothing to do otherwise.",
    ),
    "START-006": Rule(
        "info",
        "There is no log dir around the partition directory.",
        "It reads from its log dir how it stopped, and the checkpointed offsets; after a clean stop it "
        "checks no checksum.",
        "Nothing for a copy of a stopped broker; kcli truncate --dry-run --shutdown unclean shows the other "
        "case.",
    ),
    "START-007": Rule(
        "warning",
        "A metadata log ends below its newest snapshot.",
        "It deletes every segment, and the log begins empty where the snapshot ends (KafkaRaftLog).",
        "Ordinary after a crash while a snapshot was downloaded: the node fetches the rest from the leader.",
    ),
    "TRUNC-001": Rule(
        "error",
        "A leader epoch has no end offset in this replica.",
        "It answers (-1, -1): the epoch is newer than every epoch here, or there is none here.",
        "Use an epoch that kcli epoch show lists, or an offset.",
    ),
    "TRUNC-002": Rule(
        "warning",
        "The truncation would cut below the high watermark.",
        "It logs a warning and cuts all the same: records that consumers may have read are lost on this "
        "replica.",
        "Make sure that another in-sync replica holds them before this one truncates.",
    ),
    "TRUNC-003": Rule(
        "warning",
        "The part that is cut, or the part that stays, is damaged.",
        "A truncation does not check what it deletes; a clean restart fails on a broken tail of what stays.",
        "Check the log with kcli dump; an unclean start repairs a broken tail by cutting it.",
    ),
    "RLMM-001": Rule(
        "error",
        "A value of remote log metadata cannot be decoded.",
        "Its metadata consumer stops for good at such a record: this broker learns nothing new about remote "
        "segments.",
        "See the row's error and raw bytes. Check that all brokers of the cluster run the same release line.",
    ),
    "RLMM-002": Rule(
        "error",
        "A record of remote log metadata has no value.",
        "Its metadata consumer fails on a null value and stops for good.",
        "Find out who writes to this topic: no release up to 4.3 writes tombstones.",
    ),
    "RLMM-003": Rule(
        "error",
        "A value of remote log metadata decodes, but a broker would reject it.",
        "Its metadata consumer, or the load of the snapshot file, fails on it.",
        "Find out who wrote it. A flipped bit that the checksum missed also looks like this.",
    ),
    "RLMM-004": Rule(
        "warning",
        "Remote log metadata in the layout of releases 3.0 to 3.5.",
        "Brokers from 3.6 on cannot read it: their metadata consumer stops for good.",
        "Nothing while the cluster runs 3.5 or older; before an upgrade, remote storage has to be set up "
        "anew.",
    ),
    "RLMM-005": Rule(
        "error",
        "A remote_log_snapshot ends within its header.",
        "It takes the missing bytes for zeros: an empty snapshot, without an error.",
        "Remove the file while the broker is stopped: it is built anew from the topic.",
    ),
    "RLMM-006": Rule(
        "info",
        "A remote_log_snapshot is empty.",
        "It ignores the file: nothing was flushed yet.",
        "Nothing.",
    ),
    "RLMM-008": Rule(
        "info",
        "Control batches were skipped.",
        "It does the same; it writes none to this topic.",
        "Find out which producer writes transactions to this topic.",
    ),
}

NO_LOG_FILE = "no .log file; the log end offset is taken as the log start offset"
"""The message of LOG-007."""
