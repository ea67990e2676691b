"""Rules about remote log metadata: `RLMM`."""

from kcli.analysis.catalogue.rule import Rule

REMOTE: dict[str, Rule] = {
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
