"""The five decoders of `dump -o text` against DumpLogSegments, on internal topics of the recordings."""

import pytest
from typer.testing import CliRunner

from tests.oracle.oracle import Oracle
from tests.recordings import pack

pytestmark = pytest.mark.oracle

DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__remote_log_metadata": "--remote-log-metadata-decoder",
    "__share_group_state": "--share-group-state-decoder",
}


def logs(root):
    for path in sorted(root.rglob("*.log")):
        decoder = DECODERS.get(path.parent.name.rpartition("-")[0])
        if decoder is not None and path.stat().st_size:
            yield path, decoder


@pytest.mark.parametrize("name", ["failover", "tiered", "single"])
def test_internal_topics_are_printed_as_the_tool_prints_them(oracle: Oracle, name, tmp_path):
    from commands.app import app

    root = pack.unpack(name, tmp_path)
    compared = 0
    for path, decoder in logs(root):
        expected = oracle.ask("dump", arguments=["--files", str(path), decoder, "--deep-iteration"])["stdout"]
        done = CliRunner().invoke(app, ["dump", "-o", "text", decoder, "--deep-iteration", str(path)])
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines() == expected.splitlines()
        compared += 1
    assert compared


@pytest.mark.parametrize(
    ("options", "source", "name"),
    [
        (["--key-decoder-class", "org.apache.kafka.tools.api.StringDecoder"], "*.log", f"{0:020d}.log"),
        (["--value-decoder-class", "org.apache.kafka.tools.api.StringDecoder"], "*.log", f"{0:020d}.log"),
        ([], "*.snapshot", "x.snapshot"),
        ([], "*.snapshot", ".snapshot"),
        ([], "*.snapshot", "12 34.old.snapshot"),
    ],
)
def test_a_decoder_alone_asks_for_records_and_a_snapshot_needs_no_offset(
    oracle: Oracle, options, source, name, tmp_path
):
    from commands.app import app

    root = pack.unpack("single", tmp_path)
    found = max(
        sorted(root.rglob(source)),
        key=lambda path: path.stat().st_size if "__" not in path.parent.name else -1,
    )
    path = tmp_path / name
    path.write_bytes(found.read_bytes())
    expected = oracle.ask("dump", arguments=["--files", str(path), *options])
    done = CliRunner().invoke(app, ["dump", "-o", "text", *options, "--files", str(path)])

    assert (done.exit_code, expected["status"]) == (0, 0)
    assert done.stdout == expected["stdout"]
    assert len(expected["stdout"].splitlines()) > 2
