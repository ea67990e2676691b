"""Which settings a broker opens a log with: of the topic, of server.properties, Kafka's."""

import pytest

from kcli.kafka.kraft.log_settings import KnownSettings, server_of, topic_configs
from kcli.kafka.kraft.metadata_image import BROKER, TOPIC, Image, Topic
from kcli.kafka.storage.loaded_log import Settings, TopicConfig
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.targets import NO_SERVER, Selection

CLUSTER = "abc"


@pytest.fixture
def log(tmp_path):
    root = tmp_path / "data"
    (root / "orders-0").mkdir(parents=True)
    (root / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n")
    return root / "orders-0"


def partition(log, properties=None):
    server = NO_SERVER if properties is None else server_of(properties)
    return Partition(find([str(log)], Selection(), server).targets[0])


def image(**configs):
    named = {key.replace("_", "."): value for key, value in configs.items()}
    topics = {"id": Topic("orders"), "other": Topic("payments")}
    return Image(
        topics=topics, configs={(TOPIC, "orders"): named, (BROKER, ""): {"log.index.interval.bytes": "7"}}
    )


def test_without_any_source_the_log_dir_is_asked(log):
    assert KnownSettings().of(partition(log), now_ms=5) == Settings(now_ms=5)


def test_the_topic_wins_over_the_broker_and_an_option_over_both(log):
    properties = {
        "log.index.interval.bytes": "512",
        "log.index.size.max.bytes": "65536",
        "producer.id.expiration.ms": "1000",
        "remote.log.storage.system.enable": "true",
    }
    topics = {CLUSTER: topic_configs(image(index_interval_bytes="100", remote_storage_enable="true"))}
    found = KnownSettings(topics).of(partition(log, properties))
    assert found == Settings(
        index_interval_bytes=100,
        max_index_size=65536,
        producer_expiration_ms=1000,
        remote_storage=True,
        is_completed=True,
    )
    given = KnownSettings(topics).of(
        partition(log, properties), index_interval_bytes=0, segment_index_bytes=8, remote_storage=False
    )
    assert (given.index_interval_bytes, given.max_index_size, given.remote_storage) == (0, 8, False)


def test_metadata_without_the_topic_does_not_say_whether_it_is_tiered(log):
    """It may be cut by damage before the topic's records."""
    known = KnownSettings(topics={CLUSTER: topic_configs(image())})
    assert (known.of(partition(log)).remote_storage, known.is_compacted(partition(log))) == (False, False)
    for topics in ({CLUSTER: {}}, {"other": topic_configs(image())}):
        known = KnownSettings(topics=topics)
        assert (known.of(partition(log)).remote_storage, known.is_compacted(partition(log))) == (None, None)


def test_a_broker_without_remote_storage_has_no_tiered_topic(log):
    topics = {CLUSTER: {"orders": TopicConfig(remote_storage=True)}}
    found = KnownSettings(topics).of(partition(log, {}))
    assert (found.remote_storage, found.max_index_size) == (False, 10 << 20)


def test_a_dynamic_policy_of_the_broker_is_that_of_topics_without_their_own():
    found = image(cleanup_policy="delete")
    found.configs[BROKER, ""]["log.cleanup.policy"] = "compact"
    policies = {name: config.is_compacted for name, config in topic_configs(found).items()}
    assert policies == {"orders": False, "payments": True}


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_is_not_tiered(policy):
    found = topic_configs(image(remote_storage_enable="true", cleanup_policy=policy))
    assert found == {"orders": TopicConfig(is_compacted=True), "payments": TopicConfig()}


def test_a_number_that_the_broker_would_refuse_is_passed_over():
    assert topic_configs(image(index_interval_bytes="many"))["orders"] == TopicConfig()
