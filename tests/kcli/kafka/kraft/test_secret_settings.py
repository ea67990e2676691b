"""Which settings no broker answers to DescribeConfigs."""

import pytest

from kcli.kafka.kraft.secret_settings import HIDDEN, is_secret, without_secrets

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32


@pytest.mark.parametrize(
    "name",
    [
        "custom.secret.thing",
        "metrics.basic.auth",
        "my.plugin.credential",
        "ssl.key.password",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config",
        "listener.name.external.ssl.keystore.password",
        "listener.name.external.my.credential",
    ],
)
def test_passwords_and_unknown_names_of_brokers_are_secret(name):
    assert is_secret(BROKER, name)


@pytest.mark.parametrize(
    "name",
    [
        "log.retention.ms",
        "cordoned.log.dirs",
        "ssl.keystore.location",
        "listener.name.external.ssl.keystore.location",
        "listener.name.external.plain.sasl.server.callback.handler.class",
        "listener.name.external.oauthbearer.connections.max.reauth.ms",
    ],
)
def test_what_a_broker_knows_is_not(name):
    assert not is_secret(BROKER, name)


def test_each_type_has_names_of_its_own():
    settings = {"retention.ms": "1", "share.isolation.level": "2", "credential": "3"}
    assert without_secrets(TOPIC, settings) == {**dict.fromkeys(settings, HIDDEN), "retention.ms": "1"}
    hidden = without_secrets(GROUP, settings)
    assert hidden == {**dict.fromkeys(settings, HIDDEN), "share.isolation.level": "2"}
    assert without_secrets(CLIENT_METRICS, settings) == settings
    assert set(without_secrets(99, settings).values()) == {HIDDEN}
