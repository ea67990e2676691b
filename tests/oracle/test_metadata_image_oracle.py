"""The fold over metadata records against Kafka's MetadataDelta: on random records, and on recorded logs."""

from __future__ import annotations

import base64
import gzip
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from formats.messages.metadata import decode_metadata
from formats.messages.reader import Message
from formats.record import batch_records
from kcli.kafka.kraft.metadata_image import Image
from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS, endpoints
from kcli.kafka.kraft.metadata_loader import Metadata
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 300
EVERY = 10
DATA = Path(__file__).parents[1] / "data"
RECORDED = (
    *sorted(DATA.glob("metadata/*.log.gz")),
    *(DATA / "recordings" / f"{name}.tar.gz" for name in ("single", "tiered")),
    *sorted(path for path in DATA.glob("startup/*.tar.gz") if path.name != "damaged.tar.gz"),
)
"""Metadata logs of brokers of 3.5 to 4.4, and archives with one."""
LARGEST = 1 << 24


def described(image: Image) -> dict[str, Any]:
    """Return an image as the judge describes his; a set where order means nothing."""
    found = Metadata("")
    found.image = image
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
        str(number): {
            **broker._asdict(),
            "directories": sorted(broker.directories),
            "endpoints": sorted(map(list, endpoints(broker.endpoints))),
            "cordoned": None if broker.cordoned is None else list(broker.cordoned),
        }
        for number, broker in image.brokers.items()
    }

    def facts(kind: str) -> dict[str, list[Any]]:
        """Return the facts of all of a kind in their order, without the key."""
        known = {key: IMAGE_KINDS[kind].facts(found, key) for key in IMAGE_KINDS[kind].keys(found)}
        values = {str(key): [*(value or {}).values()][1:] for key, value in known.items()}
        return {
            key: [list(value) if isinstance(value, tuple) else value for value in row]
            for key, row in values.items()
        }

    return {
        "topics": topics,
        "brokers": brokers,
        "configs": sorted([kind, name, dict(settings)] for (kind, name), settings in image.configs.items()),
        "features": dict(image.features),
        "controllers": {
            number: {"incarnation_id": incarnation, "endpoints": sorted(map(list, listeners))}
            for number, (incarnation, listeners) in facts("controllers").items()
        },
        "acls": facts("acls"),
        "quotas": sorted(([dict(entity), dict(limits)] for entity, limits in image.quotas.items()), key=str),
        "scram": sorted([*(IMAGE_KINDS["scram"].facts(found, key) or {}).values()] for key in image.scram),
        "tokens": facts("tokens"),
        "next_producer_id": image.next_producer_id,
    }


def ordered(kafka: dict[str, Any]) -> dict[str, Any]:
    """Return what the judge says in the order of `described`."""
    for broker in kafka["brokers"].values():
        broker["directories"].sort()
    for name in ("configs", "scram"):
        kafka[name].sort()
    kafka["quotas"].sort(key=str)
    return kafka


def replay(image: Image, offset: int, value: bytes) -> None:
    message = decode_metadata(value)
    assert isinstance(message, Message)
    image.replay(offset, message)


def test_random_metadata(oracle: Oracle, oracle_seed: int) -> None:
    for number in range(cases(CASES)):
        kafka = oracle.ask("metadata_image", seed=oracle_seed + number)
        assert "error" not in kafka, kafka
        image = Image()
        for offset, value in enumerate(kafka.pop("values")):
            replay(image, offset, base64.b64decode(value))
        assert image.misfits == []
        assert described(image) == ordered(kafka), f"KCLI_SEED={oracle_seed} case {number}"


def segments_of(recorded: Path, folder: Path) -> list[Path]:
    """Return the segments of a recorded metadata log, unpacked."""
    if recorded.name.endswith(".log.gz"):
        path = folder / "00000000000000000000.log"
        path.write_bytes(gzip.decompress(recorded.read_bytes()))
        return [path]
    with tarfile.open(recorded) as tar:
        tar.extractall(folder, filter="data")
    first = min(folder.rglob("__cluster_metadata-0/00000000000000000000.log"))
    return sorted(first.parent.glob("*.log"))


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name.split(".tar")[0])
def test_recorded_metadata_at_each_tenth_offset(oracle: Oracle, recorded: Path, tmp_path: Path) -> None:
    values: dict[int, bytes | None] = {}
    for path in segments_of(recorded, tmp_path):
        with DataFile(str(path)) as file:
            for batch in Walk(file):
                header = batch.header
                for record in batch_records(file.read(batch.position, header.size), LARGEST):
                    values[record.offset] = None if header.is_control else record.value
    assert [*values] == [*range(len(values))]
    sent = [None if value is None else base64.b64encode(value).decode() for value in values.values()]
    kafka = oracle.ask("metadata_image", values=sent, every=EVERY)
    assert "error" not in kafka, kafka
    image, images = Image(), []
    for offset, value in values.items():
        if value is not None:
            replay(image, offset, value)
        if (offset + 1) % EVERY == 0:
            images.append(described(image))
    assert image.misfits == []
    assert len(images) == len(kafka["images"]) == len(values) // EVERY > 0
    for number, (mine, kafkas) in enumerate(zip(images, kafka["images"], strict=True), 1):
        assert mine == ordered(kafkas), f"{recorded.name} behind offset {number * EVERY - 1}"
    assert any(one != other for one, other in pairwise(images))
    print(f"{len(values)} offsets, {len(images)} images equal")
