"""Where keys and names belong, and the spellings of UUIDs, against Kafka's own classes."""

from __future__ import annotations

import random

import pytest

from formats.primitives import uuid_bytes, uuid_hex, uuid_text
from kcli.jobs.identifiers import share_group_row
from kcli.kafka.remote.partitioning import partition_of_key, partition_of_text
from tests.seeds import cases

from .oracle import Oracle, encoded

pytestmark = pytest.mark.oracle

CASES = 5000
LETTERS = "abz09-_.:\u00e4\u4e2d\uffff\U0001f600"


def test_random_keys_texts_and_ids(oracle: Oracle, oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    count = cases(CASES)
    partitions = choose.choice([1, 3, 50, 128, 2**31 - 1])
    keys = [choose.randbytes(choose.randrange(24)) for _ in range(count)]
    texts = ["".join(choose.choices(LETTERS, k=choose.randrange(20))) for _ in range(count)]
    texts.append("polygenelubricants")
    uuids = [uuid_text(choose.randbytes(16)) for _ in range(count)]
    share = [(f"g{text}", uuid, choose.randrange(2**31)) for text, uuid in zip(texts, uuids, strict=False)]
    kafka = oracle.ask(
        "partition_for",
        partitions=partitions,
        keys=[encoded(key) for key in keys],
        texts=texts,
        share=share,
        uuids=uuids,
    )
    assert [list(partition_of_key(key, partitions)) for key in keys] == kafka["keys"]
    assert [list(partition_of_text(text, partitions)) for text in texts] == kafka["texts"]
    rows = [share_group_row(user, partitions) for user in share]
    assert [[row.hash, row.partition] for row in rows] == kafka["share"]
    assert [[uuid, uuid_hex(uuid_bytes(uuid))] for uuid in uuids] == kafka["uuids"]
