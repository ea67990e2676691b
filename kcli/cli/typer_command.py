"""Typer as kcli uses it: help without rich, its options in groups."""

import inspect
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from kcli.cli.boundary import CALLER, Caller, boundary
from kcli.cli.command import COMPLETE, SHARED, Command, OptionDeclaration, choose
from kcli.cli.settings import config_path, default_map, drop_format_for_stdout
from kcli.cli.status import UsageError
from kcli.output.suggest import did_you_mean
from kcli.words import INT32, INT64

WIDEST_HELP = 120
LONGEST_SUMMARY = 1000
COMMAND_LINE = "kcli.command_line"
"""In a context's meta: what the command line gives."""
WRONG_WORDS: Any = typer.BadParameter.__base__
"""What a command line raises that cannot be parsed: typer exports no name for it."""
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST_HELP}


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by their panels, those without a panel first."""

    words: tuple[str, ...] = ()
    """What the user types for it, without `kcli`; set by commands.app."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of a command line, with the defaults that the user's config file says."""
        path = None if parent is None or parent.resilient_parsing else config_path()
        if path is not None:
            with boundary():
                extra["default_map"] = default_map(self, parent.find_root().command, path)
        return super().make_context(info_name, args, parent=parent, **extra)

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that refuses a repeated single value."""
        parser: Any = keep_command_line(super().make_parser(ctx), ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            arguments = [*args]  # the parser takes them away
            try:
                parsed = parse(args)
            except Exception as error:
                _advise(error, arguments, ctx)
                raise
            if not ctx.resilient_parsing:
                with boundary():
                    _refuse_repeated(parsed[2])
            return parsed

        parser.parse_args = parse_args
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the command line; the message about a number says which can be used."""
        try:
            arguments = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _in_plain_words(error.message, getattr(error.param, "type", None))
            raise
        if self.words not in {("salvage",), ("bundle",)}:
            drop_format_for_stdout(ctx)
        return arguments

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and the command's own options, a section for each panel."""
        sections = self._sections(ctx)
        for first in ("Options", "Arguments"):
            if first in sections:
                sections = {first: sections.pop(first), **sections}
        _write(formatter, {name: records for name, records in sections.items() if name not in SHARED})

    def write_shared_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options that this command has in common with others."""
        _write(formatter, {name: self._sections(ctx)[name] for name in SHARED})

    def _sections(self, ctx: Any) -> dict[str, list[Any]]:
        """Return the words and the help of parameters, by the title of their section."""
        sections: dict[str, list[Any]] = defaultdict(list)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                record = (record[0], _without_bounds(record[1]))
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections[getattr(parameter, "rich_help_panel", None) or kind].append(record)
        return sections

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write where to read on."""
        from kcli.rows import COMMANDS

        shared = {name: own[0][0] for name, own in self._sections(ctx).items() if name in SHARED}
        if shared:
            *panels, last = map(str.lower, shared)
            titles = f"{', '.join(panels)} and {last}" if panels else last
            some = ", ".join(names.split()[0].rstrip(",") for names in shared.values())
            formatter.write(f"\nOptions of {titles} ({some}): kcli help options\n")
        command = " ".join(self.words)
        if command in COMMANDS:
            formatter.write(f"Columns of its rows: kcli help columns {command}\n")
            formatter.write("Environment and config file: kcli help settings\n")


def _write(formatter: Any, sections: dict[str, list[Any]]) -> None:
    for name, records in sections.items():
        with formatter.section(name):
            formatter.write_dl(records)


def keep_command_line(parser: Any, ctx: Any) -> Any:
    """Return a parser that also leaves what the command line gives in the context's meta."""
    parse = parser.parse_args

    def parse_args(args: list[str]) -> Any:
        parsed = parse(args)
        ctx.meta[COMMAND_LINE] = parsed[0]
        return parsed

    parser.parse_args = parse_args
    return parser


class GroupOfCommands(TyperGroup):
    """A group whose help shows the whole summary of each command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words begin with; one that is unknown gives a suggestion."""
        names = self.list_commands(ctx)
        if args[0] in names or args[0].startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        with boundary():
            path = ctx.command_path
            command = f"{path} {args[0]}".removeprefix("kcli ")
            raise UsageError(f"no such command: {command}; {self.advice(path, args[0], names)}")

    def advice(self, path: str, name: str, names: list[str]) -> str:
        """Return what to type in place of a word that is no command."""
        return did_you_mean(name, names).rstrip() or f"{path} -h lists the commands"

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands."""
        self.write_section(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_section(self, ctx: Any, formatter: Any, title: str, names: Iterable[str]) -> None:
        """Write some of the commands under a title."""
        commands = {name: self.get_command(ctx, name) for name in names}
        with formatter.section(title):
            formatter.write_dl([(name, summary(command)) for name, command in commands.items()])


@contextmanager
def in_own_words() -> Iterator[None]:
    """Let what the parser refuses end as every other wrong command line does; help that it raises passes."""
    try:
        yield
    except WRONG_WORDS as error:
        ctx = getattr(error, "ctx", None)
        if ctx is not None and error.message == ctx.get_help():
            raise
        with boundary():
            command = "kcli" if ctx is None else ctx.command_path
            message = usage_words(error)
            end = " " if message.endswith("?") else "; "
            raise UsageError(f"{message}{end}{command} -h says what it takes") from error


def usage_words(error: Any) -> str:
    """Return what the parser refuses, in the words of kcli."""
    text = error.format_message() if isinstance(error, typer.BadParameter) else error.message
    text = re.sub(r"'(-[^']*|[A-Z][A-Z.]+)'", r"\1", text.removeprefix("Invalid value for ").rstrip("."))
    close = getattr(error, "possibilities", None)
    return text[:1].lower() + text[1:] + (f"; did you mean {' or '.join(sorted(close))}?" if close else "")


def summary(command: Any) -> str:
    """Return the first sentence of a command's help."""
    return str(command.get_short_help_str(limit=LONGEST_SUMMARY))


def _refuse_repeated(order: list[Any]) -> None:
    """Refuse an option that takes one value and is given more than once."""
    for option, times in Counter(order).items():
        takes_one = not (option.multiple or option.count) if option.param_type_name == "option" else False
        is_plain_flag = getattr(option, "is_flag", False) and not option.secondary_opts
        if times > 1 and takes_one and not is_plain_flag:
            raise UsageError(f"{max(option.opts, key=len)} is given {times} times; it takes one value")


def _without_bounds(text: str) -> str:
    """Return the help of an option without bounds that say nothing, the others in plain words."""
    text = re.sub(rf"(-?[0-9]+)<=x<=({INT64}|{INT32})\b", r"x>=\1", text)
    text = re.sub(r"  \[x>=[01]\]|; x>=[01](?=\])", "", text)
    return re.sub(r"x>=(-?[0-9]+)", r"at least \1", re.sub(r"(-?[0-9]+)<=x<=(-?[0-9]+)", r"\1..\2", text))


def _advise(error: Any, args: list[str], ctx: Any) -> None:
    """Say, of an option that does not exist, how to write -1h, so long ago, or --no-X, set elsewhere."""
    error.ctx = getattr(error, "ctx", None) or ctx
    option = getattr(error, "option_name", "")
    flag = option.replace("--no-", "--", 1)
    options = (param for param in ctx.command.params if param.param_type_name == "option")
    if flag != option and any(param.is_flag and flag in param.opts for param in options):
        variable = f"KCLI_{flag[2:].upper().replace('-', '_')}=0"
        error.message = (
            f"no such option: {option}; where settings switch {flag} on, {variable} switches it off"
        )
        error.possibilities = None
    if option[1:].isdigit():
        from kcli.words import DURATION_TEXT

        times = [text[1:] for text in args if text.startswith(option) and DURATION_TEXT.fullmatch(text[1:])]
        if times:
            error.message = f"no such option: -{times[0]}; for so long ago write {times[0]}"


def _in_plain_words(message: str, number_type: Any) -> str:
    """Return what is wrong with a number in kcli's words; any other message as it is."""
    value, is_not, _ = message.partition(" is not ")
    if not is_not or getattr(number_type, "name", None) != "int range":
        return message
    low, high = number_type.min, number_type.max
    is_too_large = high is not None and value.isdigit()
    bounds = f"from {low} to {high}" if is_too_large or high not in {None, INT64} else f"of at least {low}"
    return f"expected a whole number {bounds}, found {value}"


def unfold_options(command: Callable[..., Command | None]) -> Callable[..., None]:
    """Return the command as typer shall see it, in one error boundary; what it returns is run.

    Parameters that are NamedTuples of options, such as `Inputs`, or of such, as `Options`, are unfolded after
    the command's own, which keep their defaults in the NamedTuples.
    """
    parameters = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {p.name: p.annotation for p in parameters if hasattr(p.annotation, "_fields")}
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters if p.name not in groups]
    names = {p.name for p in own}
    unfolded = chain.from_iterable(map(_unfold, groups.values()))
    visible = [*own, *(p for p in unfolded if p.name not in names)]
    choices = [
        (p.name, p.default.long_name, p.default.choices)
        for p in visible
        if isinstance(p.default, OptionDeclaration) and p.default.choices
    ]

    def wrapper(**values: Any) -> None:
        with boundary(verbose=values.get("verbose", 0)):
            for name, option_name, alternatives in choices:
                if values[name] is not None:
                    choose(option_name, values[name], alternatives)
            own_values = {name: values.pop(name) for name in names}
            result = command(**own_values, **{name: _folded(group, values) for name, group in groups.items()})
            if result is not None:
                from kcli.cli.run import run

                run(result)

    wrapper.__signature__ = inspect.Signature(visible)  # type: ignore[attr-defined]  # typer reads it
    wrapper.__annotations__ = {p.name: p.annotation for p in visible}
    wrapper.__name__ = command.__name__
    wrapper.__doc__ = command.__doc__
    return wrapper


def _unfold(group: Any) -> list[inspect.Parameter]:
    """Return the fields of a NamedTuple of options, and of those in it, as parameters."""
    parameters = []
    for name, kind in _hints(group).items():
        if hasattr(kind, "_fields"):
            parameters += _unfold(kind)
        else:
            default = group._field_defaults[name]
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, keyword, default=default, annotation=kind))
    return parameters


def _folded(group: Any, values: dict[str, Any]) -> Any:
    """Return a NamedTuple of options of what is given; of an option of the command's own its default."""
    return group._make(
        _folded(kind, values)
        if hasattr(kind, "_fields")
        else values.get(name, group._field_defaults[name].default)
        for name, kind in _hints(group).items()
    )


_hints = cache(get_type_hints)


class Group(typer.Typer):
    """A group of commands: no rich help; `-h` is `--help`."""

    def __init__(self, text: str = "", cls: type[TyperGroup] = GroupOfCommands, **extra: Any) -> None:
        super().__init__(
            help=text,
            cls=cls,
            no_args_is_help=True,
            add_completion=COMPLETE in os.environ,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings=CONTEXT,
            **extra,
        )

    def command(self, name: str | None = None, **extra: Any) -> Callable[[Any], Any]:
        """Return the decorator that adds a command; its groups of options are unfolded."""
        add = super().command(name, cls=GroupedCommand, **extra)
        return lambda function: add(unfold_options(function))


def command_of(app: typer.Typer, words: Sequence[str]) -> Any:
    """Return the command of these words, without the variables that say defaults of its options."""
    command: Any = typer.main.get_command(app)
    for name in words:
        command = command.get_command(None, name)
    for parameter in command.params:
        parameter.envvar = None
    return command


def run_for(caller: Caller, command: Any, name: str, line: list[str]) -> None:
    """Run a command with the words of a line; what ends it early is raised. No config file is read."""
    before = CALLER.set(caller)
    try:
        with in_own_words(), command.make_context(f"kcli {name}", line) as context:
            command.invoke(context)
    except typer.Exit:
        return
    finally:
        CALLER.reset(before)
