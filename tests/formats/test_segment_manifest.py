"""Manifests of Aiven's plugin, by its classes (tests/data/plugin) and its own tests' facts."""

import base64
import copy
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import names
from formats.compression import ZSTD, decompress
from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.segment_manifest import (
    MOST_CHUNKS,
    Chunk,
    Encryption,
    StoredPart,
    read_chunk_sizes,
    read_segment_manifest,
)
from tests.plugin import ENCODED_10_20_30, MANIFEST, METADATA, NO_KEY, VARIABLE, encoded_sizes, packed

pytestmark = pytest.mark.slow

MAX_INT = 0x7FFFFFFF
KINDS = (
    names.OFFSET_INDEX,
    names.TIME_INDEX,
    names.PRODUCER_SNAPSHOT,
    names.LEADER_EPOCH_CHECKPOINT,
    names.TXN_INDEX,
)
FIXED = {
    "type": "fixed",
    "originalChunkSize": 100,
    "originalFileSize": 250,
    "transformedChunkSize": 110,
    "finalTransformedChunkSize": 30,
}


def changed(path, value=None, *, base=MANIFEST):
    """Return a manifest's bytes with a member at a path set, or with None removed."""
    content = copy.deepcopy(base)
    *above, last = path.split(".")
    inside = content
    for name in above:
        inside = inside[name]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return json.dumps(content).encode()


def chunks(chunk_index):
    index = read_segment_manifest(changed("chunkIndex", chunk_index)).chunk_index
    return index, [index.chunk(number) for number in range(index.chunk_count)]


def test_a_manifest_of_the_plugins_tests():
    found = read_segment_manifest(json.dumps(MANIFEST, separators=(",", ":")).encode())

    assert found.indexes == {kind: StoredPart(position, 1) for position, kind in enumerate(KINDS)}
    assert (found.compression, found.encryption, found.segment) == (False, None, METADATA)
    assert (found.chunk_index.chunk_count, found.chunk_index.stored_size) == (10, 1100)


def test_encryption_names_its_key_pair():
    data = changed("encryption", {"dataKey": "static-key-id:AAEC", "aad": "CgsMDQ=="})
    encryption = Encryption("static-key-id", b"\0\1\2", bytes([10, 11, 12, 13]))
    assert read_segment_manifest(data).encryption == encryption


def test_a_segment_without_a_transaction_index_has_null_for_it():
    text = changed("segmentIndexes.transaction", "x").replace(b'"x"', b"null")
    assert names.TXN_INDEX not in read_segment_manifest(text).indexes


def test_chunks_of_one_stored_size():
    index, found = chunks(FIXED)
    assert found == [Chunk(0, 100, 0, 110), Chunk(100, 100, 110, 110), Chunk(200, 50, 220, 30)]
    assert index.stored_size == 250


def test_chunks_of_own_stored_sizes():
    index, found = chunks(VARIABLE)
    assert found == [Chunk(0, 100, 0, 10), Chunk(100, 100, 10, 20), Chunk(200, 50, 30, 30)]
    assert index.stored_size == 60


def test_the_sizes_of_the_plugins_tests():
    data = decompress(ZSTD, base64.b64decode(ENCODED_10_20_30), 100)
    assert read_chunk_sizes(data) == (10, 20, 30)
    assert bytes(data) == packed([10, 20, 30])


@pytest.mark.parametrize(
    ("sizes", "width"),
    [
        ([0, 1000, 2, 44002, 369], 2),
        ([MAX_INT, MAX_INT - 1, MAX_INT - 2, 10], 1),
        ([MAX_INT // 2, MAX_INT // 2 - 1, MAX_INT // 2 - 2, 10], 1),
        ([1, 2, 3, MAX_INT], 1),
        ([1, 0xFF + 10, 0xFF + 20, 0xFF + 30, MAX_INT], 2),
        ([1, 0xFFFF + 10, 0xFFFF + 20, 0xFFFF + 30, MAX_INT], 3),
        ([1, 0xFFFFFF + 10, 0xFFFFFF + 20, 0xFFFFFF + 30, MAX_INT], 4),
    ],
)
def test_lists_of_sizes_and_their_bytes_a_size(sizes, width):
    data = packed(sizes)
    assert len(data) == 4 + 4 + 1 + (len(sizes) - 1) * width + 4
    assert (int.from_bytes(data[:4], "big"), data[8]) == (len(sizes), width)
    assert read_chunk_sizes(data) == tuple(sizes)


@pytest.mark.parametrize("sizes", [[], [213], [MAX_INT]])
def test_short_lists_have_no_base(sizes):
    assert len(packed(sizes)) == 4 + 4 * len(sizes)
    assert read_chunk_sizes(packed(sizes)) == tuple(sizes)


@given(st.lists(st.integers(0, MAX_INT), max_size=50))
def test_any_list_of_sizes(sizes):
    assert read_chunk_sizes(packed(sizes)) == tuple(sizes)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\0\0\0", TruncatedError),
        (b"\xff\xff\xff\xff", CorruptError),
        ((MOST_CHUNKS + 1).to_bytes(4, "big"), LimitError),
        (b"\0\0\0\1\xff\xff\xff\xff", CorruptError),
        (b"\0\0\0\2\0\0\0\1\0\0\0\0\1", CorruptError),
        (b"\0\0\0\2\0\0\0\1\5\0\0\0\0\1\0\0\0\0\1", CorruptError),
        (b"\0\0\0\3\0\0\0\1\1\0\0\0\1", TruncatedError),
        (b"\0\0\0\2\x7f\xff\xff\xff\1\1\0\0\0\1", CorruptError),
    ],
)
def test_damaged_sizes(data, error):
    with pytest.raises(error):
        read_chunk_sizes(data)


REQUIRED = (
    "version",
    "compression",
    "chunkIndex",
    "segmentIndexes",
    *(f"chunkIndex.{name}" for name in FIXED),
    *(f"segmentIndexes.{name}" for name in MANIFEST["segmentIndexes"]),
    "segmentIndexes.offset.position",
    "segmentIndexes.transaction.size",
)


@pytest.mark.parametrize("path", REQUIRED)
def test_a_member_that_must_be_there(path):
    with pytest.raises(CorruptError) as raised:
        read_segment_manifest(changed(path))
    assert (raised.value.field, raised.value.found) == (path, "nothing")


@pytest.mark.parametrize("path", [path for path in REQUIRED if path not in {"version", "chunkIndex.type"}])
@pytest.mark.parametrize("value", [-1, 1 << 31, "x", [], 1.5])
def test_a_member_of_another_type_or_out_of_range(path, value):
    with pytest.raises(CorruptError) as raised:
        read_segment_manifest(changed(path, value))
    assert raised.value.field == path


@pytest.mark.parametrize(
    ("path", "value", "error", "field"),
    [
        ("version", "2", UnsupportedError, "version"),
        ("chunkIndex.type", "other", UnsupportedError, "chunkIndex.type"),
        ("chunkIndex.type", [], UnsupportedError, "chunkIndex.type"),
        ("later", 1, UnsupportedError, "manifest"),
        ("chunkIndex.later", 1, UnsupportedError, "chunkIndex"),
        ("segmentIndexes.later", 1, UnsupportedError, "segmentIndexes"),
        ("segmentIndexes.offset.later", 1, UnsupportedError, "segmentIndexes.offset"),
        ("chunkIndex.originalChunkSize", 0, CorruptError, "chunkIndex.originalChunkSize"),
        ("chunkIndex", {**VARIABLE, "originalFileSize": 400}, CorruptError, "chunkIndex.transformedChunks"),
        ("chunkIndex", {**VARIABLE, "transformedChunks": "é"}, CorruptError, "chunkIndex.transformedChunks"),
        (
            "chunkIndex",
            {**VARIABLE, "transformedChunks": "AAAA"},
            FormatError,
            "chunkIndex.transformedChunks, zstd magic",
        ),
        ("encryption", {**NO_KEY, "dataKey": "AAEC"}, CorruptError, "encryption.dataKey"),
        ("encryption", {**NO_KEY, "dataKey": " :AAEC"}, CorruptError, "encryption.dataKey"),
        ("encryption", {**NO_KEY, "dataKey": "a:"}, CorruptError, "encryption.dataKey"),
        ("encryption", {**NO_KEY, "dataKey": "a:b:c"}, CorruptError, "encryption.dataKey"),
        ("encryption", {"dataKey": "a:AAEC"}, CorruptError, "encryption.aad"),
        ("remoteLogSegmentMetadata", [1], CorruptError, "remoteLogSegmentMetadata"),
    ],
)
def test_what_the_plugin_refuses(path, value, error, field):
    with pytest.raises(error) as raised:
        read_segment_manifest(changed(path, value))
    assert raised.value.field == field


def test_sizes_that_expand_beyond_the_bound():
    bomb = encoded_sizes([1, 1], b"\0" * (11 << 20))
    with pytest.raises(LimitError):
        read_segment_manifest(changed("chunkIndex", {**VARIABLE, "transformedChunks": bomb}))


# The plugin's own classes

DATA = Path(__file__).parents[1] / "data" / "plugin"
CASES = json.loads(gzip.decompress((DATA / "manifests.json.gz").read_bytes()))
INDEX_TYPES = ("OFFSET", "TIMESTAMP", "PRODUCER_SNAPSHOT", "LEADER_EPOCH", "TRANSACTION")
STRICTER = {
    "version": "a number is taken for its text",
    "compression": "numbers and empty texts are taken for a boolean, and null",
    "chunkIndex": "texts and fractions are taken for integers, null and empty texts for 0",
    "segmentIndexes": "the same, and negative positions and sizes",
    "chunkIndex.transformedChunks": "sizes that do not match the chunks",
    "encryption.dataKey": "base64 without padding",
    "remoteLogSegmentMetadata": "it is not read",
    "JSON": "a byte order mark",
}
"""Where the plugin reads what it never writes, and this reader refuses it."""


def as_answered(manifest):
    index = manifest.chunk_index
    count = index.chunk_count
    return {
        "chunks": "many" if count > 1000 else [[*index.chunk(number)] for number in range(count)],
        "indexes": {
            name: [*manifest.indexes[kind]]
            for name, kind in zip(INDEX_TYPES, KINDS, strict=True)
            if kind in manifest.indexes
        },
        "compression": manifest.compression,
        "encrypted": manifest.encryption is not None,
    }


def test_every_manifest_as_the_plugin_reads_it():
    stricter = set()
    for case in CASES:
        data, answer = base64.b64decode(case["manifest"]), case["answer"]
        try:
            found = as_answered(read_segment_manifest(data))
        except FormatError as error:
            field = next((name for name in (error.field, error.field.split(".")[0]) if name in STRICTER), "")
            if "error" not in answer:
                stricter.add(field)
            continue
        assert "error" not in answer, data
        if not found["chunks"]:
            assert answer["chunks"][0][:3] == [0, 0, 0]
        elif found["chunks"] == "many" or found["chunks"][-1][2] <= MAX_INT:  # beyond, its int wraps
            assert found["chunks"] == answer["chunks"], data
        assert {**found, "chunks": 0} == {**answer, "chunks": 0}
    assert stricter == set(STRICTER)


def test_a_manifest_that_the_plugin_wrote():
    (path,) = DATA.glob("objects/*/0/*.rsm-manifest")
    found = read_segment_manifest(path.read_bytes())
    index = found.chunk_index
    assert (found.compression, found.segment["endOffset"], index.original_file_size) == (True, 53, 7840)
    assert (index.chunk_count, index.stored_size) == (8, path.with_suffix(".log").stat().st_size)
    last = found.indexes[names.TXN_INDEX]
    assert last.position + last.size == path.with_suffix(".indexes").stat().st_size
