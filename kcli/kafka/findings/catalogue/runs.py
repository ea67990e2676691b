"""Rules about what changed between two runs: `DIFF`."""

from kcli.kafka.findings.catalogue.rule import Rule

RUNS: dict[str, Rule] = {
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
        "The log ends earlier than it did.",
        "It truncates a log to follow a new leader, and cuts damaged tails after an unclean stop. A topic "
        "that was deleted and made anew begins at 0.",
        "Compare with the broker's log of that time: epoch diff with the other replicas says what is lost.",
    ),
    "DIFF-004": Rule(
        "error",
        "The leader epoch history is not a continuation of what it was.",
        "It removes epochs when it truncates to follow another leader; otherwise it only adds some.",
        "Look for an unclean leader election or a restored disk; epoch diff shows where the replicas part.",
    ),
    "DIFF-005": Rule(
        "warning",
        "The log begins earlier than it did.",
        "It never moves a log start offset back, unless log-start-offset-checkpoint was lost or the "
        "topic was made anew.",
        "Check whether the topic was deleted and created, or the log dir was restored from a copy.",
    ),
    "DIFF-006": Rule(
        "warning",
        "A partition is gone.",
        "It removes one that was deleted or reassigned; a log dir that is not mounted has none.",
        "Check that all log dirs are mounted and that both runs were given the same paths and topics.",
    ),
    "DIFF-007": Rule(
        "warning",
        "A segment went from the middle of a log.",
        "It removes the oldest segments, and compaction merges segments into the one before, which is then "
        "another file. One whose records compaction removed all may go as well.",
        "If the topic is not compacted the records are lost here: compare with another replica "
        "(kcli replica diff).",
    ),
}
