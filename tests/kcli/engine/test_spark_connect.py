"""Spark Connect: a real server, from the same pyspark; and none at all."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import KCLI, free_base_port, run_program

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[3]
SECONDS = 300
STARTED = "Spark Connect server started"
VIEWS = """
import sys
from pyspark.sql import SparkSession
from kcli.views import register
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
register(spark)
for view in ("batches", "records", "segments", "epochs", "rlmm", "offsets", "findings"):
    found = spark.read.format("kcli").option("view", view).load(sys.argv[2])
    print(view, found.count(), found.filter("topic = 'orders'").count() if view == "batches" else "")
spark.stop()
"""


@pytest.fixture(scope="module")
def environment():
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@pytest.fixture(scope="module")
def server(environment, tmp_path_factory):
    import pyspark

    port = free_base_port() + 1
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    submit = [Path(pyspark.__file__).parent / "bin" / "spark-submit", "--master", "local[2]"]
    submit += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    submit += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    folder = tmp_path_factory.mktemp("server")
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(
            [*submit, "spark-internal"], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + SECONDS
        while not (STARTED in (folder / "log").read_text() and answers(port)):  # another's server may answer
            assert running.poll() is None and time.monotonic() < until, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait()


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    "words", [("check", "-o", "json"), ("dump", "--records", "-o", "ndjson", "--key", "key-731")]
)
def test_a_command_says_the_same_over_a_server(server, environment, demo, words):
    local = run_program([*KCLI, *words, demo], env=environment, check=True)
    remote = run_program([*KCLI, *words, demo, "--spark-remote", server], env=environment)
    assert (remote.stdout, remote.stderr, remote.returncode) == (local.stdout, local.stderr, 0)
    assert local.stdout


def test_every_view_over_a_server(server, environment, demo):
    done = run_program([sys.executable, "-c", VIEWS, server, demo], env=environment, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    counts = {line.split()[0]: [int(word) for word in line.split()[1:]] for line in done.stdout.splitlines()}
    for view, command in (("segments", "scan"), ("offsets", "ls")):
        ask = [*KCLI, command, demo, "-o", "csv", "--no-headers"]
        reported = run_program(ask, env=environment, check=True).stdout.splitlines()
        assert counts[view][0] == len(reported) > 0
    total, of_topic = counts["batches"]
    assert total > of_topic > 0
    assert min(counts[view][0] for view in ("records", "epochs", "rlmm")) > 0
    assert set(counts) == {"batches", "records", "segments", "epochs", "rlmm", "offsets", "findings"}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_wait_for_a_server_that_is_not_there(environment, demo, number, status):
    with socket.create_server(("127.0.0.1", 0)) as server:
        remote = f"sc://127.0.0.1:{server.getsockname()[1]}"
        asking = subprocess.Popen(
            [*KCLI, "ls", demo, "-o", "json", "--spark-remote", remote],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        server.accept()[0].close()  # it has begun to ask
    asking.send_signal(number)
    reported, _ = asking.communicate(timeout=SECONDS)
    assert asking.returncode == status
    assert '"error": "interrupted"' in reported


def test_a_server_that_is_not_there_is_reported(environment, demo):
    command = [*KCLI, "ls", demo, "--spark-remote", f"sc://127.0.0.1:{free_base_port() + 1}"]
    done = run_program(command, env=environment, timeout=SECONDS)
    assert (done.returncode, "no Spark Connect server answers" in done.stderr) == (4, True)
