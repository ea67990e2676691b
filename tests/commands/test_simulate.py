"""`kcli replica simulate`: names, files, protocols, refusals."""

import json

import pytest

from kcli.jobs.replica.simulate import bundled


def rows(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["rows"]


def test_the_stories_are_listed(kcli):
    assert [row["name"] for row in rows(kcli("replica", "simulate", "--list", "-o", "json"))] == list(
        bundled()
    )


def test_a_file_is_a_story_too(kcli, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('replicas = ["x"]\nsteps = ["produce a b"]\n')
    *_, last = rows(kcli("replica", "simulate", path, "-o", "json"))

    assert (last["scenario"], last["step"], last["high_watermark"]) == (str(path), 1, 2)
    assert last["log"] == [{"epoch": 0, "value": "a"}, {"epoch": 0, "value": "b"}]


def test_the_same_story_by_another_protocol(kcli):
    cured = rows(kcli("replica", "simulate", "loss", "--protocol", "epoch", "-o", "json"))
    bundled = rows(kcli("replica", "simulate", "loss-cured", "-o", "json"))

    names = {"scenario": "", "title": ""}
    assert [{**row, **names} for row in cured] == [{**row, **names} for row in bundled]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ((), "name a SCENARIO, or use --list"),
        (("loss", "--list"), "name a SCENARIO, or use --list"),
        (("loss", "--protocol", "raft"), "--protocol raft: expected one of high-watermark"),
        (("lost",), "lost: expected a .toml file, or one of high-watermark"),
        (("absent.toml",), "absent.toml: no such file"),
    ],
)
def test_what_cannot_be_decided_is_refused(kcli, words, answer):
    done = kcli("replica", "simulate", *words)

    assert (done.exit_code, done.stdout) == (2, "")
    assert answer in done.stderr
