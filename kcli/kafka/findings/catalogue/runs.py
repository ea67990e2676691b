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
