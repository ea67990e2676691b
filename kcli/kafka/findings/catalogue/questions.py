"""Rules of what one question finds: `EPOCH`, `LOOKUP`, `META` of a KRaft cluster, `DIFF` of two runs."""

from kcli.kafka.findings.catalogue.rule import Rule

QUESTIONS: dict[str, Rule] = {
    "EPOCH-001": Rule(
        "warning",
        "There is no leader-epoch-checkpoint, or it has no epoch of the records that there are.",
        "It starts with an empty epoch cache: every OffsetForLeaderEpoch answer is undefined (-1, -1). As "
        "leader of a tiered log it reads no remote segment, and its clean-up deletes those of earlier "
        "epochs.",
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
        "A start loads other leader epochs than the checkpoint has.",
        "It drops or moves those outside of the log, and adds newer ones of recovered segments.",
        "Ordinary after a crash, a truncation or the deletion of records.",
    ),
    "EPOCH-005": Rule(
        "info",
        "The offset lies outside the log.",
        "Its epoch cache does not know the log end: every offset past the last entry's start has the last "
        "epoch.",
        "Check the offset; kcli ls shows where the log begins and ends.",
    ),
    "EPOCH-011": Rule(
        "info",
        "The partition's leader epoch is known from the leader epoch cache alone.",
        "It compares the current leader epoch of a request with the one of the controller: at least the "
        "newest of its cache.",
        "Name the KRaft metadata with --metadata: where the partition's epoch is newer, answers differ.",
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
    "LOOKUP-004": Rule(
        "warning",
        "The log begins in remote storage, which is not searched.",
        "It asks the remote segments first, oldest epoch first, and the local log after them.",
        "If the time lies before the local log start, kcli rlmm dump shows which remote segment covers it "
        "(max_timestamp_ms).",
    ),
    "META-001": Rule(
        "error",
        "A metadata record cannot be decoded, or is of a type or version that kcli does not know.",
        "A broker or controller that cannot read a record of the metadata log stops.",
        "The answers here lack what the record says: a kcli for the Kafka that wrote it may read it.",
    ),
    "META-003": Rule(
        "error",
        "A metadata log or snapshot is not whole to its end, or a record does not fit those before it.",
        "It takes the newest snapshot as far as that goes, and the log up to its last whole batch. With a "
        "wrong checksum in the snapshot it does not start; a record that does not fit stops it.",
        "Name the newest snapshot with its log: the answers here begin at the newest one that is whole. "
        "Compare with the metadata log of another controller or broker.",
    ),
    "META-004": Rule(
        "info",
        "A metadata transaction is not ended.",
        "It does not show its records before their end; a new controller aborts it.",
        "The answers here leave its records out, too.",
    ),
    "META-005": Rule(
        "info",
        "A topic was deleted.",
        "Its partitions are gone; brokers rename their directories to -delete and remove them.",
        "A directory that still has the topic's id belongs to a broker that was not there: it becomes stray.",
    ),
    "META-006": Rule(
        "info",
        "A broker that shall go away is fenced already.",
        "It has already taken the broker's leaderships, and the broker from the ISRs.",
        "Only partitions in whose ISR it is the last one still change.",
    ),
    "META-008": Rule(
        "error",
        "The newest snapshot of the metadata log is damaged, has no footer, or goes on after it.",
        "With a wrong checksum or magic, without its header or any batch it does not start (START-009). It "
        "does not look for the footer: what is left is all to it, so that topics and brokers are unknown, or "
        "it stops at a record that does not fit, as one that comes twice.",
        "Copy the snapshot and the log from another controller or broker. Or move the snapshot elsewhere, if "
        "an older one is whole and the log goes back that far.",
    ),
    "META-009": Rule(
        "warning",
        "The settings of topics are not here: no metadata that is here knows them.",
        "It has them from its cluster metadata, or from ZooKeeper. A log in cleaner-offset-checkpoint "
        "is compacted.",
        "The answer takes Kafka's defaults, and what --server-config says. Name all log dirs of the broker, "
        "--metadata PATH or --config NAME=VALUE.",
    ),
    "META-010": Rule(
        "info",
        "A metadata log or snapshot does not have what was asked for.",
        "It appends to the log as the quorum does; static voters are in its settings, and in no snapshot.",
        "The answer says what it is of in its place, and compares no voters that one side does not have.",
    ),
    "COORD-001": Rule(
        "error",
        "A part of a coordinator's log is gone, unreadable, or cut by a start: the answer is incomplete.",
        "The coordinator reads the log when it becomes its leader. It verifies no checksum, and stops where "
        "a record cannot be read: it then answers COORDINATOR_NOT_AVAILABLE. After an unclean stop the "
        "broker verifies them first, and cuts the log at the first damage: what lies behind is lost.",
        "Read the copy of another broker: name its log dirs alone.",
    ),
    "COORD-002": Rule(
        "error",
        "A record of __consumer_offsets, or of __share_group_state, ends the load of its partition.",
        "From 4.0 on its coordinator serves none of the groups of the partition: they get "
        "COORDINATOR_NOT_AVAILABLE. Before it serves what it has read by then: later commits are lost to it.",
        "kcli dump --records shows the record. Let another replica lead the partition if its copy is whole, "
        "or start a release that reads the record.",
    ),
    "COORD-003": Rule(
        "info",
        "Records of __consumer_offsets are of types that the release does not know.",
        "The coordinator passes over them, as after a downgrade (KIP-915): their groups do not exist to it.",
        "The answers here have the groups of types that kcli knows.",
    ),
    "COORD-004": Rule(
        "warning",
        "Partitions of the topic of a coordinator are not here: the answer is of the others.",
        "Each group, and each transactional id, has its state in one partition, by the hash of its id.",
        "kcli partition-for says in which. Name the log dirs of all brokers.",
    ),
    "COORD-005": Rule(
        "info",
        "No metadata here says how many partitions the topic of a coordinator has: there may be more.",
        "It has the number from its cluster metadata, or from ZooKeeper: 50, unless settings said otherwise.",
        "Name the log dir with __cluster_metadata-0, too, and the log dirs of all brokers.",
    ),
    "TXN-001": Rule(
        "error",
        "A record of __transaction_state ends the load of its partition.",
        "The coordinator logs the exception, and serves what it has read by then: to it transactional ids of "
        "later records do not exist, or are in an older state. Their transactions stay open.",
        "kcli dump --records shows the record. Start a broker of a release that reads it, or let another "
        "replica lead the partition.",
    ),
    "TXN-002": Rule(
        "info",
        "A record of __transaction_state is of a type or version that the release does not know.",
        "The coordinator passes over it, as after a downgrade (KIP-915).",
        "The answers here lack what it says, too.",
    ),
    "TXN-003": Rule(
        "error",
        "The last batch of a partition of __transaction_state holds no record.",
        "A coordinator before 3.9.2 reads it again and again: the load never ends, and every request about a "
        "transactional id there gets COORDINATOR_LOAD_IN_PROGRESS.",
        "Start 3.9.2 or newer.",
    ),
    "TXN-004": Rule(
        "warning",
        "A transaction hangs: its coordinator does not hold the partition in it.",
        "No end marker comes: the last stable offset stays, read_committed consumers wait there, and the "
        "cleaner does not go beyond it.",
        "kcli txn open says more, and has the command that ends it. A follower that is behind may only lack "
        "the marker: name the leader's log dirs, too.",
    ),
    "DIFF-001": Rule(
        "error",
        "A partition has damage that it did not have.",
        "It depends on the damage: kcli explain with the codes that are named.",
        "Find out what happened to the disk between the runs; salvage the partition, or replicate it anew.",
    ),
    "DIFF-002": Rule(
        "warning",
        "A partition has warnings that it did not have.",
        "It depends on the warning: kcli explain with the codes that are named.",
        "Run kcli check on the partition, and see whether the broker was stopped or moved between the runs.",
    ),
    "DIFF-003": Rule(
        "error",
        "The log ends earlier than it did, or its leader epochs do not go on from what they were.",
        "It truncates a log to follow a new leader, and cuts damaged tails after an unclean stop; otherwise "
        "it only adds epochs. A topic that was deleted and made anew begins at 0.",
        "Look for an unclean leader election or a restored disk; epoch diff with the other replicas shows "
        "where they part and what is lost.",
    ),
    "DIFF-006": Rule(
        "warning",
        "A partition is gone, or its log begins earlier than it did.",
        "It removes one that was deleted or reassigned; a log dir that is not mounted has none. It never "
        "moves a log start back, unless log-start-offset-checkpoint was lost or the topic was made anew.",
        "Check that all log dirs are mounted, that both runs were given the same paths and topics, and "
        "whether a topic was made anew or a log dir restored from a copy.",
    ),
}
