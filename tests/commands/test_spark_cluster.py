"""The worked example of the manual for hundreds of hosts, on a standalone cluster of one small worker."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.manual import page
from tests.processes import ENVIRONMENT, run_program

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JAVA = ("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp")
LOOPBACK = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
CONF = {
    "spark.cores.max": "1",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
COMMAND = """
import shlex, sys
from typer.testing import CliRunner
from commands.app import app
done = CliRunner().invoke(app, shlex.split(sys.argv[1])[1:])
assert done.exit_code == 0, done.output
spark.stop()
"""


@contextmanager
def daemon(home, name, words, says):
    """Run a daemon of Spark; give what it says of itself in its first lines."""
    main = f"org.apache.spark.deploy.{name.lower()}.{name}"
    of_scripts = {"SPARK_HOME": home, "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1"}
    line, environment = [*JAVA, f"{home}/jars/*", main, *LOOPBACK, *words], {**os.environ, **of_scripts}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            found = next(match for line in process.stderr if (match := re.search(says, line)))
            yield found[0]
        finally:
            process.terminate()
            process.communicate()


@pytest.fixture
def cluster(tmp_path):
    """The URL of the master of a cluster with one worker of one core."""
    import pyspark

    home = str(Path(pyspark.__file__).parent)
    work = ("--cores", "1", "--memory", "512m", "--work-dir", str(tmp_path / "work"))
    with (
        daemon(home, "Master", (), r"spark://127\.0\.0\.1:[0-9]+") as url,
        daemon(home, "Worker", (*work, url), "Successfully registered with master"),
    ):
        yield url


def test_the_example_of_the_manual_runs_on_a_cluster(kcli, demo, cluster, tmp_path):
    def adapted(text):
        return text.replace("spark://head:7077", cluster).replace("/shared/", f"{tmp_path}/")

    text = page("spark").partition("## Hundreds of hosts")[2]
    check, *_ = re.findall(r"^kcli check .*", text, re.MULTILINE)
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "tars").mkdir()
    for host in ("b1", "b2"):
        data = tmp_path / "volumes" / host / "data"
        shutil.copytree(demo / "orders-0", data / "orders-0")
        shutil.copy(demo / "meta.properties", data)
        out = ("-o", "parquet", "--out", f"{tmp_path}/night/ls-{host}-2026-01-31/", "--label", f"rack={host}")
        assert kcli("ls", data, *out).exit_code == 0
        with tarfile.open(tmp_path / "tars" / f"{host}.tar.gz", "w:gz") as tar:
            tar.add(data, "data")
    submit = " ".join(f"--conf {key}={value}" for key, value in CONF.items())
    done = run_program(
        [sys.executable, "-c", adapted(program) + COMMAND, adapted(check)],
        env={
            **ENVIRONMENT,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": f"{submit} pyspark-shell",
        },
    )

    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
    log_bytes = sum(file.stat().st_size for file in (demo / "orders-0").glob("*.log"))
    assert sorted(row[1] for row in rows if row and row[0] == os.uname().nodename) == ["b1", "b2"]
    assert ["orders", str(2 * log_bytes)] in rows
    record = json.loads((tmp_path / "runs/2026-01-31/run.json").read_text())
    assert (record["command"], record["answered"], record["verdict"]) == ("check", 2, "clean")
