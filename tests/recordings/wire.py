"""The two requests that the client library does not offer, over a socket.

A request is its size i32, api_key i16, api_version i16, correlation_id i32, client_id string, then its body;
an answer is its size i32, correlation_id i32, throttle_time_ms i32, then its body. A string has an i16, an
array an i32 in front. OffsetForLeaderEpoch, version 3: replica_id i32 (-1: a consumer), then arrays of topics
and of partitions: partition i32, current_leader_epoch i32 (-1: any), leader_epoch i32. Answer: the same
arrays of error_code i16, partition i32, leader_epoch i32, end_offset i64. AlterReplicaLogDirs, version 1: an
array of log dirs: path string, then arrays of topics and of partitions i32. Answer: arrays of topics and of
partition i32, error_code i16.
"""

import socket
import struct

OFFSET_FOR_LEADER_EPOCH = (23, 3)
ALTER_REPLICA_LOG_DIRS = (34, 1)


def offset_for_leader_epoch(port: int, topic: str, partition: int, epoch: int) -> tuple[int, int]:
    """Return (leader_epoch, end_offset) as the broker on this port answers for one partition and requested
    epoch."""
    name = topic.encode()
    body = struct.pack(f">iih{len(name)}siiii", -1, 1, len(name), name, 1, partition, -1, epoch)
    answer = _ask(port, OFFSET_FOR_LEADER_EPOCH, body)
    after_name = struct.calcsize(f">ih{len(name)}si")
    error, found, leader_epoch, end_offset = struct.unpack_from(">hiiq", answer, after_name)
    assert (error, found) == (0, partition), (topic, partition, epoch, error)
    return leader_epoch, end_offset


def alter_replica_log_dirs(port: int, log_dir: str, topic: str, partition: int) -> int:
    """Ask the broker on this port to move its replica of a partition to one of its log dirs.

    Return the error code. The broker moves it in background.
    """
    path, name = log_dir.encode(), topic.encode()
    body = struct.pack(
        f">ih{len(path)}sih{len(name)}sii", 1, len(path), path, 1, len(name), name, 1, partition
    )
    answer = _ask(port, ALTER_REPLICA_LOG_DIRS, body)
    after_name = struct.calcsize(f">ih{len(name)}si")
    found, error = struct.unpack_from(">ih", answer, after_name)
    assert found == partition, (topic, partition, found)
    return int(error)


def _ask(port: int, request: tuple[int, int], body: bytes) -> bytes:
    """Return the body of the answer to a request of an (api_key, api_version)."""
    head = struct.pack(">hhih4s", *request, 1, 4, b"kcli")
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        (size,) = struct.unpack(">i", answers.read(4))
        return answers.read(size)[8:]
