"""Recorded screens at several widths and without UTF-8; `python -m tests.screens` writes them anew."""

import gzip
import re
import shlex
import shutil
import tarfile
from base64 import b64decode
from contextlib import chdir
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from tests.groups import screen_dirs
from tests.kcli.jobs.rlmm.dumps import SNAPSHOTS, snapshot_file
from tests.recordings import pack
from tests.transactions import PAYMENTS, coordinator, hanging_log_dir, key_of, value_of

HERE = Path(__file__).parent
STARTUP = HERE.parent / "data" / "startup" / "damaged.tar.gz"
METADATA = HERE.parent / "data" / "metadata" / "failover.log.gz"
RECORDINGS = ("single", "tiered", "truncation")
LEADER_AND_FOLLOWER = "truncation/before-follower truncation/before-leader"
FOLLOW = "truncate --dry-run --leader truncation/before-leader"
OTHER_HISTORY = "0:0,1:20,3:50,5:60,7:80@90"

CASES = {
    "ls": "ls kcli-demo",
    "ls-damaged": "ls damaged/d0 damaged/d1",
    "ls-long-names": "ls single/running",
    "epoch-show": "epoch show kcli-demo --topic orders",
    "epoch-show-replicas": f"epoch show {LEADER_AND_FOLLOWER} --topic segments --topic equal",
    "epoch-show-fleet": f"epoch show {LEADER_AND_FOLLOWER} truncation/after-follower-stopped",
    "epoch-end-offset": "epoch end-offset --epoch all kcli-demo/orders-0",
    "epoch-end-offset-replicas": f"epoch end-offset --epoch 0,1,2 {LEADER_AND_FOLLOWER} --topic segments",
    "epoch-end-offset-fenced": "epoch end-offset --epoch 0,6 --current-leader-epoch 5 kcli-demo/orders-0",
    "epoch-validate": "epoch validate --position 96:6,50:2,30:8 kcli-demo --topic orders",
    "epoch-at": "epoch at 30 kcli-demo --topic orders",
    "epoch-diff": f"epoch diff {LEADER_AND_FOLLOWER} truncation/after-follower-stopped --topic segments",
    "epoch-check": f"epoch check {LEADER_AND_FOLLOWER} --topic all-lost --topic plain",
    "truncate": "truncate --dry-run --to-offset 30 kcli-demo/orders-0",
    "truncate-full": "truncate --dry-run --to-offset 60 kcli-demo/clicks-0",
    "truncate-many": "truncate --dry-run --to-offset 30 truncation/before-follower",
    "truncate-leader": f"{FOLLOW} truncation/before-follower/segments-0",
    "truncate-rounds": f"truncate --dry-run --leader-epochs {OTHER_HISTORY} kcli-demo/orders-0",
    "startup": "startup kcli-demo",
    "startup-damaged": "startup damaged/d0 damaged/d1",
    "startup-fails": "startup clean-damaged-zero-tail/d0",
    "checkpoint-show": "checkpoint show kcli-demo",
    "checkpoint-show-damaged": "checkpoint show damaged/d0 damaged/d1",
    "replica-diff": "replica diff truncation/before-follower/segments-0 truncation/before-leader/segments-0",
    "check": "check kcli-demo",
    "check-fails": "check clean-damaged-zero-tail/d0",
    "check-damaged": "check damaged/d0 damaged/d1 damaged-bad-epochs/d0",
    "replica-fingerprint": "replica fingerprint --every 20 truncation/before-leader --topic segments",
    "replica-elect": f"replica elect --isr 2 {LEADER_AND_FOLLOWER} --topic segments",
    "failover": "failover --broker 1 metadata/__cluster_metadata-0",
    "failover-controller": "failover --controller metadata/__cluster_metadata-0",
    "replica-simulate": "replica simulate loss",
    "replica-simulate-list": "replica simulate --list",
    "diff": "diff runs/scan-1 runs/scan-2",
    "scan-summary": "scan --summary kcli-demo",
    "scan-summary-damaged": "scan --summary damaged/d0 damaged/d1",
    "scan": "scan kcli-demo --topic payments",
    "scan-ratio": "scan --ratio --summary single/running --topic codecs",
    "lookup-offset": "lookup offset 25 kcli-demo/orders-0 kcli-demo/clicks-0",
    "lookup-timestamp": "lookup timestamp 2026-01-01T10:30:00Z kcli-demo --topic orders",
    "lookup-timestamp-many": "lookup timestamp max kcli-demo",
    "rlmm-dump": "rlmm dump kcli-demo",
    "rlmm-lookup-offset": "rlmm lookup offset 40 tiered/node1 --topic kept",
    "rlmm-lookup-timestamp": "rlmm lookup timestamp 0 tiered/node1 --topic kept",
    "rlmm-coverage": "rlmm coverage tiered/node1",
    "rlmm-retention": "rlmm retention --retention-bytes 2000 --at 2026-11-22 tiered/node1 --topic kept",
    "rlmm-follow": "rlmm follow --leader tiered/node1 tiered/node1/kept-0",
    "rlmm-offsets": "rlmm offsets tiered/node1",
    "rlmm-state": "rlmm state kcli-demo",
    "rlmm-state-many": "rlmm state tiered/node1 --deleted",
    "rlmm-state-history": "rlmm state kcli-demo --history SMhZR4WsR5Km8AhfV5FZ5g",
    "rlmm-state-highest": "rlmm state kcli-demo --highest 2",
    "rlmm-state-replay": "rlmm state flat --replay",
    "rlmm-check": "rlmm check tiered/node1",
    "rlmm-partition-kip": "rlmm partition --layout kip foo:0..1",
    "rlmm-partition": "rlmm partition u4NdSfWRQjaZ_ENyxMXLJA:0 u4NdSfWRQjaZ_ENyxMXLJA:7",
    "partition-for": "partition-for --group billing --transactional-id mover-1 --key 21 --partitions 12",
    "metadata-show": "metadata show metadata",
    "metadata-show-kinds": "metadata show topics partitions brokers configs metadata",
    "metadata-history": "metadata history f-zstd-0 metadata",
    "metadata-diff": "metadata diff --from 110 --to 130 metadata --topic f-*",
    "metadata-export": "metadata export metadata",
    "group-list": "group list groups",
    "group-offsets": "group offsets --at 2027-01-15T09:00:00Z groups",
    "group-members": "group members groups",
    "group-history": "group history --group billing,reports groups",
    "txn-list": "txn list kcli-demo",
    "txn-open": "txn open --at 2027-01-15T08:10:00Z transactions",
    "ls-by-topic": "ls --by topic kcli-demo",
    "retention": "retention --at 2026-11-29T14:17:00Z kcli-demo",
    "compact": "compact --at 2026-11-29T14:17:00Z --if cleanup.policy=compact kcli-demo --topic orders",
    "compact-records": "compact --at 2026-11-29T14:17:00Z --if cleanup.policy=compact kcli-demo"
    " --topic payments --records --only compact_record",
    "producers": "producers --at 2026-11-21T14:18:00Z kcli-demo --topic payments",
    "uuid": "uuid u4NdSfWRQjaZ_ENyxMXLJA bb835d49-f591-4236-99fc-4372c4c5cb24",
    "dump-batches": "dump --only dump_batch kcli-demo/payments-0 --limit 12",
    "dump-log-dir": "dump single/running --only dump_batch --where 'base_offset<9'",
    "dump-codecs": "dump single/running/codecs-0/00000000000000000000.log",
    "dump-records": "dump --records --only dump_record kcli-demo/payments-0 --limit 9",
    "dump-record": "dump --records --offsets 5 single/running/shapes-0",
    "dump-records-shapes": "dump --records --only dump_record single/running/shapes-0 --limit 11",
    "dump-records-decoded": "dump --records --only dump_record kcli-demo/__transaction_state-0 --limit 4",
    "dump-index": "dump kcli-demo/orders-0/00000000000000000000.index",
    "dump-producers": "dump --only dump_producer kcli-demo/payments-0 --limit 5",
    "dump-offsets": "dump kcli-demo/recovery-point-offset-checkpoint",
    "dump-meta-properties": "dump kcli-demo/meta.properties",
    "dump-layout": "dump --layout kcli-demo/orders-0/00000000000000000000.log --limit 12",
}
"""Command lines, typed where the recordings and the demo lie."""


class Setting(NamedTuple):
    """A terminal: columns, and the environment that says what else it can."""

    name: str
    columns: int
    environment: dict[str, str]


SETTINGS = (
    *(Setting(f"{columns} columns", columns, {}) for columns in (80, 100, 120, 200)),
    Setting("80 columns, LC_ALL=C", 80, {"LC_ALL": "C"}),
)


def unpack(folder: Path) -> Path:
    """Unpack the recordings and the demo; return the folder to type commands in."""
    for name in RECORDINGS:
        pack.unpack(name, folder)
    metadata = folder / "metadata" / "__cluster_metadata-0"
    metadata.mkdir(parents=True)
    (metadata / "00000000000000000000.log").write_bytes(gzip.decompress(METADATA.read_bytes()))
    with tarfile.open(STARTUP) as archive:
        archive.extractall(folder, filter="data")
    with (
        resources.files("kcli.demo").joinpath("demo.tar.gz").open("rb") as file,
        tarfile.open(fileobj=file) as archive,
    ):
        archive.extractall(folder, filter="data")
    shutil.copytree(folder / "kcli-demo" / "orders-0", folder / "saved")
    for name, facts in SNAPSHOTS.items():
        if name.startswith("3.7.2/history-"):
            snapshot_file(
                folder / "flat", f"{facts['topic']}-{facts['partition']}", b64decode(facts["bytes"])
            )
    screen_dirs(folder / "groups")
    log_dir = hanging_log_dir(folder / "transactions")
    coordinator(
        log_dir,
        (key_of("pay-1"), value_of(7, 3, "CompleteCommit", [])),
        (key_of("tax-4"), value_of(8, 0, "Ongoing", [PAYMENTS], timeout=900_000)),
    )
    _keep_runs(folder)
    return folder


def _keep_runs(folder: Path) -> None:
    """Make two runs of scan and of check: one partition goes, one comes, one is cut, one shorter."""
    from commands.app import app

    nightly = folder / "nightly"
    for number, gone in ((1, "orders-1"), (2, "clicks-0")):
        shutil.copytree(folder / "kcli-demo", nightly)
        shutil.rmtree(nightly / gone)
        if number == 2:
            log = max((nightly / "orders-0").glob("*.log"))
            log.write_bytes(log.read_bytes()[:-1])
            for file in (nightly / "payments-0").glob(
                f"{min((nightly / 'payments-0').glob('*.log')).stem}.*"
            ):
                file.unlink()
            (nightly / "payments-0" / "leader-epoch-checkpoint").write_text("0\n3\n2 27\n4 42\n6 63\n")
        for command in ("scan", "check"):
            words = [command, "nightly", "--out", f"runs/{command}-{number}/", "-q"]
            with chdir(folder):
                CliRunner().invoke(app, words, prog_name="kcli")
        shutil.rmtree(nightly)


def drawn(line: str, setting: Setting, **more: str) -> str:
    """Return what a command line draws in the working directory."""
    from commands.app import app

    environment = {
        "LC_ALL": "",
        "COLUMNS": str(setting.columns),
        "NO_COLOR": "",
        **setting.environment,
        **more,
    }
    done = CliRunner().invoke(app, [*shlex.split(line), "-o", "table"], prog_name="kcli", env=environment)
    assert done.exit_code in {0, 1}, done.output
    return done.stdout


def screens(line: str) -> str:
    """Return what a command line draws on every terminal, a section for each."""
    return "\n".join(f"== {setting.name}\n{drawn(line, setting)}" for setting in SETTINGS)


def recorded(name: str) -> list[tuple[Setting, list[str]]]:
    """Return the recorded screens of a case: a setting and its lines."""
    text = (HERE / f"{name}.txt").read_text()
    _, *sections = re.split(r"^== .*\n", text, flags=re.MULTILINE)
    return list(zip(SETTINGS, (section.rstrip("\n").splitlines() for section in sections), strict=True))
