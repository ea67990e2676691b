"""`--jobs N`: stdout has the bytes of one process, whatever stdout is and becomes of the workers."""

import os
import resource
import signal
import subprocess
import time

import pytest

from tests.partitions import log_dir, put_log
from tests.processes import ENVIRONMENT, KCLI, children_of, processes, workers_of

pytestmark = pytest.mark.slow

FORMATS = [
    ("text",),
    ("ndjson",),
    ("json",),
    ("csv", "--only", "dump_record"),
    ("tsv", "--only", "dump_record", "--columns", "offset,value"),
]
DAMAGED = (3, 700)
WAIT_SECONDS = 120
"""Two workers that do not end are waited for, a second each."""


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Several logs, one of them read in pieces, with damage; all in one log dir."""
    home = log_dir(tmp_path_factory.mktemp("jobs") / "data")
    put_log(home / "orders-0", damaged=DAMAGED)
    for number in range(1, 4):
        put_log(home / f"orders-{number}", 40)
    return home


def words(path, jobs, output="text", *more):
    return [*KCLI, "dump", "--records", "-o", output, *more, "--jobs", str(jobs), path]


def run(source, path, jobs, *output, mode="wb", **extra):
    """Dump with a file as stdout; returns the status and what stderr says."""
    with open(path, mode) as file:
        done = subprocess.run(
            words(source, jobs, *output),
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
            env=ENVIRONMENT,
            **extra,
        )
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def alone(big, tmp_path_factory):
    """What one process writes, by format."""
    answer = {}
    for output in FORMATS:
        path = tmp_path_factory.mktemp("alone") / "out"
        answer[output] = *run(big, path, 1, *output), path.read_bytes()
    return answer


@pytest.mark.parametrize("mode", ["wb", "ab"])
@pytest.mark.parametrize("output", FORMATS, ids=lambda output: output[0])
def test_a_file_has_the_same_bytes_with_jobs(big, alone, tmp_path, output, mode):
    status, error, written = alone[output]
    path = tmp_path / "out"
    path.write_bytes(b"before\n")

    assert len(written) > 1 << 19
    assert run(big, path, 2, *output, mode=mode) == (status, error)
    assert path.read_bytes() == (b"before\n" if mode == "ab" else b"") + written


@pytest.mark.parametrize("output", FORMATS, ids=lambda output: output[0])
def test_a_pipe_has_the_same_bytes_with_jobs(big, alone, output):
    done = subprocess.run(words(big, 2, *output), capture_output=True, check=False, env=ENVIRONMENT)

    assert (done.returncode, done.stderr, done.stdout) == alone[output]


def test_what_others_write_to_the_file_before_and_after_stays(big, alone, tmp_path):
    shell = f'(echo before; {" ".join(map(str, words(big, 2)))} 2>/dev/null; echo after) > "{tmp_path}/out"'
    subprocess.run(shell, shell=True, check=True, env=ENVIRONMENT)

    assert (tmp_path / "out").read_bytes() == b"before\n" + alone["text",][2] + b"after\n"


def test_messages_have_the_same_places_where_both_streams_are_one_file(big, tmp_path):
    answer = []
    for jobs in (1, 2):
        subprocess.run(
            f"{' '.join(map(str, words(big, jobs)))} > '{tmp_path}/out' 2>&1",
            shell=True,
            check=False,
            env=ENVIRONMENT,
        )
        answer.append((tmp_path / "out").read_bytes())

    assert answer[0] == answer[1]


@pytest.mark.parametrize(
    ("jobs", "size", "message"),
    [
        (1, 1_000_000, b"kcli: cannot write output: file too large\n"),
        (2, 0, b"error --jobs cannot work here, use --jobs 1 (File too large)\n"),
    ],
    ids=["inline", "workers"],
)
def test_a_file_that_may_not_grow_ends_with_4_and_a_message(big, tmp_path, jobs, size, message):
    status, error = run(
        big,
        tmp_path / "out",
        jobs,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
    )

    assert (status, error) == (4, message)
    assert (tmp_path / "out").stat().st_size == size


@pytest.mark.parametrize("what", [signal.SIGSTOP, signal.SIGKILL])
def test_a_signal_ends_the_command_though_workers_are_stopped_or_dead(tmp_path, what):
    home = put_log(log_dir(tmp_path / "data") / "orders-0", 40_000)
    (home / f"{0:020}.index").unlink()
    with open(tmp_path / "out", "wb") as file:
        process = subprocess.Popen(
            words(home, 2, "ndjson"), stdout=file, stderr=subprocess.PIPE, env=ENVIRONMENT
        )
        end = time.monotonic() + WAIT_SECONDS
        while (tmp_path / "out").stat().st_size < 50_000_000 and time.monotonic() < end:
            time.sleep(0.001)
        for worker in workers_of(process.pid):
            os.kill(worker, what)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_SECONDS)

    assert process.returncode == 143


def will_be_gone(process):
    end = time.monotonic() + WAIT_SECONDS
    while process in processes() and time.monotonic() < end:
        time.sleep(0.01)
    return process not in processes()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_and_no_file_outlives_the_command(big, number, short_directory):
    environment = {**ENVIRONMENT, "TMPDIR": short_directory}
    process = subprocess.Popen(words(big, 2), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    os.read(process.stdout.fileno(), 10)  # the rest waits to be read
    children = children_of(process.pid)
    family = [*children, *workers_of(process.pid)]
    assert len(family) >= 4  # the fork server, the resource tracker, two workers
    process.send_signal(number)
    if number == signal.SIGKILL:
        process.wait(WAIT_SECONDS)
    process.communicate(timeout=WAIT_SECONDS)

    assert all(map(will_be_gone, family))
    assert os.listdir(short_directory) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_helpers_that_are_killed_change_no_answer(big, alone, number):
    """Python itself says on stderr that its resource tracker was killed."""
    process = subprocess.Popen(words(big, 2), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    begun = os.read(process.stdout.fileno(), 10)  # the rest waits to be read
    for child in sorted(children_of(process.pid)):
        os.kill(child, number)  # the resource tracker, then the fork server
        time.sleep(0.1)
    out, error = process.communicate(timeout=WAIT_SECONDS)
    status, expected_error, expected_out = alone["text",]

    assert (process.returncode, begun + out) == (status, expected_out)
    assert error.endswith(expected_error) if number == signal.SIGKILL else error == expected_error
