"""What a run of a command costs is measured right."""

import os
import sys
import time
from pathlib import Path

import pytest

from tests.bench.machine import cpu_model
from tests.bench.process import (
    Failed,
    Quiet,
    Run,
    alternate,
    aside,
    busy_and_total,
    high_water,
    kind_of,
    members,
    peaks,
    run,
    session_of,
    too_busy,
)
from tests.measurements import taken

pytestmark = pytest.mark.slow


def python(text):
    return [sys.executable, "-c", text]


def test_a_run_costs_time_and_memory(tmp_path):
    small = run(python("import time; print('out'); time.sleep(0.3)"), tmp_path / "out", watch=True)
    assert (tmp_path / "out").read_text() == "out\n"
    large = run(
        python("b = bytearray(b'x') * 100_000_000; import time; time.sleep(0.5)"),
        tmp_path / "out",
        watch=True,
    )
    assert large.wall >= 0.5
    assert large.largest >= 100_000_000
    assert large.watched["python"] >= 100_000_000 > small.watched["python"] > 1_000_000
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_memory_of_workers_is_watched(tmp_path):
    worker = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', \"b = bytearray(b'x') * 90_000_000; "
        'import time; time.sleep(0.5)"])'
    )
    assert run(python(worker), tmp_path / "out", watch=True).watched["python"] >= 90_000_000


def test_a_run_that_fails_says_why(tmp_path):
    with pytest.raises(Failed, match="ended with 3: no such thing"):
        run(python("import sys; print('no such thing', file=sys.stderr); sys.exit(3)"), tmp_path / "out")


def test_a_run_waits_for_what_it_left(tmp_path):
    left = "import os, time\nif not os.fork():\n    time.sleep(0.3)"
    start = time.monotonic()
    run(python(left), tmp_path / "out")
    assert time.monotonic() - start >= 0.3


def test_runs_alternate_answers_are_kept_once(tmp_path):
    order = tmp_path / "order"
    commands = {
        key: lambda out, key=key: python(
            f"open({str(order)!r}, 'a').write({key!r}); open({str(out)!r}, 'w'); print({key!r})"
        )
        for key in "ab"
    }
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen = []
    measured = alternate(
        commands,
        2,
        scratch,
        lambda outputs: seen.extend((outputs[k].read_text(), aside(outputs[k]).exists()) for k in "ab"),
    )
    assert order.read_text() == "ababab"
    assert seen == [("a\n", True), ("b\n", True)]
    assert [len(measured[key].runs) for key in "ab"] == [2, 2]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("undecided", [True, False])
def test_undecided_runs_go_on_to_three_times_as_many(tmp_path, undecided):
    seen = []
    measured = alternate(
        {key: lambda out: python("") for key in "ab"},
        2,
        tmp_path,
        lambda outputs: None,
        lambda taken: seen.append([len(taken[key].runs) for key in "ab"]) or undecided,
    )
    assert seen == [[2, 2]]
    assert [len(measured[key].runs) for key in "ab"] == ([6, 6] if undecided else [2, 2])


def test_files_of_inputs_are_read_before_each_measured_run(tmp_path):
    size, folder = 32 << 20, tmp_path / "input" / "t-0"
    folder.mkdir(parents=True)
    with (folder / "0.log").open("wb") as file:
        file.truncate(size)

    before = bytes_read()
    alternate({key: lambda out: python("") for key in "ab"}, 2, tmp_path, lambda outputs: None)
    without = bytes_read()
    alternate(
        {key: lambda out: python("") for key in "ab"},
        2,
        tmp_path,
        lambda outputs: None,
        inputs=[folder.parent],
    )

    assert (without - before) // size == 0
    assert (bytes_read() - without) // size == 4


def bytes_read():
    """Return what this process and the children that it waited for have read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_peaks_the_kernel_counted_are_used_where_all_processes_are_of_a_kind():
    assert peaks("python", Run(1, 1, 70, {"python": 50}), [Run(1, 1, 80, {})]) == {"python": 80}
    assert peaks("python", Run(1, 1, 70, {}), []) == {"python": 70}
    assert peaks("python", Run(1, 1, 900, {"python": 50, "java": 880}), [Run(1, 1, 950, {})]) == {
        "python": 50,
        "java": 880,
    }


def test_spread_is_a_part_of_the_median():
    assert taken(a=(1.0, 2.0, 4.0))["a"].spread == 1.5


@pytest.mark.parametrize(
    ("name", "kind"),
    [("/usr/bin/python3.11", "python"), ("kcli", "python"), ("/opt/jdk/bin/java", "java"), ("bash", "other")],
)
def test_kind_of_a_program(name, kind):
    assert kind_of(name) == kind


def test_texts_of_proc():
    assert session_of("12 (a) b (c) S 1 12 77 0") == 77
    assert high_water("Name:\tx\nVmHWM:\t  2048 kB\n") == 2 << 20
    with pytest.raises(ValueError, match="no VmHWM"):
        high_water("Name:\tx\n")
    assert busy_and_total("cpu  10 1 5 100 20 2 3 4 0 0\ncpu0 1\n") == (25, 145)
    assert cpu_model("processor: 0\nmodel name\t: Some CPU\n") == "Some CPU"
    assert cpu_model("processor: 0\n") == ""
    assert os.getpid() in members(os.getsid(0))


def test_load_is_held_against_the_cores():
    assert [too_busy(load, 2) for load in (1.0, 1.01)] == [False, True]
    assert 0.0 <= Quiet().foreign_share() <= 1.0
