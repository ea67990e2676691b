"""A question that tests of commands ask, and its answers."""

import json

from typer.testing import CliRunner

from commands.app import app

ASK = ("epoch", "end-offset", "--epoch", "2")


def ask(*words):
    """Return the document and the exit status of a command with -o json."""
    done = CliRunner().invoke(app, [*map(str, words), "-o", "json"])
    return json.loads(done.stdout), done.exit_code


def document(*words, status=0):
    """Return the document of a command that ends with this status."""
    found, exit_code = ask(*words)
    assert exit_code == status, found
    return found


def prediction(is_bad, *words, status=0):
    """Return the document of a command that ends with 1 where a row is bad news, or with this status."""
    found, exit_code = ask(*words)
    assert exit_code == (status or int("never" not in words and any(map(is_bad, found["rows"])))), found
    return found


def answers(result):
    return [
        (row["topic"], row["partition"], row["leader_epoch"], row["end_offset"])
        for row in json.loads(result.stdout)["rows"]
    ]


def codes(document):
    return [finding["code"] for finding in document["findings"]]


EXPECTED = (
    "expected a file that ends in .parquet, .csv, .ndjson, .html or .md (or in .txt, with -o text, or in "
    ".prom, for metrics), or a directory, NAME/"
)


def salvage(kcli, path, out, *words):
    done = kcli("salvage", path, "--out", out, "-o", "json", *words)
    return done, json.loads(done.stdout)
