"""Defaults of options that the user keeps: environment variables, and a config file; click takes them.

| from                       | is the default of `--fail-on` in |
|----------------------------|----------------------------------|
| `KCLI_FAIL_ON`             | every command                    |
| `KCLI_EPOCH_AT_FAIL_ON`    | `kcli epoch at`                  |
| `fail-on = ...`            | every command                    |
| `[epoch]`, `fail-on = ...` | every `kcli epoch`               |
| `[epoch.at]`, `fail-on`    | `kcli epoch at`                  |

The command line comes first, then the environment, then the file; a command before all commands. The file is
`KCLI_CONFIG`, else `kcli/config.toml` in `XDG_CONFIG_HOME` or `~/.config`; an empty `KCLI_CONFIG` is none.
"""

import os
from collections.abc import Collection
from typing import Any

from kcli.cli.option import NEVER, every_command, long_name
from kcli.cli.status import UsageError


def config_path() -> str | None:
    """Return the config file: what KCLI_CONFIG names, or the usual one if it exists; None for none."""
    named = os.environ.get("KCLI_CONFIG")
    if named is not None:
        return named or None
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    path = os.path.join(home, "kcli", "config.toml")
    return path if os.path.exists(path) else None


def source_of(context: Any, option: Any) -> str | None:
    """Return the variable, or the config file, that a value is from; None for other values."""
    source = context.get_parameter_source(option.name)
    if source is None or source.name not in {"ENVIRONMENT", "DEFAULT_MAP"}:
        return None
    given = [name for name in option.envvar or () if os.environ.get(name)]
    return given[0] if source.name == "ENVIRONMENT" else config_path()


def is_for_stdout(output: str, out: str | None) -> bool:
    """Whether a format of settings is not for the target of `--out`: the name of a file says its own."""
    from kcli.output.formats import TEXT, format_of, is_run_directory

    if out is None:
        return False
    found = format_of(output, out, is_terminal=False)
    return not is_run_directory(out) or (found is not None and found.extension in {None, TEXT.extension})


def default_map(command: Any, root: Any, path: str) -> dict[str, Any]:
    """Return what the config file says of a command's options, by the names of their parameters.

    UsageError for a file that cannot be read, and for a key or a table that names no option, no command.
    """
    options = {long_name(one): one for one in command.params if one.param_type_name == "option"}
    found: dict[str, Any] = {}
    table = _read(path)
    _refuse_unknown(table, options, root, path)
    for word in (*command.words, None):
        for key, value in table.items():
            option = options.get(key)
            if option is not None and option.name not in NEVER:
                found[option.name] = [value] if option.multiple and not isinstance(value, list) else value
        table = table.get(word, {})
        if not isinstance(table, dict):
            break
    return found


def _read(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from error


def _refuse_unknown(table: dict[str, Any], known: Collection[str], root: Any, path: str) -> None:
    """Refuse keys that are options of no command, and tables of no command."""
    tables = {key for key, value in table.items() if isinstance(value, dict)}
    keys = table.keys() - tables
    if not tables and keys <= {*known} - NEVER:
        return
    commands = every_command(root)
    names = {long_name(one) for command in commands.values() for one in command.params if one.opts} - NEVER
    groups = {words[0] for words in commands}
    for key in tables - groups:
        raise UsageError(f"{path}: [{key}]: no such command{_advice(key, groups)}")
    for place, values in _tables(table, ""):
        for key, value in values.items():
            if not isinstance(value, dict) and key not in names:
                raise UsageError(f"{path}: {place}{key}: no such option{_advice(key, names)}")


def _tables(table: dict[str, Any], place: str) -> list[tuple[str, dict[str, Any]]]:
    below = [(f"{place}{key}.", value) for key, value in table.items() if isinstance(value, dict)]
    return [(place, table), *(each for name, value in below for each in _tables(value, name))]


def _advice(word: str, known: set[str]) -> str:
    from kcli.output.suggest import did_you_mean

    advice = did_you_mean(word, sorted(known)).rstrip()
    return advice and f"; {advice}"
