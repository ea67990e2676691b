"""`rlmm bootstrap` where there is no cluster to ask."""

import json
import socket
import sys
from contextlib import closing

import pytest

from tests.processes import free_base_port


@pytest.fixture
def closed():
    return f"127.0.0.1:{free_base_port() + 1}"


@pytest.mark.slow
def test_a_cluster_that_cannot_be_reached(kcli, closed):
    done = kcli("rlmm", "bootstrap", "--bootstrap-server", closed)
    assert done.exit_code == 4
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert f"--bootstrap-server {closed}: " in done.stderr
    assert "Connection refused" in done.stderr
    document = json.loads(kcli("rlmm", "bootstrap", "--bootstrap-server", closed, "-o", "json").stdout)
    assert (document["rows"], document["errors"][0]["error"]) == ([], "environment")


@pytest.mark.slow
def test_a_server_that_never_answers_is_waited_for_as_long_as_asked(kcli):
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        done = kcli("rlmm", "bootstrap", "--bootstrap-server", server, "--timeout", "1s")
    assert done.exit_code == 4
    assert len(done.stderr.splitlines()) == 1


def test_without_the_library_one_line_names_the_extra(kcli, closed, monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    done = kcli("rlmm", "bootstrap", "--bootstrap-server", closed)
    assert done.exit_code == 4
    assert done.stderr.count("\n") == 1
    assert "pip install 'kcli-for-kafka[cluster]'" in done.stderr


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("transactional.id=x", 5, "transactional.id: is for producers"),
        ("plugin.library.paths=x", 5, "plugin.library.paths: loads a library"),
        ("security.protocol=nothing", 2, "security.protocol"),
        ("security.protocol=ssl\nssl.ca.location=/no/such", 2, "ssl.ca.location"),
    ],
)
def test_settings_that_cannot_be_used(kcli, closed, tmp_path, text, status, message):
    config = tmp_path / "client.properties"
    config.write_text(text)
    done = kcli("rlmm", "bootstrap", "--bootstrap-server", closed, "--command-config", config)
    assert (done.exit_code, done.stdout) == (status, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
