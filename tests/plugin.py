"""LocalTieredStorage's files stored as Aiven's plugin does, by its `KafkaRemoteStorageManager`."""

import base64
import json
import struct
from pathlib import Path

import cramjam

INDEXES = {
    "offset": "index",
    "timestamp": "timeindex",
    "producerSnapshot": "snapshot",
    "leaderEpoch": "leader_epoch_checkpoint",
    "transaction": "txnindex",
}
NO_KEY = {"dataKey": "my-key-pair:AAECAw==", "aad": "CgsMDQ=="}


def packed(sizes):
    """Return sizes of chunks in the bytes of `ChunkSizesBinaryCodec`."""
    *rest, last = sizes or [None]
    data = struct.pack(">i", len(sizes))
    if rest:
        base = min(rest)
        width = max(1, *(-(-(size - base).bit_length() // 8) for size in rest))
        data += struct.pack(">ib", base, width)
        data += b"".join((size - base).to_bytes(width, "big") for size in rest)
    return data if last is None else data + struct.pack(">i", last)


def encoded_sizes(sizes, after=b""):
    """Return the text of `transformedChunks`, with some bytes after the sizes."""
    return base64.b64encode(bytes(cramjam.zstd.compress(packed(sizes) + after))).decode()


def store(log: Path, root: Path, *, compression=False, chunk_size=1024, encryption=None, metadata=None):
    """Store the segment of a log of LocalTieredStorage; return the path of its objects without extension."""
    topic, _, topic_id = log.parent.name.partition("-0-")
    stem = root / f"{topic}-{topic_id}" / "0" / log.stem
    stem.parent.mkdir(parents=True, exist_ok=True)
    data = log.read_bytes()
    chunks = [data[start : start + chunk_size] for start in range(0, len(data), chunk_size)]
    index = {"originalChunkSize": chunk_size, "originalFileSize": len(data)}
    if compression:
        chunks = [bytes(cramjam.zstd.compress(chunk)) for chunk in chunks]
        index = {"type": "variable", **index, "transformedChunks": encoded_sizes([*map(len, chunks)])}
    else:
        sizes = {"transformedChunkSize": chunk_size, "finalTransformedChunkSize": len(chunks[-1])}
        index = {"type": "fixed", **index, **sizes}
    stem.with_suffix(".log").write_bytes(b"".join(chunks))
    blob, places = b"", {}
    for name, extension in INDEXES.items():
        path = log.with_suffix(f".{extension}")
        content = path.read_bytes() if path.exists() else None if name == "transaction" else b""
        places[name] = None if content is None else {"position": len(blob), "size": len(content)}
        blob += content or b""
    stem.with_suffix(".indexes").write_bytes(blob)
    manifest = {
        "version": "1",
        "chunkIndex": index,
        "segmentIndexes": places,
        "compression": compression,
        **({} if encryption is None else {"encryption": encryption}),
        "remoteLogSegmentMetadata": metadata,
    }
    stem.with_suffix(".rsm-manifest").write_text(json.dumps(manifest, separators=(",", ":")))
    return stem


def store_all(storage: Path, root: Path, topic: str, **words) -> list[Path]:
    """Store every segment of partition 0 of a topic."""
    (folder,) = storage.glob(f"{topic}-0-*")
    return [store(log, root, **words) for log in sorted(folder.glob("*.log"))]


ENCODED_10_20_30 = "KLUv/SAPeQAAAAAAAwAAAAoBAAoAAAAe"
"""What the plugin's tests expect of its serializer."""
METADATA = {
    "remoteLogSegmentId": {
        "topicIdPartition": {
            "topicId": "lZ6vvmajTWKDBUTV6SQAtQ",
            "topicPartition": {"topic": "topic1", "partition": 42},
        },
        "id": "adh9f8BMS4anaUnD8KWfWg",
    },
    "startOffset": 0,
    "endOffset": 1000,
    "maxTimestampMs": 1000000000,
    "brokerId": 2,
    "eventTimestampMs": 2000000000,
    "segmentLeaderEpochs": {"0": 100, "1": 200, "2": 300},
}
MANIFEST = {
    "version": "1",
    "chunkIndex": {
        "type": "fixed",
        "originalChunkSize": 100,
        "originalFileSize": 1000,
        "transformedChunkSize": 110,
        "finalTransformedChunkSize": 110,
    },
    "segmentIndexes": {
        name: {"position": position, "size": 1}
        for position, name in enumerate(
            ("offset", "timestamp", "producerSnapshot", "leaderEpoch", "transaction")
        )
    },
    "compression": False,
    "remoteLogSegmentMetadata": METADATA,
}
VARIABLE = {
    "type": "variable",
    "originalChunkSize": 100,
    "originalFileSize": 250,
    "transformedChunks": ENCODED_10_20_30,
}
