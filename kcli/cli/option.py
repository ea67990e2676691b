"""How a command declares its options, and what typer sees of them.

    def ls(*, recover: bool = option("--recover", "Recover logs..."), inputs: Inputs, output: Output): ...

Parameters that are NamedTuples of options, such as `Inputs`, are unfolded after the command's own.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any, TypeAlias, get_type_hints

import typer
from typer.models import OptionInfo

from kcli.cli.boundary import boundary
from kcli.cli.status import UsageError

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
    choices: tuple[str, ...] = (),
    words: Words | None = None,
    **more: Any,
) -> Any:
    """Return the declaration of an option.

    `spec`: its names and its metavar, as in `-o --output FORMAT`. Without a metavar it is a flag, off by
    default. `panel`: the part of the help that lists it. `choices`: a value of others is a UsageError.
    `words` returns what a shell may complete.
    """
    *_, metavar = parts = spec.split()
    names = [part for part in parts if part.startswith("-")]
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
        from kcli.output.suggest import did_you_mean

        advice = did_you_mean(value, choices)
        raise UsageError(f"{name} {value}: {advice}expected one of {', '.join(choices)}")
    return value


def unfold_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as typer shall see it: its NamedTuples of options unfolded, in one error boundary.

    Options that the command declares itself keep their defaults in the NamedTuples.
    """
    parameters = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if hasattr(p.annotation, "_field_defaults")
    }
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters if p.name not in groups]
    names = {p.name for p in own}
    options = {name: [p for p in _unfold(group) if p.name not in names] for name, group in groups.items()}
    visible = [*own, *chain.from_iterable(options.values())]
    choices = [
        (p.name, p.default.long_name, p.default.choices)
        for p in visible
        if isinstance(p.default, OptionDeclaration) and p.default.choices
    ]

    def wrapper(**given: Any) -> None:
        with boundary(verbose=given.get("verbose", 0)):
            for name, option_name, words in choices:
                if given[name] is not None:
                    choose(option_name, given[name], words)
            values = {
                name: group(
                    **{p.name: p.default.default for p in _unfold(group) if p.name in names},
                    **{p.name: given.pop(p.name) for p in options[name]},
                )
                for name, group in groups.items()
            }
            command(**given, **values)

    wrapper.__signature__ = inspect.Signature(visible)  # type: ignore[attr-defined]  # typer reads it
    wrapper.__annotations__ = {p.name: p.annotation for p in visible}
    wrapper.__name__ = command.__name__
    wrapper.__doc__ = command.__doc__
    return wrapper


@cache
def _unfold(group: Any) -> list[inspect.Parameter]:
    """Return the fields of a NamedTuple of options as parameters."""
    hints = get_type_hints(group)
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in group._field_defaults.items()
    ]


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
