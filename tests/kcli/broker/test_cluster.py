"""What needs no live cluster: names of errors, and the end of a client; `tests/live` asks one."""

import gc

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from kcli.broker.cluster import ERROR_NAMES, Cluster, ClusterError
from kcli.broker.settings import client_settings


def test_errors_have_the_names_of_kafka():
    """librdkafka is the judge; some errors have an older name there, or a shorter one."""
    others = {-1: "UNKNOWN", 3: "UNKNOWN_TOPIC_OR_PART", 6: "NOT_LEADER_FOR_PARTITION"}
    others |= {2: "INVALID_MSG", 43: "UNSUPPORTED_FOR_MESSAGE_FORMAT"}
    for number, name in ERROR_NAMES.items():
        assert KafkaError(number).name().lstrip("_") == others.get(number, name), number


def test_a_client_ends_with_its_cluster():
    """Not when a cycle is collected: that may be in a thread of the client, where librdkafka aborts."""
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(ClusterError):
            Cluster(client_settings("127.0.0.1:1", {}), 0.1)
        assert [each for each in gc.get_objects() if isinstance(each, AdminClient)] == []
    finally:
        gc.enable()
