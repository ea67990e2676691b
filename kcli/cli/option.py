"""How a command declares its options.

    def ls(*, recover: bool = option("--recover", "Recover logs..."), given: Given) -> Command: ...

`kcli.cli.typer_command` shows it to typer.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

import typer
from typer.models import OptionInfo

from kcli.cli.status import UsageError
from kcli.output.suggest import did_you_mean
from kcli.words import INT32, INT64

REQUIRED = ...
"""Typer's default of what must be given."""
WITHOUT_DEFAULT = frozenset({"version", "help"})
"""Options without a default: images for containers set KCLI_VERSION and the like."""
SHARED = ("Input", "Output", "Engine")
"""Panels whose options most commands share: they are listed once."""
COMPLETE = "_KCLI_COMPLETE"
"""The variable by which a shell asks what may follow: only then typer needs to know who answers."""

Words: TypeAlias = Callable[[], Iterable[str]]
"""Returns the words that a value may be; called only where a shell completes."""


class OptionDeclaration(OptionInfo):
    """An option with the words that it takes, where they are few."""

    choices: tuple[str, ...] = ()

    @property
    def long_name(self) -> str:
        """Its longest name, with its dashes."""
        return max(self.param_decls or (), key=len)


def option(
    spec: str,
    text: str,
    panel: str | None = None,
    *,
    default: Any = None,
    usual: Any = None,
    choices: tuple[str, ...] = (),
    words: Words | None = None,
    **more: Any,
) -> Any:
    """Return the declaration of an option.

    `spec`: its names and its metavar, as in `-o --output FORMAT`. Without a metavar it is a flag, off by
    default. `panel`: the part of the help that lists it. `usual`: a default that the help does not show.
    `choices`: a value of others is a UsageError. `words` returns what a shell may complete.
    """
    *_, metavar = parts = spec.split()
    names = [part for part in parts if part.startswith("-")]
    if usual is not None:
        default, more["show_default"] = usual, False
    if metavar.startswith("-"):
        metavar = "|".join(choices)
        default = False if default is None and not choices and "/" not in spec else default
    declared = OptionDeclaration(
        default=default,
        param_decls=names,
        metavar=metavar or None,
        help=text,
        rich_help_panel=panel,
        show_envvar=False,
        autocompletion=_completer(max(names, key=len), words or (lambda: choices or _alternatives(metavar))),
        **more,
    )
    declared.choices = choices
    return declared


number = partial(option, max=INT32)
"""An option of a number of 32 bits."""
offset_number = partial(option, min=0, max=INT64)


def moment(records: str, of: str) -> Any:
    """Return the option --at OFFSET|TIME, up to which `records` count; `of`: whose offset it is."""
    words = "(ISO-8601, @-1h, epoch ms of 12 digits or more)"
    return option("--at OFFSET|TIME", f"{records} up to this offset of {of}, or up to this time {words}.")


def argument(metavar: str, text: str, *, default: Any = None, words: Words | None = None) -> Any:
    """Return the declaration of an argument; REQUIRED for a default is one that must be given."""
    completer = _completer(metavar, words or (lambda: _alternatives(metavar)))
    return typer.Argument(default, metavar=metavar, help=text, show_default=False, autocompletion=completer)


def _alternatives(metavar: str) -> tuple[str, ...]:
    """Return the words of a metavar such as `a|b`; none of those that stand for something."""
    return tuple(word for word in metavar.split("|") if "|" in metavar and word.islower())


def _completer(name: str, words: Words) -> Callable[..., Any] | None:
    if COMPLETE not in os.environ:
        return None

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        from kcli.cli.completion import complete

        return complete(name, words(), ctx, incomplete)

    return complete


def choose(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return a value that is one of few; UsageError, with a suggestion, for another."""
    if value not in choices:
        advice = did_you_mean(value, choices)
        raise UsageError(f"{name} {value}: {advice}expected one of {', '.join(choices)}")
    return value


def every_command(root: Any) -> dict[tuple[str, ...], Any]:
    """Return every command below a group that can be run, by its words; this imports them all."""
    return dict(_below(root, ()))


def _below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    for name in command.list_commands(None):
        yield from _below(command.get_command(None, name), (*words, name))


def long_name(option: Any) -> str:
    """Return the longest name of an option, without its dashes."""
    return max(option.opts, key=len).lstrip("-")  # type: ignore[no-any-return]


def variables(words: tuple[str, ...], option: Any) -> list[str]:
    """Return the variables of an option of a command, the first before the second."""
    if option.name in WITHOUT_DEFAULT:
        return []
    names = ((*words, long_name(option)), (long_name(option),))
    return ["_".join(("KCLI", *name)).upper().replace("-", "_") for name in names]
