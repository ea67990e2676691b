"""Answers that no broker gives, or that end too early: one error, in bounded time and memory."""

import socket
import struct
import threading
from contextlib import closing, contextmanager

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from kcli.broker.errors import NAMES, ClusterError, error_name
from kcli.broker.settings import client_settings
from kcli.broker.wire import Connection

VERSIONS = struct.pack(">ihihhh", 1, 0, 1, 2, 0, 11)


@contextmanager
def answering(*answers):
    """Listen on a port; give one connection these bytes, each after a request, and close it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                for answer in answers:
                    connection.recv(1 << 16)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)


def framed(body):
    return struct.pack(">i", len(body)) + body


def connect(port, **properties):
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return Connection("127.0.0.1", port, client_settings("x", named).security, 1)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\x00",
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 100) + b"short",
        framed(struct.pack(">i", 7)),
        framed(struct.pack(">ihi", 1, 0, 2**31 - 1)),
        framed(struct.pack(">ihi", 1, 35, 0)),
    ],
)
def test_a_first_answer_that_is_none(answer):
    with answering(answer) as port, pytest.raises(ClusterError):
        connect(port)


@given(body=st.binary(max_size=60))
def test_any_bytes_as_the_answer_to_list_offsets(body):
    with (
        answering(framed(VERSIONS), framed(struct.pack(">i", 2) + body)) as port,
        connect(port) as connection,
    ):
        try:
            found = connection.list_offsets(-4, [("t", 0)])
        except ClusterError:
            return
        assert len(found) <= len(body)


@given(body=st.binary(max_size=60))
def test_any_bytes_as_the_answer_to_fetch(body):
    with (
        answering(framed(VERSIONS), framed(struct.pack(">i", 2) + body)) as port,
        connect(port) as connection,
    ):
        try:
            assert len(connection.fetch("t", 0, 0).records) <= len(body)
        except ClusterError:
            return


def test_a_broker_that_says_nothing_is_not_waited_for():
    with answering() as port, pytest.raises(ClusterError):
        connect(port)


@pytest.mark.parametrize(
    "first", [b"", b"r=x,s=AA==,i=1", b"r=NONCE,s=AA==,i=999999999", b"r=NONCE,s=!,i=1", b"\xff"]
)
def test_an_answer_that_is_not_of_scram(first):
    words = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256", "sasl_username": "a"}
    hello = framed(struct.pack(">ihi", 1, 0, 0))
    token = framed(struct.pack(">ihhi", 2, 0, -1, len(first)) + first)
    with answering(hello, token) as port, pytest.raises(ClusterError):
        connect(port, **words)


def test_a_broker_before_tiered_storage_is_not_asked():
    with answering(framed(struct.pack(">ihihhh", 1, 0, 1, 2, 0, 7))) as port, connect(port) as connection:
        assert connection.list_offsets(-4, [("t", 0)]) == {}


def test_errors_have_the_names_of_kafka():
    """librdkafka is the judge; three errors have an older name there, or a shorter one."""
    others = {-1: "UNKNOWN", 3: "UNKNOWN_TOPIC_OR_PART", 6: "NOT_LEADER_FOR_PARTITION"}
    others |= {2: "INVALID_MSG", 43: "UNSUPPORTED_FOR_MESSAGE_FORMAT"}
    for number, name in NAMES.items():
        assert KafkaError(number).name().lstrip("_") == others.get(number, name), number
    assert error_name(29) == "TOPIC_AUTHORIZATION_FAILED"
    assert error_name(999) == "error 999"
