"""Properties of Kafka's clients as settings of librdkafka."""

import pytest

from formats.properties import read_properties
from kcli.broker.settings import CONSUMER_SETTINGS, UNSAFE, SettingError, UnsafeSettingError, client_settings

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def client(text):
    settings = client_settings("one:9092,two:9093", read_properties(text.encode()))
    assert settings.consumer is CONSUMER_SETTINGS
    return {name: value for name, value in settings.connection.items() if name != "log_level"}


def test_no_file_means_plaintext():
    settings = client_settings("one:9092", {})
    assert settings.connection == {"bootstrap.servers": "one:9092", "client.id": "kcli", "log_level": 0}


def test_what_would_write_has_no_effect():
    never = ("enable.auto.commit", "allow.auto.create.topics")
    found = client(
        "".join(f"{name}=true\n" for name in never) + "group.id=g\nbootstrap.servers=x:1\nacks=all"
    )
    assert found == {"bootstrap.servers": "one:9092,two:9093", "client.id": "kcli"}
    assert [CONSUMER_SETTINGS[name] for name in never] == [False, False]


@pytest.mark.parametrize("name", sorted(UNSAFE))
def test_what_would_write_or_run_a_program_is_refused(name):
    with pytest.raises(UnsafeSettingError, match=f"^{name}: "):
        client(f"{name}=anything")


def test_a_login_of_java_becomes_a_name_and_a_password():
    found = client(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={SCRAM} required \\\n  username="a" password="b\\\\"c";\n'
        "ssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\nssl.endpoint.identification.algorithm=\n"
    )
    assert {name: found[name] for name in found.keys() - {"bootstrap.servers", "client.id"}} == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "a",
        "sasl.password": 'b"c',
        "ssl.ca.location": "/ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_stores_that_the_library_reads():
    pem = client("ssl.keystore.type=PEM\nssl.keystore.location=/both.pem\nssl.key.password=x")
    assert (pem["ssl.certificate.location"], pem["ssl.key.location"]) == ("/both.pem", "/both.pem")
    pkcs12 = client("ssl.keystore.type=PKCS12\nssl.keystore.location=/k.p12\nssl.keystore.password=x")
    assert (pkcs12["ssl.keystore.location"], pkcs12["ssl.keystore.password"]) == ("/k.p12", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ssl.truststore.location=/t.jks", "truststore.location: expected a store of type PEM, found JKS"),
        (
            "ssl.keystore.location=/t.jks",
            "keystore.location: expected a store of type PEM or PKCS12, found JKS",
        ),
        ("sasl.jaas.config=", "expected PlainLoginModule or ScramLoginModule, found nothing"),
        ("sasl.jaas.config=a.b.Krb5LoginModule required;", "found Krb5LoginModule"),
        (f'sasl.jaas.config={SCRAM} required username="a";', "expected username"),
    ],
)
def test_what_cannot_be_used_is_said(text, message):
    with pytest.raises(SettingError, match=message):
        client(text)
