"""The fold over metadata records against Kafka's MetadataDelta, on random records that fit each other."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from formats.messages.metadata import decode_metadata
from formats.messages.reader import Message
from kcli.kafka.kraft.metadata_image import Image
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 300


def described(image: Image) -> dict[str, Any]:
    """Return an image as the judge describes his; a set where order means nothing."""
    topics = {
        topic_id: {
            "name": topic.name,
            "partitions": {
                str(number): {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in partition._asdict().items()
                }
                for number, partition in topic.partitions.items()
            },
        }
        for topic_id, topic in image.topics.items()
    }
    brokers = {
        str(number): {**broker._asdict(), "directories": sorted(broker.directories)}
        for number, broker in image.brokers.items()
    }
    configs = sorted([kind, name, settings] for (kind, name), settings in image.configs.items())
    features = {name: level for name, level in image.features.items() if name != "metadata.version"}
    return {"topics": topics, "brokers": brokers, "configs": configs, "features": features}


def test_random_metadata(oracle: Oracle, oracle_seed: int) -> None:
    for number in range(cases(CASES)):
        said = oracle.ask("metadata_image", seed=oracle_seed + number)
        assert "error" not in said, said
        image = Image()
        for offset, value in enumerate(said.pop("values")):
            message = decode_metadata(base64.b64decode(value))
            assert isinstance(message, Message)
            image.replay(offset, message)
        for broker in said["brokers"].values():
            broker["directories"].sort()
        said["configs"].sort()
        said["features"].pop("metadata.version", None)
        assert image.misfits == []
        assert described(image) == said, f"KCLI_SEED={oracle_seed} case {number}"
