"""Commands over Spark when things go wrong or grow large: the same answer, or why there is none."""

import os
import pty
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from kcli.cli import inputs
from kcli.jobs.log_pass import log_ranges
from tests.out_rows import without_head
from tests.partitions import log_dir, put_log
from tests.processes import ENVIRONMENT, KCLI, is_gone, of_session, processes

pytestmark = pytest.mark.slow

WAIT_SECONDS = 120


@pytest.fixture
def big(tmp_path):
    return put_log(log_dir(tmp_path / "data") / "orders-0").parent


def workers_below(top):
    """Return the Python workers of the Spark that a process has started."""
    all_of_them = processes()

    def is_below(pid):
        while pid in all_of_them and pid != top:
            pid = all_of_them[pid][0]
        return pid == top

    daemons = {
        pid for pid, (_, _, words) in all_of_them.items() if "pyspark.daemon" in words and is_below(pid)
    }
    return [pid for pid in daemons if all_of_them[pid][0] in daemons]


@pytest.mark.parametrize(
    "way",
    [
        (),
        ("--jobs", "2"),
        ("--spark", "--out", "x.csv"),
        ("--spark", "--limit", "3"),
        ("--spark", "--offsets", "3"),
    ],
)
def test_a_large_result_is_refused_only_where_all_of_it_would_come_here(
    kcli, big, monkeypatch, tmp_path, way
):
    monkeypatch.setattr(inputs, "LARGEST_COLLECTED", 1 << 20)
    monkeypatch.setattr("kcli.engine.spark_session.NEEDED", ("pyspark_of_another_world",))
    monkeypatch.chdir(tmp_path)
    refused = kcli("dump", big, "--only", "dump_batch", "-o", "ndjson", "--spark")
    output = "csv" if "--out" in way else "ndjson"
    other = kcli("dump", big, "--only", "dump_batch", "-o", output, *way)

    assert (refused.exit_code, refused.stdout) == (5, "")
    assert refused.stderr.startswith(
        "kcli: 0.0 GiB to dump, and with --spark every row would pass through this one process"
    )
    assert "--out DIR.parquet" in refused.stderr
    assert (other.exit_code, "pyspark_of_another_world" in other.stderr) == (
        (4, True) if "--spark" in way else (0, False)
    )


@pytest.mark.spark
@pytest.mark.filterwarnings("default")
class TestInOneSession:
    @pytest.fixture
    def reaper(self, session):
        """Kill every Python worker once two jobs run."""
        killed = []

        def reap():
            end = time.monotonic() + WAIT_SECONDS
            while not killed and time.monotonic() < end:
                workers = (
                    workers_below(os.getpid())
                    if len(session.sparkContext.statusTracker().getActiveJobsIds()) > 1
                    else []
                )
                for worker in workers:
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                time.sleep(0.01)

        thread = threading.Thread(target=reap)
        thread.start()
        yield killed
        thread.join()

    def test_killed_workers_change_no_byte(self, kcli, big, reaper):
        ask = ("dump", big / "orders-0" / f"{0:020}.log", "-o", "text", "--print-data-log")
        spread = kcli(*ask, "--spark")

        assert reaper
        assert (spread.exit_code, spread.stderr) == (0, "")
        assert spread.stdout_bytes == kcli(*ask).stdout_bytes

    def test_killed_workers_leave_no_row_out_and_write_none_twice(
        self, kcli, big, reaper, monkeypatch, tmp_path
    ):
        import pyarrow.parquet as pq

        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(log_ranges, "WRITTEN_RANGE", 1 << 19)
        ask = ("dump", big, "--records", "--only", "dump_record")
        spread = kcli(*ask, "--spark", "--out", "spread.parquet")
        kcli(*ask, "--out", "one.parquet")
        parts = sorted(Path("spread.parquet").glob("part-*"))

        assert reaper
        assert (spread.exit_code, spread.stderr) == (0, "")
        assert len(parts) > 8
        assert [
            row for part in parts for row in pq.ParquetFile(part).read(["offset", "value"]).to_pylist()
        ] == pq.ParquetFile("one.parquet").read(["offset", "value"]).to_pylist()

    @pytest.mark.parametrize("damaged", [(), (70,), (71, 72, 140), range(60, 160)])
    def test_pieces_that_a_log_does_not_come_in_are_not_among_the_parts(
        self, session, kcli, tmp_path, monkeypatch, damaged
    ):
        put_log(log_dir(tmp_path / "data") / "orders-0", 200, damaged)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(log_ranges, "WRITTEN_RANGE", 1 << 17)
        ask = ("dump", "data", "--only", "dump_batch")
        spread = kcli(*ask, "--spark", "--out", "x.ndjson")
        inline = kcli(*ask, "-o", "ndjson")

        parts = sorted(Path("x.ndjson").glob("part-*"))
        assert len(parts) > 1
        assert "".join(without_head(part.read_text()) for part in parts) == inline.stdout
        assert (spread.stderr, spread.exit_code) == (inline.stderr, inline.exit_code)


@pytest.mark.spark
class TestEnds:
    @pytest.fixture
    def started(self, tmp_path):
        """Return a long dump over Spark that has begun to print, and its terminal; it is ended afterwards."""
        first = put_log(log_dir(tmp_path / "data") / "orders-0", 600)
        for number in range(1, 150):
            os.symlink(first, tmp_path / "data" / f"orders-{number}")
        ask = ("dump", tmp_path / "data", "--records", "-o", "ndjson", "--spark-master", "local[2]")
        terminal, stderr = pty.openpty()
        environment = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "200"}
        process = subprocess.Popen(
            [*KCLI, *map(str, ask)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            cwd=tmp_path,
            env=environment,
        )
        os.close(stderr)
        seen = bytearray()
        reader = threading.Thread(target=drain, args=(terminal, seen))
        reader.start()
        assert os.read(process.stdout.fileno(), 10)

        def ended():
            rest = process.communicate(timeout=WAIT_SECONDS)[0]
            reader.join()
            os.close(terminal)
            return rest, seen.decode()

        yield process, ended
        process.kill()

    def test_a_spark_that_ends_is_an_error(self, started):
        process, ended = started
        java = [pid for pid, words in of_session(process.pid).items() if "java" in words.partition(" ")[0]]
        os.kill(java[0], signal.SIGKILL)
        rest, seen = ended()

        assert process.returncode == 4
        assert rest.endswith(b"\n")
        assert b"Spark has gone away" in rest[-600:]
        assert "0 of 452 " in seen
        assert seen.count("Spark has gone away") == 1
        assert "Traceback" not in seen
        assert is_gone(process.pid)


def drain(terminal, seen):
    try:
        while data := os.read(terminal, 65536):
            seen += data
    except OSError:  # Linux says EIO when the last writer has gone
        return
