"""Command lines for judges that ask every command about the same log dirs."""

from collections.abc import Collection

from typer.main import get_command

from commands.app import app
from kcli.cli.settings import every_command
from kcli.rows import ASK_CLUSTERS, READ_NO_FILES

READ_NO_LOG_DIR = {
    *("completion", "demo", "explain", "help", "runbook", "schema", "spark submit-command"),
    *("bundle", "report", "salvage"),
    *READ_NO_FILES,
    *ASK_CLUSTERS,
}
"""Commands that read no log dir; the second line are those that write a copy, or a page: see their tests."""
OF_TWO = {"epoch diff", "replica diff", "replica elect", "rlmm follow"}
COMMANDS = (
    "ls",
    "ls --include-leftovers",
    "replica fingerprint",
    "epoch show",
    "epoch show --from batches",
    "epoch end-offset --epoch all",
    "epoch end-offset --epoch all --broker running",
    "epoch at latest",
    "epoch validate --position 7:-1",
    "epoch check",
    "producers",
    "metadata show",
    "metadata show topics partitions brokers configs voters",
    "metadata history",
    "metadata diff --from 3",
    "metadata export",
    "group list",
    "group offsets --all",
    "group members",
    "group history --group *",
    "txn list",
    "txn open",
    "retention",
    "compact --records --if cleanup.policy=compact",
    "lookup offset earliest",
    "lookup offset latest --include-leftovers",
    "lookup timestamp max",
    "lookup timestamp @-1s",
    "truncate --dry-run --to-offset 20 --shutdown clean",
    "truncate --dry-run --to-offset 9000000000",
    "truncate --dry-run --to-epoch 0",
    "truncate --dry-run --to-high-watermark --high-watermark 5",
    "check",
    "checkpoint show",
    "failover --all",
    "startup",
    "scan",
    "scan --summary --ratio --include-leftovers",
    "dump",
    "dump --records --include-leftovers",
    "dump --layout",
    "dump --tail 3",
    "dump --offsets 10..400",
    "rlmm dump",
    "rlmm state",
    "rlmm check",
    "rlmm coverage",
    "rlmm lookup offset 12",
    "rlmm lookup timestamp 1767225600000",
    "rlmm offsets",
    "rlmm retention --retention-bytes 300",
    'sql SELECT(count(*))FROM"batches"',
)
"""Each is followed by log dirs."""


def unasked(lines: Collection[str]) -> set[str]:
    """Return the commands that read log dirs and that none of the lines asks."""
    listed = {" ".join(words) for words in every_command(get_command(app))} - READ_NO_LOG_DIR
    return {name for name in listed if not any(line.startswith(name) for line in lines)}
