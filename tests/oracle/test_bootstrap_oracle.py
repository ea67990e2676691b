"""A damaged bootstrap.checkpoint, read by `BootstrapMetadata`."""

from __future__ import annotations

import random

import pytest

from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.kraft.metadata_snapshot import BOOTSTRAP, bootstrap_level
from kcli.kafka.kraft.releases import release_named
from tests.builders import put_record, put_records
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 1500
FRAME = b"\x01\x0c\x00"  # of a FeatureLevelRecord


def feature(name: bytes, level: int) -> bytes:
    return FRAME + bytes([len(name) + 1]) + name + level.to_bytes(2, "big") + b"\0"


def written(choose: random.Random, damage: int) -> bytes:
    """Return a file as `kafka-storage format` leaves it, or cut (1), longer (2), with bits flipped (3, 4)."""
    level = choose.choice([7, 21, 30, 30, 30, 31, choose.randrange(-2, 40)])
    values = [feature(b"metadata.version", level & 0xFFFF)]
    values += [feature(b"group.version", 1)] * choose.randrange(2)
    choose.shuffle(values)
    records = [put_record(offset_delta=number, value=value) for number, value in enumerate(values)]
    header = put_record(key=b"\0\0\0\3", value=bytes(11))
    footer = put_record(key=b"\0\0\0\4", value=bytes(3))
    data = put_records([header], attributes=0x20)
    data += put_records(records, choose.choice([0, 0, 0, 1, 2, 3, 4]), base_offset=1)
    data += put_records([footer], attributes=0x20, base_offset=3)
    if damage == 1:
        return data[: choose.randrange(len(data))]
    if damage == 2:
        return data + choose.randbytes(choose.randrange(40))
    if damage > 2:
        flipped = bytearray(data)
        for _ in range(choose.randrange(1, 4)):
            flipped[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        return bytes(flipped)
    return data


def test_what_stops_a_start_stops_it_here(oracle: Oracle, oracle_seed: int) -> None:
    directory = oracle.fresh("bootstrap")
    directory.mkdir()
    for number in range(cases(CASES)):
        data = written(random.Random(f"{oracle_seed}:{number}"), number % 5)
        (directory / BOOTSTRAP).write_bytes(data)
        kafka = oracle.ask("bootstrap", directory=directory)
        level = bootstrap_level(str(directory))
        stops = isinstance(level, StartFailure) or level not in release_named((4, 4)).levels
        assert ("error" in kafka) == stops, (oracle_seed, number, kafka, level, data.hex())
