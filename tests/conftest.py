"""What all tests share: tiny log dirs, and kcli run in this process."""

import functools
import gc
import os
import signal
import tarfile
from importlib import resources

import hypothesis
import pytest
import typer.testing
from typer.testing import CliRunner

from kcli.logdir import buffers, concurrent_changes
from tests import seeds
from tests.builders import put_record, put_records

seeds.fix_examples()

# what started the tests, e.g. nohup, may ignore signals, and so would what they start and interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# settings of who runs the tests are not theirs
os.environ["XDG_CONFIG_HOME"] = os.devnull
for variable in [
    name
    for name in os.environ
    if name.startswith("KCLI_") and name not in {"KCLI_SEED", "KCLI_CASES", "KCLI_SOAK_END", "KCLI_STARTS"}
]:
    del os.environ[variable]

# a JVM that lives for a minute gains nothing by compiling twice
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# a test runs commands by the thousand: they are made once
typer.testing._get_command = functools.cache(typer.testing._get_command)

CLUSTER_ID = "d4AOWUsZhgy8XcdU-9gSlQ"


class LogDir:
    """A log dir under construction; `partition` adds directories of one segment, a batch for each epoch."""

    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        (path / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\n")

    def partition(self, name, epochs=((0, 0), (2, 10), (3, 25)), end=40, checkpoint=True):
        folder = self.path / name
        folder.mkdir()
        starts = [start for _, start in epochs]
        batches = []
        for (epoch, start), stop in zip(epochs, [*starts[1:], end], strict=True):
            records = [put_record(offset_delta=n, value=b"v%d" % n) for n in range(stop - start)]
            batches.append(
                put_records(
                    records,
                    base_offset=start,
                    partition_leader_epoch=epoch,
                    base_timestamp=1_700_000_000_000,
                    max_timestamp=1_700_000_000_000,
                )
            )
        (folder / f"{starts[0]:020}.log").write_bytes(b"".join(batches))
        (folder / f"{starts[0]:020}.index").write_bytes(b"")
        (folder / f"{starts[0]:020}.timeindex").write_bytes(b"")
        if checkpoint:
            lines = [f"{epoch} {start}" for epoch, start in epochs]
            (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
        return folder


def pytest_collection_finish():
    """Keep the million objects of collected tests out of every garbage collection, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


LONGEST = ("tests/mutated/", "tests/test_packaging")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that KCLI_SEED changes; begin with those of a minute, for which others would wait."""
    for item in items:
        if hypothesis.is_hypothesis_test(item.obj) or "oracle_seed" in item.fixturenames:
            item.add_marker("random")
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.fixture(scope="module", autouse=True)
def at_rest(request):
    """Take fresh files as they are, not as a running broker's; not in modules marked `moving`."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.node.get_closest_marker("moving"):
            patch.setattr(concurrent_changes, "SETTLING_MS", 0)
            patch.setattr(buffers, "WRITING_MS", 0)
        yield


@pytest.fixture
def log_dir(tmp_path):
    return LogDir(tmp_path / "data")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The log dir that the package ships, unpacked into a folder that holds nothing else; to be read only."""
    folder = tmp_path_factory.mktemp("demo")
    with (
        (resources.files("kcli.demo") / "demo.tar.gz").open("rb") as file,
        tarfile.open(fileobj=file) as archive,
    ):
        archive.extractall(folder, filter="data")
    return folder / "kcli-demo"


@pytest.fixture(scope="session")
def session():
    """A Spark session of two tasks at once, which commands with --spark use, too."""
    from kcli.engine.spark_session import opened

    with opened("local[2]", None, {}) as session:
        yield session


@pytest.fixture
def kcli():
    """Run a command line in this process; the result has exit_code, stdout, stderr."""
    from commands.app import app

    def run(*words, **more):
        return CliRunner().invoke(app, [str(word) for word in words], prog_name="kcli", **more)

    return run


def pytest_terminal_summary(terminalreporter):
    """Print the failures that a second run did not show again: nothing is hidden."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"failed once: {report.nodeid}")
        terminalreporter.line(report.longreprtext)
