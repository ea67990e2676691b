"""Rules about the metadata of a KRaft cluster: `META`."""

from kcli.kafka.findings.catalogue.rule import Rule

METADATA: dict[str, Rule] = {
    "META-001": Rule(
        "error",
        "A metadata record cannot be decoded, or is of a type or version that kcli does not know.",
        "A broker or controller that cannot read a record of the metadata log stops.",
        "The answers here lack what the record says: a kcli for the Kafka that wrote it may read it.",
    ),
    "META-003": Rule(
        "warning",
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
}
