"""Typer as kcli uses it: help without rich, its options in groups."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

INT64 = 2**63 - 1
WIDEST_HELP = 110
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST_HELP}


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by their panels, those without a panel first."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the command line; of a number that cannot be used the message says which can."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _in_plain_words(error.message, getattr(error.param, "type", None))
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, a section for each panel."""
        sections: dict[str, list[Any]] = defaultdict(list)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections[getattr(parameter, "rich_help_panel", None) or kind].append(record)
        for first in ("Options", "Arguments"):
            if first in sections:
                sections = {first: sections.pop(first), **sections}
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


def _in_plain_words(message: str, number_type: Any) -> str:
    """Return what is wrong with a number in kcli's words; any other message as it is."""
    found, is_not, _ = message.partition(" is not ")
    if not is_not or getattr(number_type, "name", None) != "int range":
        return message
    low, high = number_type.min, number_type.max
    bounds = f"of at least {low}" if high in {None, INT64} else f"from {low} to {high}"
    return f"expected a whole number {bounds}, found {found}"


class Group(typer.Typer):
    """A group of commands: no rich help, no completion of its own; `-h` is `--help`."""

    def __init__(self, **more: Any) -> None:
        super().__init__(
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings=CONTEXT,
            **more,
        )

    def command(self, name: str | None = None, **more: Any) -> Callable[[Any], Any]:
        """Return the decorator that adds a command."""
        return super().command(name, cls=GroupedCommand, **more)
