"""The process that workers are forked from, and how each of them ends."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kcli.engine import nursery

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SECONDS = 20

OWNER = """
import time
from kcli.engine import nursery
from tests.kcli.engine.test_nursery import backwards, life_of_work, numbers
nursery.prepare(["json"])
print(*numbers(nursery.start(life_of_work, backwards)), flush=True)
time.sleep(60)
"""


def introduced(pipe):
    pipe.send_bytes(f"{os.getpid()} {os.getppid()}".encode())


def life_of_waiting(pipe):
    introduced(pipe)
    pipe.send_bytes(pipe.recv_bytes())


def life_of_work(pipe):
    introduced(pipe)
    while True:
        pass


def life_in_ruins(pipe):
    raise ValueError("ruins")


def backwards(word):
    return word[::-1]


def numbers(worker):
    """Return the process numbers of a worker and of its nursery."""
    return [int(number) for number in worker.pipe.recv_bytes().split()]


def is_gone(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def will_be_gone(process):
    end = time.monotonic() + SECONDS
    while not is_gone(process) and time.monotonic() < end:
        time.sleep(0.01)
    return is_gone(process)


@pytest.mark.parametrize("life", [life_of_waiting, life_of_work])
def test_a_worker_is_gone_once_it_has_been_ended(life):
    worker = nursery.start(life, backwards)
    process, _ = numbers(worker)
    assert not is_gone(process)
    begun = time.monotonic()
    nursery.end(worker)

    assert time.monotonic() - begun < nursery.SECONDS_TO_END  # its leash told
    assert will_be_gone(process)


def test_workers_of_a_nursery_that_dies_go_on_and_others_come_from_another():
    first = nursery.start(life_of_waiting, backwards)
    process, parent = numbers(first)
    os.kill(parent, signal.SIGKILL)
    assert will_be_gone(parent)
    second = nursery.start(life_of_waiting, backwards)
    first.pipe.send_bytes(b"still here")

    assert first.pipe.recv_bytes() == b"still here"
    assert numbers(second)[1] not in {parent, os.getpid()}
    assert will_be_gone(process)
    for worker in (first, second):
        nursery.end(worker)


def test_what_a_worker_has_to_say_ends_where_it_dies():
    worker = nursery.start(life_in_ruins, backwards)

    with pytest.raises(EOFError):
        worker.pipe.recv_bytes()
    nursery.end(worker)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_its_owner(number):
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as owner:
        worker, parent = map(int, owner.stdout.readline().split())
        is_forked = (
            Path(f"/proc/{parent}/cmdline").read_bytes() == Path(f"/proc/{owner.pid}/cmdline").read_bytes()
        )
        os.kill(owner.pid, number)

        assert is_forked
        assert will_be_gone(worker)
        assert will_be_gone(parent)


def life_in_one_call(pipe):
    introduced(pipe)
    re.match(r"(a+)+$", "a" * 40 + "!")


BUSY = OWNER.replace("life_of_work", "life_in_one_call")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(("owner", "stopped"), [(BUSY, False), (OWNER, True)])
def test_nor_does_one_that_is_too_busy_to_notice_or_stopped(number, owner, stopped):
    with subprocess.Popen(
        [sys.executable, "-c", owner], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        worker, parent = map(int, process.stdout.readline().split())
        if stopped:
            os.kill(worker, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(process.pid, number)

        assert will_be_gone(worker)
        assert will_be_gone(parent)


def test_signals_to_a_whole_group_end_the_owner_only():
    worker = nursery.start(life_of_waiting, backwards)
    for process in numbers(worker):
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(process, number)
    worker.pipe.send_bytes(b"still here")

    assert worker.pipe.recv_bytes() == b"still here"
    nursery.end(worker)


def test_a_worker_obeys_whatever_it_is_busy_with_until_it_dies():
    worker = nursery.start(life_of_work, backwards)
    process, _ = numbers(worker)

    assert [nursery.ask(worker, word) for word in (b"ab", b"abc")] == [b"ba", b"cba"]
    os.kill(process, signal.SIGKILL)
    assert nursery.ask(worker, b"ab") is None
    nursery.end(worker)


def test_one_that_cannot_obey_dies_of_it():
    worker = nursery.start(life_of_work, int)
    process, _ = numbers(worker)

    assert nursery.ask(worker, b"ab") is None
    assert will_be_gone(process)
    nursery.end(worker)


def test_nothing_comes_from_the_working_directory(tmp_path):
    for name in ("socket", "pickle", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not the real one')\n")
    code = """if True:
        import sys
        from kcli.engine import nursery
        from tests.kcli.engine.test_nursery import backwards, introduced, numbers
        sys.path.insert(0, "")
        print(*numbers(nursery.start(introduced, backwards)))
        """
    told = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )

    assert (told.stderr, len(told.stdout.split())) == (b"", 2)
