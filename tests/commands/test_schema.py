"""`kcli schema`: every document that kcli prints is valid by the schema that it prints."""

import json

import jsonschema
import pytest

from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS
from kcli.rows import COMMANDS, READ_NO_FILES
from tests.metadata_records import CLUSTER, batch, put_log

pytestmark = pytest.mark.slow


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


def test_every_kind_of_metadata_matches_its_schema(kcli, tmp_path):
    """Documents of mutated log dirs, which have few kinds, are judged by tests/mutated."""
    log_dir = put_log(tmp_path, *(batch(offset, value) for offset, value in enumerate(CLUSTER)))
    for words in (("show", *IMAGE_KINDS), ("history",), ("diff", "--from", "0"), ("export",)):
        document = json.loads(kcli("metadata", *words, log_dir, "-o", "json").stdout)
        jsonschema.validate(document, schema(kcli, f"metadata {words[0]}"))
        assert document["rows"]


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
