"""`kcli replica simulate`: names, files, protocols, refusals."""

import json

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
