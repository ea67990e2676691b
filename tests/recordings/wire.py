"""Requests that the client library does not offer, over a socket, as Kafka's definitions lay them out."""

import socket
import struct

OFFSET_FOR_LEADER_EPOCH = (23, 3)
ALTER_REPLICA_LOG_DIRS = (34, 1)
LIST_OFFSETS = (2, 2)
FIND_COORDINATOR = (10, 0)
OFFSET_COMMIT = (8, 2)
FETCH = (1, 11)
CONSUMER, DEBUGGING_CONSUMER = -1, -2
"""Replica ids; a debugging consumer is answered by followers, too, and up to the log end."""
LATEST = -1


def offset_for_leader_epoch(port: int, topic: str, partition: int, epoch: int) -> tuple[int, int]:
    """Return (leader_epoch, end_offset) of the broker on this port for one partition and epoch."""
    error, leader_epoch, end_offset = epoch_answer(port, topic, partition, epoch)
    assert error == 0, (topic, partition, epoch, error)
    return leader_epoch, end_offset


def epoch_answer(
    port: int, topic: str, partition: int, epoch: int, current: int = -1
) -> tuple[int, int, int]:
    """Return (error_code, leader_epoch, end_offset) to a request that names the current leader epoch."""
    name = topic.encode()
    body = struct.pack(f">iih{len(name)}siiii", -1, 1, len(name), name, 1, partition, current, epoch)
    answer = _ask(port, OFFSET_FOR_LEADER_EPOCH, body)
    after_name = struct.calcsize(f">ih{len(name)}si")
    error, found, leader_epoch, end_offset = struct.unpack_from(">hiiq", answer, after_name)
    assert found == partition, (topic, partition, found)
    return error, leader_epoch, end_offset


def log_end_offset(port: int, topic: str, partition: int) -> int | None:
    """Return the log end of a broker's replica, leader or follower; None where it answers with an error."""
    name = topic.encode()
    body = struct.pack(
        f">ibih{len(name)}siiq", DEBUGGING_CONSUMER, 0, 1, len(name), name, 1, partition, LATEST
    )
    answer = _ask(port, LIST_OFFSETS, body)
    found, error, _, offset = struct.unpack_from(">ihqq", answer, struct.calcsize(f">ih{len(name)}si"))
    assert found == partition, (topic, partition, found)
    return None if error else int(offset)


def high_watermark(port: int, topic: str, partition: int) -> int | None:
    """Return the high watermark of a broker's replica, leader or follower; None where it has an error."""
    name = topic.encode()
    body = struct.pack(
        f">iiiibiiih{len(name)}siiiqqiih",
        *(CONSUMER, 0, 0, 1 << 20, 0, 0, -1),
        *(1, len(name), name, 1, partition, -1, 0, -1, 1 << 20),
        *(0, 0),
    )
    answer = _ask(port, FETCH, body)
    found, error, offset = struct.unpack_from(">ihq", answer, struct.calcsize(f">hiih{len(name)}si"))
    assert found == partition, (topic, partition, found)
    return None if error else int(offset)


def alter_replica_log_dirs(port: int, log_dir: str, topic: str, partition: int) -> int:
    """Ask a broker to move its replica to one of its log dirs, in background; return the error code."""
    path, name = log_dir.encode(), topic.encode()
    body = struct.pack(
        f">ih{len(path)}sih{len(name)}sii", 1, len(path), path, 1, len(name), name, 1, partition
    )
    answer = _ask(port, ALTER_REPLICA_LOG_DIRS, body)
    after_name = struct.calcsize(f">ih{len(name)}si")
    found, error = struct.unpack_from(">ih", answer, after_name)
    assert found == partition, (topic, partition, found)
    return int(error)


def commit_offset(
    port: int, group: str, topic: str, partition: int, offset: int, retention_ms: int = -1
) -> int:
    """Commit an offset as clients before 2.1 do, which say how long it is kept; return the error code.

    -1: as long as the broker says. An admin client of librdkafka, asked to do it before the coordinator is
    there, may abort the process when the answer comes late.
    """
    who, name = group.encode(), topic.encode()
    _ask(port, FIND_COORDINATOR, struct.pack(f">h{len(who)}s", len(who), who))  # it makes __consumer_offsets
    body = struct.pack(
        f">h{len(who)}sihqih{len(name)}siiqh",
        *(len(who), who, -1, 0, retention_ms, 1, len(name), name, 1, partition, offset, -1),
    )
    answer = _ask(port, OFFSET_COMMIT, body)  # without a throttle time: the count of topics goes for it
    found, error = struct.unpack_from(">ih", answer, struct.calcsize(f">h{len(name)}si"))
    assert found == partition, (group, found)
    return int(error)


def _ask(port: int, request: tuple[int, int], body: bytes) -> bytes:
    """Return the body of the answer to a request of an (api_key, api_version)."""
    head = struct.pack(">hhih4s", *request, 1, 4, b"kcli")
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        (size,) = struct.unpack(">i", answers.read(4))
        return answers.read(size)[8:]
