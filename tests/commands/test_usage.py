"""What is said of a value that an option cannot use: which it was, and which can be used."""

import pytest
from typer.testing import CliRunner

from commands.app import app


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ls --limit x", "'--limit': expected a whole number of at least 0, found 'x'"),
        (f"ls --limit {2**63}", f"'--limit': expected a whole number from 0 to {2**63 - 1}, found {2**63}"),
        ("ls --limit -1", "'--limit': expected a whole number of at least 0, found -1"),
        ("dump --max-batch-bytes 0", "expected a whole number from 1 to 2147483647, found 0"),
        ("ls --partition -1", "partition '-1': expected a whole number from 0 to 2147483647"),
        ("ls --partition 0-", "partition '0-': expected a whole number from 0 to 2147483647"),
        ("ls --partition 3..", "partition '3..': write both ends of a range, such as 3..99"),
        ("epoch end-offset --epoch ..3", "epoch '..3': write both ends of a range, such as 0..3"),
        ("dump --epoch 3..", "--epoch '3..': write both ends of a range, such as 3..99"),
        (
            "dump --producer-id 4000..",
            "--producer-id '4000..': write both ends of a range, such as 4000..99999",
        ),
        ("replica elect --isr 3..", "--isr 3..: expected ids of brokers, as in --isr 1,2 or 1..3"),
        ("lookup timestamp -1h", "No such option: -1h; for so long ago write 1h"),
        ("lookup timestamp -1h30m", "No such option: -1h30m; for so long ago write 1h30m"),
        ("lookup timestamp -5", "No such option: -5"),
        (
            "scan --no-summary",
            "--no-summary; where settings switch --summary on, KCLI_SUMMARY=0 switches it off",
        ),
        ("ls --no-summary", "No such option: --no-summary"),
        ("rlmm state --at -1h", "time '-1h': for so long ago write 1h"),
        ("ls --partition 3-1", "partition '3..1': the range is empty; did you mean 1..3?"),
        ("dump --offsets 9..5", "--offsets 9..5: the range is empty; did you mean 5..9?"),
        ("dump --offsets x", "--offsets x: expected offsets such as 100..200, 100.., ..200 or 100"),
        ("dump --time 9..5", "--time 9..5: the range is empty, it ends before it begins"),
        ("ls --limit 5 --limit 7", "kcli: --limit is given 2 times; it takes one value"),
        ("ls -o csv --output json -o tsv", "kcli: --output is given 3 times; it takes one value"),
        ("ls --only a --only b", "kcli: --only is given 2 times; it takes one value"),
        ("dump --control --no-control", "kcli: --control is given 2 times; it takes one value"),
        (
            "ls --columns segmens",
            "no column 'segmens'; did you mean segments? kcli help columns ls lists all",
        ),
        ("ls --sort=-zzz", "--sort: no column 'zzz'; there are dir, broker_id"),
        ("scan --only scan_segmnt", "did you mean scan_segment"),
        ("rlmm partition --topic t", "No such option: --topic"),
        ("epoch --install-completion", "No such option: --install-completion"),
        ("rlmm --show-completion", "No such option: --show-completion"),
        ("rlmm partition --jobs 2", "No such option: --jobs"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(tmp_path, words, message):
    done = CliRunner().invoke(app, [*words.split(), str(tmp_path)])
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("repeated", "together"),
    [
        ("epoch end-offset --epoch 0 --epoch 2,3", "epoch end-offset --epoch 0,2,3"),
        ("epoch show --columns epoch --columns dir", "epoch show --columns epoch,dir"),
        ("epoch show --sort topic --sort=-epoch", "epoch show --sort topic,-epoch"),
        ("epoch show --topic orders --topic plain", "epoch show --topic orders,plain"),
        ("epoch show --partition 0 --partition 3-4", "epoch show --partition 0,3-4"),
        ("dump --only dump_batch --epoch 0 --epoch 3", "dump --only dump_batch --epoch 0,3"),
        ("dump --only dump_batch --codec none --codec zstd", "dump --only dump_batch --codec none,zstd"),
        (
            "dump --only dump_batch --producer-id 7 --producer-id=-1",
            "dump --only dump_batch --producer-id 7,-1",
        ),
    ],
)
def test_a_list_is_repeated_or_has_commas(kcli, log_dir, repeated, together):
    for name in ("orders-0", "orders-1", "plain-3"):
        log_dir.partition(name)
    one, other = (kcli(*words.split(), log_dir.path, "-o", "tsv") for words in (repeated, together))

    assert (one.exit_code, one.stdout) == (other.exit_code, other.stdout)
    assert one.exit_code == 0 and one.stdout.count("\n") > 1


def test_a_topic_that_is_not_here_is_looked_for_among_those_that_are(kcli, log_dir):
    log_dir.partition("plain-0")
    done = kcli("ls", log_dir.path, "--topic", "plian")

    assert done.exit_code == 3
    assert "no partition or file here matches what was asked for; did you mean plain?" in done.stderr
