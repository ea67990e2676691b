"""The pictures of README are what the commands draw, and fetch nothing."""

import re
from contextlib import chdir

import pytest

from tests.documents import ROOT
from tests.pictures import HERE, PICTURES, picture, unpack


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_command_draws(name, folder):
    with chdir(folder):
        assert picture(name) == (HERE / f"{name}.svg").read_text()


def test_readme_shows_each_and_nothing_is_fetched():
    shown = re.findall(r"!\[.+\]\(tests/pictures/(.+)\.svg\)", (ROOT / "README.md").read_text())
    assert sorted(shown) == sorted(PICTURES) == sorted(path.stem for path in HERE.glob("*.svg"))
    for name in PICTURES:
        text = (HERE / f"{name}.svg").read_text()
        assert re.findall(r"\w+://\S+", text) == ['http://www.w3.org/2000/svg">']
        assert not re.search(r"@import|@font-face|href|<script|<image", text)
