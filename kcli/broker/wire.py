"""ListOffsets and Fetch over a connection of one's own: what librdkafka does not ask, or not without a group.

librdkafka refuses the special timestamps of tiered storage (-4, -5, -6), and its consumer looks for the
coordinator of a group: where `__consumer_offsets` does not exist, a broker would create it then.

A request is its size i32, then api_key i16, api_version i16, correlation_id i32, client_id string, then its
body; an answer is its size i32, correlation_id i32, then its body. Flexible versions have tagged fields.
ListOffsets is 8 to 11 here, Fetch 4, ApiVersions 0, SaslHandshake 1, SaslAuthenticate 0. The truth are the
schemas in `clients/src/main/resources/common/message`.
"""

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from kcli.broker.errors import ClusterError, error_name
from kcli.broker.settings import Security

FETCH, LIST_OFFSETS, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 1, 2, 17, 18, 36
FETCH_VERSION = 4
LIST_OFFSETS_VERSIONS = (8, 11)
TIMEOUT_SINCE = 10
"""The version of ListOffsets from which on it has a timeout."""

LARGEST_ANSWER = 64 * 1024 * 1024
FETCH_BYTES = 4 * 1024 * 1024
DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MOST_ITERATIONS = 1 << 20
"""Of SCRAM: a broker chooses how often a password is hashed; Kafka allows 16384."""

LISTED_SINCE = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
"""A special timestamp -> the version of ListOffsets from which on a broker answers it."""


class Listed(NamedTuple):
    """What ListOffsets answers for a partition; offset -1 and epoch -1 for none. `error`: Kafka's number."""

    error: int
    offset: int
    epoch: int
    timestamp: int


class Fetched(NamedTuple):
    """Whole batches from an offset on, and a last one that may be cut."""

    error: int
    high_watermark: int
    records: bytes


def is_supported(security: Security) -> bool:
    """Whether a connection of one's own can be made as safe as librdkafka's would be."""
    if "SASL" in security.protocol and security.mechanism not in {"PLAIN", *DIGESTS}:
        return False
    return "ssl.keystore.location" not in security.values and "ssl.cipher.suites" not in security.values


class Connection:
    """A connection to one broker; every step is bounded by `timeout` seconds, and raises ClusterError."""

    def __init__(self, host: str, port: int, security: Security, timeout: float) -> None:
        self._place = f"{host}:{port}"
        self._number = 0
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout)
        except (OSError, ValueError) as error:
            raise self._error(error) from error
        try:
            if security.protocol.endswith("SSL"):
                self._socket = _tls(security).wrap_socket(self._socket, server_hostname=host)
            if security.protocol.startswith("SASL"):
                self._log_in(security)
            self._versions = self._ask_versions()
        except (OSError, ValueError, struct.error) as error:
            self._socket.close()
            raise self._error(error) from error
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def list_offsets(
        self, timestamp: int, partitions: Iterable[tuple[str, int]]
    ) -> dict[tuple[str, int], Listed]:
        """Return what the broker answers for a special timestamp of partitions that it leads.

        Nothing where its version does not know the timestamp.
        """
        low, high = LIST_OFFSETS_VERSIONS
        version = min(high, self._versions.get(LIST_OFFSETS, (0, 0))[1])
        if version < max(low, LISTED_SINCE[timestamp]):
            return {}
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        body = struct.pack(">ib", -1, 0) + _uvarint(len(topics) + 1)
        for topic, numbers in topics.items():
            name = topic.encode()
            body += _uvarint(len(name) + 1) + name + _uvarint(len(numbers) + 1)
            body += b"".join(struct.pack(">iiqb", number, -1, timestamp, 0) for number in numbers) + b"\0"
        body += (struct.pack(">i", 10_000) if version >= TIMEOUT_SINCE else b"") + b"\0"
        answer = self._answer(LIST_OFFSETS, version, body, flexible=True)
        found: dict[tuple[str, int], Listed] = {}
        answer.take(">i")
        for _ in range(answer.uvarint() - 1):
            topic = answer.bytes(answer.uvarint() - 1).decode()
            for _ in range(answer.uvarint() - 1):
                partition, error, stamp, offset, epoch = answer.take(">ihqqi")
                answer.tags()
                found[topic, partition] = Listed(error, offset, epoch, stamp)
            answer.tags()
        return found

    def fetch(self, topic: str, partition: int, offset: int) -> Fetched:
        """Return batches of a partition that the broker leads, the first one with the offset in it."""
        name = topic.encode()
        body = struct.pack(">iiiib", -1, 500, 1, FETCH_BYTES, 0)
        body += struct.pack(f">ih{len(name)}siiqi", 1, len(name), name, 1, partition, offset, FETCH_BYTES)
        answer = self._answer(FETCH, FETCH_VERSION, body)
        answer.take(">ii")
        answer.bytes(answer.take(">h")[0])
        _, _, error, high_watermark, _, aborted = answer.take(">iihqqi")
        answer.bytes(16 * max(aborted, 0))
        return Fetched(error, high_watermark, answer.bytes(max(answer.take(">i")[0], 0)))

    def _ask_versions(self) -> Mapping[int, tuple[int, int]]:
        answer = self._answer(API_VERSIONS, 0, b"")
        error, count = answer.take(">hi")
        if error:
            raise ClusterError(f"{self._place}: ApiVersions: {error_name(error)}")
        keys = (answer.take(">hhh") for _ in range(count))
        return {key: (low, high) for key, low, high in keys}

    def _log_in(self, security: Security) -> None:
        mechanism = security.mechanism.encode()
        answer = self._answer(
            SASL_HANDSHAKE, 1, struct.pack(f">h{len(mechanism)}s", len(mechanism), mechanism)
        )
        if answer.take(">h")[0]:
            raise ClusterError(f"{self._place}: no SASL mechanism {security.mechanism}")
        name, password = security.username, security.password
        if security.mechanism == "PLAIN":
            self._authenticate(f"\0{name}\0{password}".encode())
            return
        digest, nonce = DIGESTS[security.mechanism], secrets.token_urlsafe(24)
        bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        first = self._authenticate(f"n,,{bare}".encode()).decode()
        values = dict(part.split("=", 1) for part in first.split(",") if "=" in part)
        rounds = int(values.get("i", "0"))
        if (
            not values.get("r", "").startswith(nonce)
            or not 0 < rounds <= MOST_ITERATIONS
            or "s" not in values
        ):
            raise ClusterError(f"{self._place}: not an answer of {security.mechanism}")
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(values["s"]), rounds)
        key = hmac.digest(salted, b"Client Key", digest)
        without_proof = f"c=biws,r={values['r']}"
        message = f"{bare},{first},{without_proof}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), message, digest)
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        self._authenticate(f"{without_proof},p={proof}".encode())

    def _authenticate(self, token: bytes) -> bytes:
        answer = self._answer(SASL_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
        error, length = answer.take(">hh")
        message = answer.bytes(max(length, 0)).decode(errors="replace")
        if error:
            raise ClusterError(f"{self._place}: {message or f'SASL error {error}'}")
        return answer.bytes(max(answer.take(">i")[0], 0))

    def _answer(self, key: int, version: int, body: bytes, *, flexible: bool = False) -> "_Answer":
        self._number += 1
        head = struct.pack(">hhih4s", key, version, self._number, 4, b"kcli") + (b"\0" if flexible else b"")
        try:
            self._socket.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
            (size,) = struct.unpack(">i", self._read(4))
            if not 4 <= size <= LARGEST_ANSWER:
                raise ClusterError(f"{self._place}: an answer of {size} bytes")
            answer = _Answer(self._read(size), self._place)
        except OSError as error:
            raise self._error(error) from error
        if answer.take(">i")[0] != self._number:
            raise ClusterError(f"{self._place}: not the answer to what was asked")
        if flexible:
            answer.tags()
        return answer

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise ClusterError(f"{self._place}: the broker closed the connection")
            parts += part
        return bytes(parts)

    def _error(self, error: Exception) -> ClusterError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return ClusterError(f"{self._place}: {(reason or type(error).__name__).lower()}")


class _Answer:
    """The bytes of an answer, read in order; one that ends too early raises ClusterError."""

    def __init__(self, data: bytes, place: str) -> None:
        self._data, self._place, self._position = data, place, 0

    def take(self, letters: str) -> tuple[Any, ...]:
        return struct.unpack(letters, self.bytes(struct.calcsize(letters)))

    def bytes(self, length: int) -> bytes:
        begin = self._position
        if length < 0 or begin + length > len(self._data):
            raise ClusterError(f"{self._place}: an answer that ends too early")
        self._position += length
        return self._data[begin : self._position]

    def uvarint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.bytes(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        return value

    def tags(self) -> None:
        for _ in range(self.uvarint()):
            self.uvarint()
            self.bytes(self.uvarint())


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _tls(security: Security) -> ssl.SSLContext:
    """Return what librdkafka's settings of TLS say; ValueError or OSError where they cannot be used."""
    values = security.values
    context = ssl.create_default_context(
        cafile=values.get("ssl.ca.location"), cadata=values.get("ssl.ca.pem")
    )
    if values.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if values.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = values.get("ssl.certificate.location"), values.get("ssl.key.location")
    password = values.get("ssl.key.password")
    if certificate is not None:
        context.load_cert_chain(certificate, key, password)
    elif "ssl.certificate.pem" in values:
        with tempfile.NamedTemporaryFile("w") as pem:  # the standard library reads certificates from files
            pem.write(f"{values['ssl.certificate.pem']}\n{values.get('ssl.key.pem', '')}\n")
            pem.flush()
            context.load_cert_chain(pem.name, password=password)
    return context
