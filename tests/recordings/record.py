"""Makes recordings anew (Java 17, Maven, free ports): `python -m tests.recordings.record [NAME ...]`."""

import argparse
import inspect
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.recordings import golden, pack
from tests.recordings.alone import demo, single, tiered
from tests.recordings.java_tools import classpath, kafka_version
from tests.recordings.recorder import Recorder
from tests.recordings.replicated import failover, truncation

SCENARIOS = {scenario.__name__: scenario for scenario in (failover, truncation, tiered, single, demo)}
DEMO = Path(__file__).parents[2] / "kcli" / "demo" / "demo.tar.gz"


def record(name: str, work: Path, base_port: int, data: Path) -> Path:
    """Run one scenario and commit what it kept; return the tar."""
    folder = work / "kept"
    folder.mkdir()
    scenario = SCENARIOS[name]
    recorder = Recorder(name, folder, work, base_port)
    scenario(recorder)
    if name == "demo":
        target = DEMO if data == pack.DATA else data / DEMO.name
        pack.tar(folder / "kcli-demo", "kcli-demo", target)
        return target
    target = pack.save(
        folder,
        {
            "name": name,
            "about": inspect.getdoc(scenario),
            "made_by": f"python -m tests.recordings.record {name}",
            "kafka_version": kafka_version(),
            "steps": recorder.steps,
            "captures": recorder.captures,
            "facts": recorder.facts,
        },
        data,
    )
    golden.write(name, data)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SCENARIOS)}; default: all")
    parser.add_argument(
        "--base-port",
        type=int,
        default=29000,
        help="brokers listen at this port + their number, controllers 500 above",
    )
    parser.add_argument("--data", type=Path, default=pack.DATA, help="where the recordings go")
    parser.add_argument("--keep", type=Path, help="keep the brokers' folders here, one per scenario")
    options = parser.parse_args()
    if unknown := set(options.names) - set(SCENARIOS):
        parser.error(f"no such recording: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that the brokers end, too
    classpath()
    options.data.mkdir(parents=True, exist_ok=True)
    for name in options.names or SCENARIOS:
        with tempfile.TemporaryDirectory(prefix=f"kcli-{name}-") as temporary:
            work = options.keep / name if options.keep else Path(temporary)
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            target = record(name, work, options.base_port, options.data)
            print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
