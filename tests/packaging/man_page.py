"""The man page: the help of every command, and what the manual says of environment and exit status."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from commands.app import GROUPS, app
from kcli import __version__
from kcli.cli.command import SHARED
from kcli.cli.settings import every_command
from kcli.manual import TOPICS, page, title


def man_page() -> str:
    """Return kcli(1) in troff's man macros."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f'.TH KCLI 1 "" "kcli {__version__}" "User Commands"'
    yield from (".SH NAME", r"kcli \- read the files of an Apache Kafka broker, offline")
    yield from (".SH SYNOPSIS", r".B kcli", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIPATH\fR...]")
    yield from (".SH DESCRIPTION", _text(str(typer.main.get_command(app).help)), "It changes nothing.")
    commands = every_command(typer.main.get_command(app))
    shared: dict[str, Any] = {}
    yield ".SH COMMANDS"
    for name in (name for names in GROUPS.values() for name in names):
        for words, command in commands.items():
            if words[0] == name:
                yield from _command(words, command, shared)
    yield ".SH SHARED OPTIONS"
    for option in shared.values():
        yield from _option(option)
    yield from (".SH ENVIRONMENT AND FILES", *_section(page("settings"), ""))
    yield from (".SH EXIT STATUS", *_section(page("output"), "Exit status"))
    yield from (".SH SEE ALSO", "The manual, which comes with kcli:")
    for topic in TOPICS:
        yield from (".TP", rf"\fBkcli help {_text(topic)}\fR", _text(title(topic)))


def _command(words: tuple[str, ...], command: Any, shared: dict[str, Any]) -> Iterator[str]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    metavars = " ".join(argument.metavar or "" for argument in arguments)
    yield f".SS kcli {' '.join(words)} {_text(metavars)}".rstrip()
    paragraphs = re.split(r"\n\s*\n", str(command.help))
    yield "\n.PP\n".join(_text(" ".join(paragraph.split())) for paragraph in paragraphs)
    for option in command.params:
        if option.param_type_name == "argument":
            yield from (".TP", rf"\fI{_text(option.metavar or option.name)}\fR", _text(option.help or ""))
        elif getattr(option, "rich_help_panel", None) in SHARED or option.name == "version":
            shared.setdefault(option.name, option)
        else:
            yield from _option(option)


def _option(option: Any) -> Iterator[str]:
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in (*option.opts, *option.secondary_opts))
    takes_value = not (option.is_flag or option.count)
    yield from (".TP", names + (rf" \fI{_text(option.metavar or 'TEXT')}\fR" if takes_value else ""))
    yield _text(option.help or "")


def _section(markdown: str, heading: str) -> Iterator[str]:
    """Yield what a page says under a heading, its tables as lists; under its title for no heading."""
    body = re.split(rf"^## {heading}\n" if heading else r"^# .*\n", markdown, maxsplit=1, flags=re.MULTILINE)[
        1
    ]
    for block in re.split(r"\n\n+", body.split("\n## ")[0].strip()):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            for line in lines[2:]:
                first, *others = (cell.strip() for cell in line.strip("|").split(" | "))
                yield from (".TP", rf"\fB{_plain(first)}\fR", _plain(": ".join(others)))
        elif lines[0].startswith("```"):
            yield from (".PP", ".nf", *map(_text, lines[1:-1]), ".fi")
        else:
            yield from (".PP", _plain(" ".join(lines)))


def _plain(markdown: str) -> str:
    return _text(markdown.replace("`", "").replace("\\|", "|").strip("| "))


def _text(text: str) -> str:
    """Return text as troff reads it: no escapes, no requests."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
