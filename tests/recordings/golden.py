"""Makes the goldens anew: what Kafka's DumpLogSegments prints for the committed recordings (`make golden`).

It runs on a copy, twice over all data files: `--print-data-log --deep-iteration`, then the decoder of remote
log metadata. Left out is what ends it with an exception: an index beside an empty log.
"""

import gzip
import re
import tempfile
from functools import cache
from pathlib import Path

from tests.golden import Dumped, parse
from tests.recordings import pack
from tests.recordings.java_tools import run

DATA_FILE = re.compile(r"\d{20}\.(log|index|timeindex|txnindex|snapshot)")
DUMP = "org.apache.kafka.tools.DumpLogSegments"


def dumped(folder: Path) -> list[str]:
    """Return the files that the tool can print, relative to the folder, sorted."""
    return [
        str(path.relative_to(folder))
        for path in pack.files(folder)
        if DATA_FILE.fullmatch(path.name)
        and not (
            path.suffix in {".index", ".timeindex"}
            and path.with_suffix(".log").exists()
            and path.with_suffix(".log").stat().st_size == 0
        )
    ]


@cache
def golden(name: str) -> list[Dumped]:
    """Return what the tool printed for the files of a recording: every file once with its records."""
    found: dict[str, Dumped] = {}
    for file in parse(pack.golden(name)):
        found.setdefault(file.path, file)  # the second time the decoder of remote log metadata ran
    return list(found.values())


def dump(folder: Path) -> str:
    """Return what the tool prints for the files of a folder, which it may change."""
    files = dumped(folder)
    remote = [file for file in files if "__remote_log_metadata-" in file and file.endswith(".log")]
    text = run(DUMP, "--print-data-log", "--deep-iteration", "--files", ",".join(files), cwd=folder)
    if remote:
        text += run(DUMP, "--remote-log-metadata-decoder", "--files", ",".join(remote), cwd=folder)
    return text


def write(name: str, data: Path = pack.DATA) -> Path:
    """Write NAME.golden.gz beside a recording; return it."""
    with tempfile.TemporaryDirectory(prefix="kcli-golden-") as temporary:
        text = dump(pack.unpack(name, Path(temporary), data))
    target = data / f"{name}.golden.gz"
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return target


def main() -> None:
    for target in map(write, pack.NAMES):
        print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
