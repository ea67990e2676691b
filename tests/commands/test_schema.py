"""`kcli schema`: every document that kcli prints is valid by the schema that it prints."""

import json

import jsonschema
import pytest

from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS
from kcli.rows import ASK_CLUSTERS, COMMANDS, READ_NO_FILES
from tests.metadata_records import CLUSTER, batch, put_log

pytestmark = pytest.mark.slow

RUNS = {
    "epoch show": ("epoch", "show"),
    "epoch end-offset": ("epoch", "end-offset", "--epoch", "all"),
    "epoch at": ("epoch", "at", "12"),
    "epoch validate": ("epoch", "validate", "--position", "12:0"),
    "truncate": ("truncate", "--dry-run", "--to-offset", "12"),
    "startup": ("startup",),
    "checkpoint show": ("checkpoint", "show"),
    "epoch diff": ("epoch", "diff"),
    "epoch check": ("epoch", "check"),
    "replica diff": ("replica", "diff"),
    "failover": ("failover", "--broker", "1"),
    "replica fingerprint": ("replica", "fingerprint"),
    "replica elect": ("replica", "elect", "--isr", "1"),
    "rlmm dump": ("rlmm", "dump"),
    "rlmm offsets": ("rlmm", "offsets"),
    "rlmm state": ("rlmm", "state"),
    "rlmm lookup offset": ("rlmm", "lookup", "offset", "12"),
    "rlmm lookup timestamp": ("rlmm", "lookup", "timestamp", "0"),
    "rlmm coverage": ("rlmm", "coverage"),
    "rlmm retention": ("rlmm", "retention", "--at", "0"),
    "rlmm check": ("rlmm", "check"),
    "lookup offset": ("lookup", "offset", "12"),
    "lookup timestamp": ("lookup", "timestamp", "max"),
    "ls": ("ls",),
    "producers": ("producers",),
    "metadata show": ("metadata", "show", *IMAGE_KINDS),
    "metadata history": ("metadata", "history"),
    "metadata diff": ("metadata", "diff", "--from", "0"),
    "metadata export": ("metadata", "export"),
    "group list": ("group", "list"),
    "group offsets": ("group", "offsets"),
    "group members": ("group", "members"),
    "group history": ("group", "history", "--group", "*"),
    "txn list": ("txn", "list"),
    "txn open": ("txn", "open"),
    "retention": ("retention",),
    "compact": ("compact", "--records", "--if", "cleanup.policy=compact"),
    "check": ("check",),
    "scan": ("scan",),
    "dump": ("dump", "--records"),
}


def schema(kcli, command):
    result = kcli("schema", *command.split())
    assert result.exit_code == 0
    return json.loads(result.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_schemas_allow_no_other_keys(kcli, command):
    printed = schema(kcli, command)

    validator = jsonschema.Draft202012Validator(printed)
    validator.check_schema(printed)
    document = {"command": command, "version": 1, "rows": [], "findings": [], "errors": []}
    validator.validate(document)
    for broken in (
        {**document, "more": 1},
        {**document, "rows": [{}]},
        {**document, "command": "x"},
        {**document, "errors": [{"path": "x"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(broken)


@pytest.mark.parametrize("command", RUNS)
def test_documents_match_their_schema(kcli, log_dir, command):
    log_dir.partition("orders-0")
    log_dir.partition("orders-1", checkpoint=False)
    (log_dir.partition("orders-2") / "leader-epoch-checkpoint").write_text("x\n")
    if command.startswith("rlmm "):
        log_dir.partition("__remote_log_metadata-0")
    if command.startswith("metadata "):
        put_log(log_dir.path, *(batch(offset, value) for offset, value in enumerate(CLUSTER)))
    if command.startswith("group "):
        log_dir.partition("__consumer_offsets-0")
    paths = [log_dir.path] * (2 if command in {"epoch diff", "replica diff", "replica elect"} else 1)
    result = kcli(*RUNS[command], *paths, log_dir.path / "absent", "-o", "json")
    document = json.loads(result.stdout)

    jsonschema.validate(document, schema(kcli, command))
    assert document["errors"]
    no_rows = {"failover", "producers", "txn list", "txn open", "rlmm dump", "rlmm state", "rlmm check"}
    if command not in no_rows and not command.startswith("group "):
        assert document["rows"]


def test_every_command_that_reads_files_is_run_here():
    assert set(RUNS) == set(COMMANDS) - READ_NO_FILES - ASK_CLUSTERS - {"rlmm follow", "salvage", "bundle"}


def test_what_salvage_says_matches_its_schema(kcli, log_dir, tmp_path):
    directory = log_dir.partition("orders-0")
    document = json.loads(kcli("salvage", directory, "--out", tmp_path / "copy", "-o", "json").stdout)
    jsonschema.validate(document, schema(kcli, "salvage"))
    assert document["rows"]


def test_what_bundle_says_matches_its_schema(kcli, log_dir, tmp_path):
    log_dir.partition("orders-0")
    (log_dir.path / "notes").write_text("x")
    document = json.loads(kcli("bundle", log_dir.path, "--out", tmp_path / "b.tar.gz", "-o", "json").stdout)
    jsonschema.validate(document, schema(kcli, "bundle"))
    assert document["rows"][0]["left_out"]


WORDS_ALONE = {
    "diff": "{0}/1 {0}/2",
    "rlmm partition": "AAAAAAAAAAAAAAAAAAAAAA:3",
    "partition-for": "--group billing --key 7 --as int --partitions 9",
    "replica simulate": "loss",
    "uuid": "AAAAAAAAAAAAAAAAAAAAAA",
}


@pytest.mark.parametrize("command", sorted(READ_NO_FILES))
def test_documents_of_commands_without_files_match_their_schema(kcli, demo, tmp_path, command):
    for run, topics in (("1", "orders"), ("2", "orders,clicks")):
        kcli("scan", demo, "--topic", topics, "--out", f"{tmp_path}/{run}/")
    words = [word.format(tmp_path) for word in WORDS_ALONE[command].split()]
    document = json.loads(kcli(*command.split(), *words, "-o", "json").stdout)

    jsonschema.validate(document, schema(kcli, command))
    assert document["rows"]


def test_rows_of_several_types_say_which(kcli):
    assert [row["$ref"] for row in schema(kcli, "rlmm dump")["properties"]["rows"]["items"]["oneOf"]] == [
        "#/$defs/rlmm_event",
        "#/$defs/rlmm_snapshot",
        "#/$defs/rlmm_committed_offset",
        "#/$defs/rlmm_kip_event",
        "#/$defs/rlmm_kip_file",
    ]
    assert schema(kcli, "rlmm dump")["$defs"]["rlmm_event"]["properties"]["type"] == {"const": "rlmm_event"}
