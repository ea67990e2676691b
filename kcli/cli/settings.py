"""Defaults of options that the user keeps: environment variables, and a config file; click takes them.

| from                       | is the default of `--fail-on` in |
|----------------------------|----------------------------------|
| `KCLI_FAIL_ON`             | every command                    |
| `KCLI_EPOCH_AT_FAIL_ON`    | `kcli epoch at`                  |
| `fail-on = ...`            | every command                    |
| `[epoch]`, `fail-on = ...` | every `kcli epoch`               |
| `[epoch.at]`, `fail-on`    | `kcli epoch at`                  |

The command line comes first, then the environment, then the file; a command before all commands. The file is
`KCLI_CONFIG`, else `kcli/config.toml` in `XDG_CONFIG_HOME` or `~/.config`; an empty `KCLI_CONFIG`
means that the command line alone counts.
"""

import os
from itertools import chain
from typing import Any

from kcli.cli.status import UsageError, reason_of
from kcli.output.suggest import did_you_mean

WITHOUT_DEFAULT = frozenset({"version", "help"})
"""Options without a default: images for containers set KCLI_VERSION and the like."""


def config_path() -> str | None:
    """Return the config file: what KCLI_CONFIG names, or the usual one if it exists; None for none."""
    named = os.environ.get("KCLI_CONFIG")
    if named is not None:
        return named or None
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    path = os.path.join(home, "kcli", "config.toml")
    return path if os.path.exists(path) else None


def drop_format_for_stdout(context: Any) -> None:
    """Forget a format of settings that is not for the target of `--out`: the name of a file says its own."""
    source, out = context.get_parameter_source("format"), context.params.get("out")
    if out is not None and source is not None and source.name in {"ENVIRONMENT", "DEFAULT_MAP"}:
        from kcli.output.formats import TEXT, format_of, is_run_directory

        output_format = format_of(context.params["format"], out, is_terminal=False)
        if not is_run_directory(out) or (
            output_format is not None and output_format.extension in {None, TEXT.extension}
        ):
            context.params["format"] = None


def default_map(command: Any, root: Any, path: str) -> dict[str, Any]:
    """Return what the config file says of the options of a command; UsageError for words that name none."""
    options = {long_name(param): param for param in command.params if param.param_type_name == "option"}
    defaults: dict[str, Any] = {}
    table = _read(path)
    if any(
        isinstance(value, dict) or key in WITHOUT_DEFAULT or key not in options
        for key, value in table.items()
    ):
        commands = every_command(root)
        names = {
            long_name(param) for command in commands.values() for param in command.params if param.opts
        } - WITHOUT_DEFAULT
        _refuse_unknown(table, names, {*chain.from_iterable(commands)}, path)
    for name in (*command.words, None):
        for key, value in table.items():
            option = options.get(key)
            if option is not None and option.name not in WITHOUT_DEFAULT:
                defaults[option.name] = [value] if option.multiple and not isinstance(value, list) else value
        table = table.get(name, {})
        if not isinstance(table, dict):
            break
    return defaults


def _read(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {reason_of(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from error


def _refuse_unknown(table: dict[str, Any], options: set[str], commands: set[str], path: str) -> None:
    """Refuse keys that are options of no command, and tables of no command."""
    for key, value in table.items():
        kind, names = ("command", commands) if isinstance(value, dict) else ("option", options)
        if key not in names:
            raise UsageError(
                f"{path}: {key}: no such {kind}; {did_you_mean(key, sorted(names))}".rstrip("; ")
            )
        if isinstance(value, dict):
            _refuse_unknown(value, options, commands, path)


def every_command(root: Any, *words: str) -> dict[tuple[str, ...], Any]:
    """Return every command below a group that can be run, by its words; this imports them all."""
    if not hasattr(root, "list_commands"):
        return {words: root}
    names = root.list_commands(None)
    below = (every_command(root.get_command(None, name), *words, name) for name in names)
    return dict(chain.from_iterable(commands.items() for commands in below))


def long_name(option: Any) -> str:
    """Return the longest name of an option, without its dashes."""
    return max(option.opts, key=len).lstrip("-")  # type: ignore[no-any-return]


def variables(words: tuple[str, ...], option: Any) -> list[str]:
    """Return the variables of an option of a command, the first before the second."""
    if option.name in WITHOUT_DEFAULT:
        return []
    names = ((*words, long_name(option)), (long_name(option),))
    return ["_".join(("KCLI", *name)).upper().replace("-", "_") for name in names]
