"""Names of errors of a live cluster; `tests/live` asks one."""

from confluent_kafka import KafkaError

from kcli.broker.cluster import ERROR_NAMES


def test_errors_have_the_names_of_kafka():
    """librdkafka is the judge; some errors have an older name there, or a shorter one."""
    others = {-1: "UNKNOWN", 3: "UNKNOWN_TOPIC_OR_PART", 6: "NOT_LEADER_FOR_PARTITION"}
    others |= {2: "INVALID_MSG", 43: "UNSUPPORTED_FOR_MESSAGE_FORMAT"}
    for number, name in ERROR_NAMES.items():
        assert KafkaError(number).name().lstrip("_") == others.get(number, name), number
