"""The settings of a client, by a properties file as Kafka's own tools take it (`--command-config`).

Names are those of Java's clients, or of librdkafka where Java's are about key stores of Java. Settings that
are not about the connection are passed over: what kcli does with a cluster is not a matter of settings.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


class SettingError(Exception):
    """A setting of the client is not one that can be used; one line."""


class UnsafeSettingError(Exception):
    """A setting of the client would have it write, or run a program; one line."""


CONSUMER_SETTINGS: Mapping[str, object] = {
    "group.id": "kcli",  # librdkafka asks for one, and uses it to commit and to join: neither happens
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_uncommitted",
    "check.crcs": True,
}
"""Settings of the consumer, which no file changes."""

UNSAFE = {
    "transactional.id": "is for producers, and this reads only",
    "plugin.library.paths": "loads a library",
    "ssl.engine.location": "loads a library",
    "ssl.providers": "loads a library",
    "sasl.kerberos.kinit.cmd": "runs a program",
}
"""Settings that are refused, and why."""

SAME = frozenset(
    {
        *("security.protocol", "client.id", "client.dns.lookup", "broker.address.family"),
        *("socket.connection.setup.timeout.ms", "enable.ssl.certificate.verification"),
        *("sasl.mechanism", "sasl.username", "sasl.password"),
        *(f"sasl.kerberos.{name}" for name in ("service.name", "keytab", "principal")),
        *(f"sasl.oauthbearer.{name}" for name in ("method", "client.id", "client.secret", "scope")),
        *("sasl.oauthbearer.extensions", "sasl.oauthbearer.token.endpoint.url"),
        *(f"ssl.{name}.{form}" for name in ("ca", "certificate", "key") for form in ("location", "pem")),
        *("ssl.key.password", "ssl.cipher.suites"),
    }
)
"""Settings that librdkafka takes under the same name."""

RENAMED = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
STORES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ssl.truststore": {"PEM": ("ssl.ca.location",)},
    "ssl.keystore": {
        "PEM": ("ssl.certificate.location", "ssl.key.location"),
        "PKCS12": ("ssl.keystore.location",),
    },
}
"""A store of Java's -> the types of it that librdkafka reads, and the settings that name such a file."""
JAVA_STORE = "JKS"  # the type of a store that names none

LOGIN_MODULES = ("PlainLoginModule", "ScramLoginModule")


class ClientSettings(NamedTuple):
    """librdkafka's settings: `connection` for every client, `consumer` for a consumer besides them."""

    servers: str
    connection: Mapping[str, object]
    consumer: Mapping[str, object] = CONSUMER_SETTINGS


def client_settings(servers: str, properties: Mapping[str, str]) -> ClientSettings:
    """Return the settings for a cluster; SettingError or UnsafeSettingError for those of no use."""
    for name, reason in UNSAFE.items():
        if name in properties:
            raise UnsafeSettingError(f"{name}: {reason}")
    values = {name: value for name, value in properties.items() if name in SAME}
    values |= {RENAMED[name]: value for name, value in properties.items() if name in RENAMED}
    for store, readable in STORES.items():
        values |= _store(store, readable, properties)
    if properties.get("ssl.endpoint.identification.algorithm") == "":
        values["ssl.endpoint.identification.algorithm"] = "none"
    jaas = properties.get("sasl.jaas.config")
    if jaas is not None and not values.keys() & {"sasl.username", "sasl.password"}:
        values |= _login(jaas)
    for name, value in values.items():
        if "\0" in value:
            raise SettingError(f"{name}: expected no zero byte")
    fixed_settings = {"bootstrap.servers": servers, "log_level": 0}
    return ClientSettings(servers, {"client.id": "kcli", **values, **fixed_settings})


def _store(
    store: str, readable: Mapping[str, tuple[str, ...]], properties: Mapping[str, str]
) -> dict[str, str]:
    location = properties.get(f"{store}.location")
    if location is None:
        return {}
    kind = properties.get(f"{store}.type", JAVA_STORE).upper()
    if kind not in readable:
        names = " or ".join(readable)
        pem_setting = readable["PEM"][0]
        raise SettingError(
            f"{store}.location: expected a store of type {names}, found {kind}; or use {pem_setting}"
        )
    values = dict.fromkeys(readable[kind], location)
    if kind == "PKCS12":
        values["ssl.keystore.password"] = properties.get("ssl.keystore.password", "")
    return values


def _login(jaas: str) -> dict[str, str]:
    """Return name and password of a JAAS configuration, `MODULE required username="U" password="P";`."""
    module = jaas.split(None, 1)[0].rsplit(".", 1)[-1] if jaas.strip() else ""
    if module not in LOGIN_MODULES:
        raise SettingError(
            f"sasl.jaas.config: expected {' or '.join(LOGIN_MODULES)}, found {module or 'nothing'}"
        )
    login = {
        name: re.sub(r"\\(.)", r"\1", value)
        for name, value in re.findall(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"', jaas)
    }
    if len(login) < 2:
        raise SettingError('sasl.jaas.config: expected username="..." and password="..."')
    return {f"sasl.{name}": value for name, value in login.items()}
