"""Every reader of bytes takes damage: it returns, or raises a FormatError that lies in its bytes."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import checkpoint, primitives, properties
from formats.compression import GZIP, LZ4, SNAPPY, ZSTD, decompress
from formats.control import control_value
from formats.errors import FormatError
from formats.message_set import message_set, set_records
from formats.producer_snapshot import read_snapshot
from formats.quorum import read_quorum_state
from formats.record import batch_records
from formats.remote_metadata import decode
from formats.segment_manifest import read_chunk_sizes, read_segment_manifest
from tests.builders import compress, put_record, put_records
from tests.formats.control_values import VALUES
from tests.formats.files import content
from tests.formats.remote_values import UPDATE
from tests.messages import put_set
from tests.plugin import MANIFEST, NO_KEY, VARIABLE, packed
from tests.seeds import examples

pytestmark = pytest.mark.slow

LIMIT = 1 << 14
MASKS = (0x01, 0x10, 0x80, 0xFF)
RECORDS = [put_record(n, n, b"key", b"value", ((b"h", None),)) for n in range(3)]
EPOCHS = content("leader-epoch-checkpoint")

READERS = {
    **{
        f"control record {number}": (partial(control_value, number), bytes.fromhex(value))
        for number, _, value, _ in VALUES
    },
    "quorum-state": (read_quorum_state, content("quorum-state")),
    "manifest": (
        read_segment_manifest,
        json.dumps({**MANIFEST, "chunkIndex": VARIABLE, "encryption": NO_KEY}).encode(),
    ),
    "chunk sizes": (read_chunk_sizes, packed([10, 20, 30])),
    "leader epochs": (checkpoint.read_leader_epoch_checkpoint, EPOCHS),
    "offsets": (checkpoint.read_offset_checkpoint, b"0\n2\nt 0 5\nu 1 7\n"),
    "committed offsets": (checkpoint.read_committed_offsets, EPOCHS),
    "properties": (properties.read_properties, b"a=b\\u0041\nc:d\\\n e\n"),
    "clean shutdown": (properties.read_clean_shutdown, b'{"version":0,"brokerEpoch":7}'),
    "meta.properties": (properties.read_meta_properties, content("meta.properties")),
    "partition.metadata": (properties.read_partition_metadata, content("partition.metadata")),
    "producer snapshot": (read_snapshot, bytes(10)),
    "remote event": (decode, UPDATE),
    **{
        f"codec {codec}": (partial(decompress, codec, limit=LIMIT), compress(codec, b"kafka " * 60))
        for codec in (GZIP, SNAPPY, LZ4, ZSTD)
    },
    **{
        f"records {codec}": (lambda data: list(batch_records(data, LIMIT)), put_records(RECORDS, codec))
        for codec in range(5)
    },
    **{
        f"messages {magic} {codec}": (
            lambda data: list(set_records(message_set(data, LIMIT))),
            put_set(10, [1, 2, 3], codec, magic),
        )
        for magic in (0, 1)
        for codec in range(4)
    },
    **{
        reader.__name__: (lambda data, reader=reader: reader(data, 0), b"\0\5value")
        for reader in (
            primitives.string_bytes,
            primitives.nullable_bytes,
            primitives.compact_string_bytes,
            primitives.compact_nullable_bytes,
            primitives.compact_length,
            primitives.tag_count,
        )
    },
}


def survives(read, data: bytes) -> None:
    """Check that a reader returns, or raises a FormatError that lies in the bytes, and nothing else."""
    position = 0
    try:
        read(data)
    except FormatError as error:
        position = error.position
    assert 0 <= position <= len(data), data


@pytest.mark.parametrize(("read", "data"), READERS.values(), ids=READERS)
def test_every_prefix_and_every_flipped_byte(read, data):
    for size in range(len(data)):
        survives(read, data[:size])
        for mask in MASKS:
            survives(read, data[:size] + bytes([data[size] ^ mask]) + data[size + 1 :])


@pytest.mark.parametrize(("read", "data"), READERS.values(), ids=READERS)
@examples(60)
@given(noise=st.binary(max_size=120), kept=st.integers(0, 70))
def test_noise(read, data, noise, kept):
    survives(read, noise)
    survives(read, data[:kept] + noise)
