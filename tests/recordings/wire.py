"""The one request that clients do not offer: OffsetForLeaderEpoch, version 3, over a socket.

Request, after the int32 size: api_key i16 = 23, api_version i16, correlation_id i32, client_id string;
replica_id i32 (-1: a consumer), then arrays of topics and of partitions: partition i32,
current_leader_epoch i32 (-1: any), leader_epoch i32. A string has an i16, an array an i32 in front.
Answer: correlation_id i32, throttle_time_ms i32, then the same arrays of
error_code i16, partition i32, leader_epoch i32, end_offset i64.
"""

import socket
import struct

API_KEY, VERSION = 23, 3


def offset_for_leader_epoch(port: int, topic: str, partition: int, epoch: int) -> tuple[int, int]:
    """Return (leader_epoch, end_offset) as the broker on this port answers for one partition and requested epoch."""
    name = topic.encode()
    body = struct.pack(
        f">hhih4siih{len(name)}siiii",
        API_KEY,
        VERSION,
        1,
        4,
        b"kcli",
        -1,
        1,
        len(name),
        name,
        1,
        partition,
        -1,
        epoch,
    )
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", answers.read(4))
        answer = answers.read(size)
    after_name = struct.calcsize(f">iiih{len(name)}si")
    error, found, leader_epoch, end_offset = struct.unpack_from(">hiiq", answer, after_name)
    assert (error, found) == (0, partition), (topic, partition, epoch, error)
    return leader_epoch, end_offset
