"""Rules about leader epochs and lookups: `EPOCH`, `LOOKUP`."""

from kcli.kafka.findings.catalogue.rule import Rule

OFFSETS: dict[str, Rule] = {
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
}
