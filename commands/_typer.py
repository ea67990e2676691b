"""Typer as kcli uses it: help without rich, its options in groups."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

WIDEST_HELP = 110
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST_HELP}


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by their panels, those without a panel first."""

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
