"""What a person sees: kcli on a pseudo-terminal, and a model of a terminal that obeys what it writes."""

import shlex
import sys

import pyte
import pytest

from tests.screens import CASES, SETTINGS, Setting, recorded, unpack
from tests.terminal import terminal

pytestmark = pytest.mark.slow

SEEN = ("ls", "ls-long-names", "scan-summary-damaged", "epoch-show-replicas", "truncate", "lookup-timestamp")
SEEN += ("dump-codecs", "dump-records", "rlmm-state", "check-damaged", "startup-damaged")
COLOURED = ("ls", "check-damaged", "epoch-show-replicas", "lookup-offset", "rlmm-state", "truncate")
LINES = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("terminal"))


def screen_of(line, folder, setting, **environment):
    """Return the screen after a command line was typed on a terminal, stderr included."""
    shown, _, status = terminal(
        [sys.executable, "-m", "kcli", *shlex.split(line)],
        stream="both",
        columns=setting.columns,
        cwd=folder,
        **{"COLUMNS": "", "LC_ALL": "", "LANG": "C.UTF-8", **setting.environment, **environment},
    )
    assert status in {0, 1}
    screen = pyte.Screen(setting.columns, LINES)
    pyte.ByteStream(screen).feed(shown)
    return screen


def lines_of(screen):
    return "\n".join(line.rstrip() for line in screen.display).rstrip().splitlines()


def colors_of(screen):
    return {cell.fg for line in screen.buffer.values() for cell in line.values()}


SHOWN = {(name, number % len(SETTINGS)) for number, name in enumerate(SEEN)}
"""Each at one width: `test_screens` draws all of them at all widths, without a terminal."""
SHOWN |= {("truncate", number) for number in range(len(SETTINGS))}


@pytest.mark.parametrize(("name", "number"), sorted(SHOWN))
def test_a_terminal_shows_the_recorded_screen(name, number, folder):
    setting = SETTINGS[number]
    screen = screen_of(CASES[name], folder, setting)
    (expected,) = [lines for screen, lines in recorded(name) if screen == setting]
    lines = lines_of(screen)

    assert lines[: len(expected)] == expected
    for line in lines[len(expected) :]:
        assert line.startswith(("  ", "error ", "warning "))
    assert "LC_ALL" not in setting.environment or "".join(lines).isascii()


@pytest.mark.parametrize("name", COLOURED)
def test_colours_are_there_unless_they_are_switched_off(name, folder):
    colored = screen_of(CASES[name], folder, SETTINGS[1])
    plain = screen_of(CASES[name], folder, SETTINGS[1], NO_COLOR="1")

    assert lines_of(colored) == lines_of(plain)
    assert colors_of(plain) == {"default"}
    assert any(cell.bold for cell in colored.buffer[0].values())


def test_severities_have_colours(folder):
    screen = screen_of(CASES["scan-summary-damaged"], folder, SETTINGS[1])
    colors = {
        cell.data: cell.fg
        for line in screen.buffer.values()
        for place, cell in line.items()
        if place == 0 and cell.data in {"✗", "!", "✓", "e", "w"}
    }

    assert colors == {"✗": "red", "!": "brown", "✓": "green", "e": "red", "w": "brown"}


@pytest.mark.parametrize("locale", [{"LANG": "C"}, {"LANG": "POSIX"}, {"LANG": "C", "LC_CTYPE": "C.UTF-8"}])
def test_a_locale_without_utf8_is_drawn_in_ascii(locale, folder):
    setting = Setting("", 80, locale)
    (expected,) = [lines for screen, lines in recorded("truncate") if "LC_ALL" in screen.environment]

    assert lines_of(screen_of(CASES["truncate"], folder, setting))[: len(expected)] == expected
    assert "".join(screen_of("help output", folder, setting).display).isascii()
