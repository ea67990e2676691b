"""Rules about log dirs, starts and truncations: `DIR`, `START`, `TRUNC`."""

from kcli.kafka.findings.catalogue.rule import Rule

STARTS: dict[str, Rule] = {
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
    "DIR-005": Rule(
        "error",
        "A file of the log dir itself is damaged.",
        "A bad meta.properties keeps it from starting. A bad checkpoint takes the log dir offline, unless "
        "only a number in it is malformed; an empty one has no lines. Nothing but NUL bytes is what a power "
        "cut leaves, an empty or a cut file what a full disk leaves.",
        "Restore meta.properties from another log dir of the same node (directory.id differs). Move a "
        "damaged checkpoint away before the start, and the log dir stays online: without recovery points a "
        "crash costs a full recovery, without log starts deleted records of the first segments are there "
        "again, without high watermarks each begins at the log start, without cleaner points cleaning begins "
        "anew.",
    ),
    "DIR-006": Rule(
        "error",
        "The name of a directory in a log dir is not TOPIC-PARTITION.",
        "It fails to parse the name while it loads the log dir (KafkaException), and does not start.",
        "Move it elsewhere before the broker starts; lost+found of a disk means that the log dir should be a "
        "directory below.",
    ),
    "DIR-008": Rule(
        "warning",
        "A meta.properties lacks the id of the node or of the cluster, or log dirs side by side are of the "
        "same node id and of different clusters.",
        "Log dirs of two clusters do not start in one broker (RuntimeException: Invalid cluster.id). From "
        "4.0 on none starts without ids; a release with ZooKeeper takes them from elsewhere.",
        "Restore the file from another log dir of the same node (directory.id differs), or take a log dir of "
        "another cluster out of log.dirs. Of two brokers ask for the log dirs of one alone.",
    ),
    "DIR-010": Rule(
        "warning",
        "The quorum-state of the metadata log is damaged, or missing though the log has records.",
        "Without the file it starts without its vote, in the epoch of its log. With a damaged one it does "
        "not start from 3.9 on (START-009); a release before clears the file and starts without its vote and "
        "its epoch of the quorum, unless the file is of an unknown version or cannot be opened.",
        "Move a damaged one (NUL bytes after a power cut, empty or cut after a full disk) away. On a "
        "controller, start it while a majority of the others runs: having forgotten a vote, it may vote "
        "twice in one epoch. On a broker nothing is lost.",
    ),
    "DIR-011": Rule(
        "info",
        "A checkpoint file that the clean stop of a log dir wrote is missing, or lacks the line of a log.",
        "Without log starts, records that were deleted are there again; without high watermarks each begins "
        "at its log start, and rises as replicas fetch; without recovery points a later crash costs a full "
        "recovery.",
        "Restore the file from where it was copied or removed, before the broker starts.",
    ),
    "DIR-012": Rule(
        "warning",
        "The log cleaner cleaned no log of a log dir for an hour and more, though some are dirty enough: it "
        "stopped, or a log of another log dir, which is dirtier, takes that long.",
        "It goes on without it: compacted topics, such as __consumer_offsets, grow until the disk is full.",
        "Look for the cleaner in server.log (log-cleaner.log): log.cleaner.enable, or a thread that died "
        "with an exception. A restart begins anew; kcli compact says what a cleaning frees.",
    ),
    "START-001": Rule(
        "warning",
        "Recovery cuts a segment at its first bad batch, and deletes every later segment, whether damaged or "
        "not.",
        "It truncates the log there; what follows is lost on this replica.",
        "Keep a copy of the directory, and compare with the other replicas before this broker starts: they "
        "may hold what is cut.",
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
        "The broker was running, or not stopped cleanly; this answer comes from headers alone.",
        "It reads the unflushed segments whole, checks every checksum, and cuts the log at the first batch "
        "that is wrong.",
        "If damage is suspected, kcli ls --recover makes the same checks; nothing to do otherwise.",
    ),
    "START-006": Rule(
        "info",
        "The answer rests on an assumption: how the broker stopped, whether the topic is tiered, or the "
        "high watermark is.",
        "It reads from its log dir how it stopped and the checkpointed offsets, from the metadata log the "
        "topic's remote.storage.enable: the log of a tiered topic starts at the checkpointed offset, another "
        "one at its first segment or above.",
        "Name all log dirs of the broker, with their files. kcli startup --shutdown clean or unclean and "
        "--remote-storage show either case.",
    ),
    "START-007": Rule(
        "warning",
        "A metadata log ends below its newest snapshot, by leader epoch, then by offset.",
        "It deletes every segment, and the log begins empty where the snapshot ends (KafkaRaftLog).",
        "Ordinary after a crash while a snapshot was downloaded: the node fetches the rest from the leader. "
        "Else, and where it is the only voter, copy the directory before a start: a snapshot that is not of "
        "this log does not belong there.",
    ),
    "START-008": Rule(
        "error",
        "The broker would not load a log.",
        "It stops there: its process ends with the exception that the finding names, or the log dir goes "
        "offline, and the other log dirs are served, unless it is the one of the metadata log.",
        "The finding names the file and the byte. Copy the directory before anything else; kcli startup "
        "--shutdown unclean shows whether recovery would repair it. A partition.metadata that is NUL, empty "
        "or cut is written anew (version: 0 and topic_id, as on other replicas); a leader-epoch-checkpoint "
        "is copied from another replica, or from what kcli salvage makes of the batches.",
    ),
    "START-009": Rule(
        "error",
        "The broker's process would end because of how its log dirs and server.properties fit together.",
        "It ends with the exception that the finding names: meta.properties that are missing or contradict "
        "each other, the name of a directory, a partition in two log dirs, no process.roles.",
        "Check that the log dirs are those of this broker (server.properties). Of a partition in two log "
        "dirs keep the one with the higher log end (kcli ls), and move the other elsewhere. A "
        "meta.properties that a crash left empty, cut or full of NUL bytes is written anew: version=1, and "
        "node.id and cluster.id of the other log dirs. quorum-state and bootstrap.checkpoint are moved away.",
    ),
    "START-010": Rule(
        "error",
        "A log dir would be offline.",
        "It goes on with the other log dirs; the process ends if it is the one with the metadata log, or the "
        "last. It ends, too, if a recovery-point or log-start checkpoint cannot be read and a log beside it "
        "has an open transaction, or one that ends after its last snapshot (kcli startup says whether); also "
        "if a log fails, and one with such a transaction is loaded later: threads decide which comes first.",
        "Check the disk and the file that the finding names; compare meta.properties with those of the other "
        "log dirs.",
    ),
    "START-011": Rule(
        "info",
        "A process on this host holds the lock of the log dir: a broker runs with it.",
        "A second broker ends with KafkaException: it cannot lock the log dir.",
        "Nothing: the answer is for a start after this process has ended, from the files as they are now.",
    ),
    "START-012": Rule(
        "warning",
        "A partition directory with records has no partition.metadata.",
        "From 3.7 on a KRaft broker takes the log for a stray one, renames the directory to -stray and "
        "begins an empty replica. A release before writes the file anew, with the id of its metadata.",
        "Put the file back before the start: version: 0 and topic_id, as on the other replicas (kcli dump "
        "partition.metadata).",
    ),
    "START-013": Rule(
        "warning",
        "The metadata log does not assign this partition to the broker.",
        "From 3.7 on it takes the log for a stray one and renames the directory to -stray; a release before "
        "may delete it. Only the quorum knows the newest metadata: a node that was down long lacks it.",
        "Where the topic was deleted, or the partition moved away, nothing. Else find out why "
        "partition.metadata names another topic id (kcli dump partition.metadata).",
    ),
    "START-014": Rule(
        "warning",
        "The metadata log is missing, or has lost records: NUL bytes, an empty or cut file.",
        "A node fetches the metadata from the other controllers before it opens a log. A controller that is "
        "alone goes on with what is left: its broker takes every log that is not in it for a stray one, and "
        "renames the directory to -stray.",
        "Before the start put back __cluster_metadata-0, from another controller or broker or from a backup. "
        "Where the node is one of several and the others run, nothing.",
    ),
    "START-015": Rule(
        "warning",
        "Offsets of a segment that is recovered do not rise, and index.interval.bytes is not known.",
        "Recovery notices that only where it makes an index entry, each index.interval.bytes: it then "
        "empties the segment, and else keeps it.",
        "kcli takes 4096, as neither the metadata log nor --server-config says it. Name all log dirs of the "
        "broker, one of which has __cluster_metadata-0, or its server.properties with --server-config; else "
        "see --index-interval-bytes of kcli startup. Compare with another replica before a start.",
    ),
    "START-016": Rule(
        "warning",
        "The metadata assigns a partition to the log dir of its -future log: its move was all but done.",
        "From 3.7 on the -future directory becomes the current one, and the log that was current is deleted.",
        "Compare the log ends of both first (kcli ls --include-leftovers). If the -future log is the shorter "
        "one, keep a copy of the other.",
    ),
    "START-017": Rule(
        "info",
        "A partition directory without records has no partition.metadata.",
        "From 3.7 on a KRaft broker renames the directory to -stray and makes the log anew. It writes the "
        "file before the first record: a crash after the topic was created leaves this.",
        "Nothing: no record is lost.",
    ),
    "START-019": Rule(
        "error",
        "The metadata assigns replicas to this broker that have no log here, and no other one is in sync.",
        "The broker begins them empty (Created log for partition), and warns of nothing: their records are "
        "gone for its clients, and it deletes nothing that lies elsewhere.",
        "Before the start: bring the volume back, or copy the partition directories into the log dir of the "
        "directory.id that is named; rename a -future or -stray directory of them, of the same topic id, to "
        "TOPIC-PARTITION with the broker stopped.",
    ),
    "START-020": Rule(
        "error",
        "A -future log is here without its current one, or it replaces a current one that is longer.",
        "Without a current log the broker begins an empty one, truncates the -future log to it and swaps it "
        "in: all its records are lost. A longer one is deleted, with the records that only it has.",
        "Before the start rename a -future directory that is alone to TOPIC-PARTITION: the log loads whole. "
        "Of two keep the longer one under that name, and move the other away.",
    ),
    "START-021": Rule(
        "warning",
        "The metadata assigns replicas to this broker of which no log is here.",
        "The broker begins them empty and fetches them from their leaders. A log dir that was not given may "
        "have them: give all of them, or --server-config.",
        "Where the volume was replaced, nothing: the other replicas have the records. Else bring it back "
        "before the start.",
    ),
    "START-022": Rule(
        "error",
        "The node is never ready: it waits for ever, without an error in its log.",
        "A controller votes only as the node.id and directory.id that the voters record has (KIP-853); a "
        "node that is no voter stays Unattached, and its broker waits for it.",
        "Write the directory.id of the voters record back into meta.properties of the metadata log dir, or, "
        "with a quorum that is alive, kafka-metadata-quorum.sh remove-controller and add-controller.",
    ),
    "START-023": Rule(
        "warning",
        "Log dirs in two places have the same node.id and directory.id: old and new copies of one broker.",
        "It starts with one of them. Each is judged on its own, and both vote here as the newer one.",
        "Name one of them; kcli diff shows what changed between them.",
    ),
    "START-024": Rule(
        "warning",
        "A -stray directory holds the records of a replica that the metadata here assigns to this broker, or "
        "does not know.",
        "It loads the log and keeps it apart: no client can read these records.",
        "Where the metadata log was lost, put it back first, else the directory becomes -stray again. Then, "
        "with the broker stopped, move an emptier directory TOPIC-PARTITION away and rename the -stray one "
        "to TOPIC-PARTITION: the metadata must assign the partition here, with the topic id of its "
        "partition.metadata. Where the partition has moved away or the topic was deleted, nothing.",
    ),
    "CKPT-001": Rule(
        "warning",
        "Offsets of the checkpoint files and the log contradict each other.",
        "The finding says what a start does about it. After a crash some of these are common: each file is "
        "written at another time. Beside a running broker, which goes on to write them, there is none.",
        "Where a high watermark or a recovery point lies above the log end, records are missing from this "
        "replica: compare it with another one (kcli replica diff) before it may lead.",
    ),
    "REPL-001": Rule(
        "error",
        "Two replicas hold other batches at the same offsets.",
        "A follower truncates to where its leader epochs and the leader's part, and fetches the rest anew; "
        "where the epochs are the same it notices nothing.",
        "Compare kcli epoch show of both; save what only one replica holds with kcli dump before the broker "
        "starts.",
    ),
    "REPL-002": Rule(
        "info",
        "There is no other replica of this partition among the inputs.",
        "Nothing.",
        "Name the log dir of another broker that has a replica.",
    ),
    "REPL-003": Rule(
        "warning",
        "Two directories were not compared, or only in part: they are of different clusters or topic ids, "
        "the metadata has another topic of this name, or their fingerprints are too wide.",
        "A follower fetches by topic id. After a topic was created again the broker renames the directory of "
        "the old one to -stray.",
        "Compare directories of one cluster and one topic id; take both fingerprints at about the same time "
        "or with a smaller --every, or compare one of them with the other's log dir.",
    ),
    "REPL-005": Rule(
        "error",
        "A replica lacks batches between its log start and its log end that another replica holds, and no "
        "cleaner-offset-checkpoint and no other batch shows compaction: these batches are lost.",
        "It serves what it has: consumers pass over the missing offsets.",
        "Let another replica lead, and this one fetch anew. Where the topic was compacted until lately, or "
        "its leader was, nothing is lost.",
    ),
    "REPL-006": Rule(
        "warning",
        "The log of a leader, or of a candidate, begins above that of another replica.",
        "A follower takes over the log start of its leader with the records that it fetches. It deletes the "
        "segments that end there, and reads nothing below.",
        "Nothing where retention or a DeleteRecords request has reached one broker and not yet the other. "
        "Where the first segments of a replica are lost, do not let it lead.",
    ),
    "REPL-007": Rule(
        "info",
        "Several copies of a partition are here; one of them is read.",
        "A coordinator reads the log of the leader.",
        "Name the log dir that holds the metadata log, too: it names the leader. Name one broker's log dirs "
        "alone to read its copies.",
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
    "TRUNC-004": Rule(
        "warning",
        "A follower's fetch is out of the range of its leader's log.",
        "The follower cuts its log to the leader's end, or begins anew at the leader's start where that lies "
        "past its own end. Without epochs in fetches nothing compares what is left. Before 2.0 a follower's "
        "broker exits instead of cutting to the leader's end, if unclean leader election is off.",
        "Ordinary after a long outage, when the leader has deleted what the follower had; else compare the "
        "replicas (kcli replica diff) before the follower starts.",
    ),
    "TRUNC-005": Rule(
        "error",
        "A follower would repeat a fetch for ever.",
        "The leader knows no end for its newest epoch, so the fetch is out of range again and again, or no "
        "remote segment has the state that a follower of a tiered log needs (RemoteStorageException).",
        "A leader that has written down its own epoch answers: look at its leader-epoch-checkpoint, or name "
        "the epoch that it leads in with --leader-epoch. kcli rlmm coverage and kcli rlmm check show which "
        "offsets have no remote segment.",
    ),
    "TRUNC-006": Rule(
        "info",
        "The leader has the offset that a follower fetches in remote storage alone.",
        "It answers OFFSET_MOVED_TO_TIERED_STORAGE. The follower drops its log, takes leader epochs and "
        "producer state that were uploaded with a segment, and goes on past that segment.",
        "Nothing is lost that remote storage has. kcli rlmm follow shows the requests and the segment.",
    ),
    "TRUNC-008": Rule(
        "warning",
        "A follower keeps records in another leader epoch than its leader has at their offsets.",
        "It fetches from its log end on, and the replicas stay different: nothing compares what lies below. "
        "Truncation to the high watermark does so, and KIP-101's after several quick leader changes.",
        "Compare the replicas (kcli replica diff). Brokers from 2.0 on truncate to where the epochs part.",
    ),
}
