"""The page `kcli help verified`, counted from the judges' own files; `python -m tests.verified` writes it.

What a run of `make test` did comes from its reports; without that of a part, the page keeps what it says.
"""

import ast
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.documents import ROOT
from tests.recordings import pack
from tests.recordings.java_tools import NEWEST, kafka_version
from tests.starts.predicted import RECORDED

TESTS = ROOT / "tests"
PAGE = ROOT / "kcli" / "manual" / "verified.md"
REPORTS = ROOT / ".pytest_cache" / "reports"
PARTS = {
    "oracle": "Kafka's own classes",
    "starts": "brokers that start",
    "live": "clusters with clients",
    "spark": "Spark",
    "browser": "pages of HTML in Chromium",
    "plain": "recordings, damage, and all that needs no JVM",
}
"""Part of `make test` -> what it asks."""
LAST = re.compile(rf"^\| ({'|'.join(PARTS)}) \| .*? \| (.+?) \| (\S+) \|$", re.MULTILINE)
TEXT = """\
# What is verified

Kafka itself judges the answers of kcli. `python -m tests.verified` makes this page of the judges' own files;
page `tests` says how they work.

| judge | Kafka | what it was asked |
|---|---|---|
| its own classes (`tests/oracle`) | {oracle} | {oracle_tests} tests, {cases:,} random cases a run, or more |
| brokers that start (`tests/starts`) | {oldest} to {newest} | {starts} recorded starts; {again} in each run |
| clusters with clients (`tests/live`) | {live} | {live_tests} tests: the prediction, then what happens |
| recorded log dirs (`tests/recordings`) | {recorded} | {log_dirs} of them, {files:,} files |
| `kafka-dump-log` over these | {recorded} | {lines:,} lines |
| messages of formats 0 and 1 (`tests/data/batches`) | 2.8.2 | {old} logs |
| remote log metadata (`tests/data/rlmm`) | {first_serde} to {last_serde} | {values:,} values |
| damage (`tests/mutated`) | | {mutated:,} mutated partitions in each run |
| Spark {spark} | | {spark_files} test files: the rows of one process, in their order |

## Starts of real brokers

Brokers of {bases} wrote the log dirs: {states} states, most of them damaged. kcli predicts
each start again in every run; a difference fails it.

| broker | starts | fails | waits |
|---|---:|---:|---:|
{releases}

## The last run of `make test`

| part | asks | tests | on |
|---|---|---:|---|
{last}

## Known differences from Kafka

- A 3.3.2 broker that meets a record type it does not know starts, without its metadata. kcli says that it
  fails.
- A `-future` log without a current one, with `metadata.version` below 3.7, under brokers of 3.9 and 4.4: they
  truncate it to 0 and leave the directory. kcli says `deleted`.

## What is not verified

- Starts of releases before {oldest}: kcli answers from 3.0 on, by their sources.
- ZooKeeper clusters: the state of a coordinator is judged by its files alone; no such cluster runs in the
  tests. Elections are judged by the controller's own classes.
- Object stores: LocalTieredStorage wrote the remote segments, and the classes of Aiven's plugin.
- Spark on several machines: the tests have a local master, Spark Connect and a standalone cluster on one.
- Builds of vendors. The tests run on Linux on x86-64; page `intro` says what was tried elsewhere.
"""


def text(last: dict[str, tuple[str, str]]) -> str:
    """Return the page; `last`: part of `make test` -> how many tests passed, and the day."""
    oracle = [*modules("oracle")]
    zookeeper = version(TESTS / "oracle" / "zookeeper" / "pom.xml", r"kafka_2.13</artifactId><version>(.+?)<")
    manifests = [json.loads(path.read_text()) for path in sorted(pack.DATA.glob("*.json"))]
    goldens = [gzip.decompress(path.read_bytes()) for path in sorted(pack.DATA.glob("*.golden.gz"))]
    serdes = json.loads(gzip.decompress((TESTS / "data" / "rlmm" / "values.json.gz").read_bytes()))
    brokers = sorted({release for _, release, _ in RECORDED})
    mutated = constants(TESTS / "mutated" / "fleets.py") | constants(
        TESTS / "mutated" / "test_every_command.py"
    )
    return TEXT.format(
        oracle=f"{version(TESTS / 'oracle' / 'pom.xml', r'<kafka.version>(.+?)<')}, of ZooKeeper {zookeeper}",
        oracle_tests=sum(map(tests, oracle)),
        cases=sum(map(random_cases, oracle)),
        oldest=brokers[0],
        newest=brokers[-1],
        starts=len(RECORDED),
        states=len({(base, change) for base, _, change in RECORDED}),
        again=len(assigned(TESTS / "starts" / "test_real_brokers.py")["FEW"].elts),
        live=f"{kafka_version()}, {NEWEST}",
        live_tests=sum(map(tests, modules("live"))),
        recorded=", ".join(sorted({manifest["kafka_version"] for manifest in manifests})),
        log_dirs=sum(len(manifest["captures"]) for manifest in manifests),
        files=sum(len(manifest["files"]) for manifest in manifests),
        lines=sum(golden.count(b"\n") for golden in goldens),
        old=len([*(TESTS / "data" / "batches").glob("v[01]-*.log.gz")]),
        first_serde=min(serdes),
        last_serde=max(serdes),
        values=sum(map(len, serdes.values())),
        mutated=mutated["LOG_DIRS"] * mutated["PARTITIONS"],
        spark=version(ROOT / "constraints.txt", r"pyspark==(\S+)"),
        spark_files=sum("pytest.mark.spark" in path.read_text() for path in TESTS.rglob("test_*.py")),
        bases=", ".join(sorted({base for base, _, _ in RECORDED if "-" not in base})),
        releases="\n".join(map(starts_by, brokers)),
        last="\n".join(
            f"| {part} | {asked} | {' | '.join(last.get(part, ('–', '–')))} |"
            for part, asked in PARTS.items()
        ),
    )


def modules(folder: str) -> Iterator[Path]:
    """Yield the test files of a folder below `tests`."""
    yield from sorted((TESTS / folder).glob("test_*.py"))


def version(path: Path, pattern: str) -> str:
    """Return the version that a file names."""
    found = re.search(pattern, path.read_text())
    assert found, path
    return found[1]


def assigned(path: Path) -> dict[str, ast.expr]:
    """Return the values of the names of a module that have one."""
    return {
        target.id: node.value
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def constants(path: Path) -> dict[str, int]:
    """Return the numbers that a module names."""
    return {
        name: value.value
        for name, value in assigned(path).items()
        if isinstance(value, ast.Constant) and isinstance(value.value, int)
    }


def tests(path: Path) -> int:
    """Return how many test functions a module has."""
    return len(re.findall(r"^def test_", path.read_text(), re.MULTILINE))


def random_cases(path: Path) -> int:
    """Return how many random cases a module asks for at least: each number that it gives `cases`, once."""
    numbers = constants(path)
    arguments = {
        ast.unparse(node.args[0])
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cases"
    }
    return sum(int(argument) if argument.isdecimal() else numbers.get(argument, 0) for argument in arguments)


def starts_by(release: str) -> str:
    """Return the row of a release: how many starts had which outcome."""
    outcomes = Counter(happened["outcome"] for key, happened in RECORDED.items() if key[1] == release)
    return f"| {release} | {' | '.join(str(outcomes[name]) for name in ('starts', 'fails', 'waits'))} |"


def last_run(page: str) -> dict[str, tuple[str, str]]:
    """Return what a page says of the last run."""
    return {part: (passed, day) for part, passed, day in LAST.findall(page)}


def reported(folders: Sequence[Path]) -> dict[str, tuple[str, str]]:
    """Return what the reports in folders say: PART.xml -> how many tests passed, and the day."""
    found = {}
    for part in PARTS:
        for path in (folder / f"{part}.xml" for folder in folders):
            if path.exists():
                (suite,) = ET.parse(path).getroot()
                failed, skipped = (
                    sum(int(suite.get(name, 0)) for name in names)
                    for names in (("failures", "errors"), ("skipped",))
                )
                passed = f"{int(suite.get('tests', 0)) - failed - skipped:,}"
                found[part] = (
                    f"{passed}, {failed} failed" if failed else passed,
                    suite.get("timestamp", "")[:10],
                )
    return found


def main(folders: list[str]) -> None:
    """Write the page, with what the reports of the last `make test`, here or in folders, say."""
    kept = last_run(PAGE.read_text()) if PAGE.exists() else {}
    PAGE.write_text(text(kept | reported([*map(Path, folders)] or [REPORTS])))


if __name__ == "__main__":
    main(sys.argv[1:])
