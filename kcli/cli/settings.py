"""Defaults of options that the user keeps: environment variables, and a config file.

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
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from kcli.cli.boundary import sources
from kcli.cli.status import UsageError

EveryCommand: TypeAlias = Callable[[], dict[tuple[str, ...], Any]]

CONFIG = "KCLI_CONFIG"
PREFIX = "KCLI_"
NEVER = frozenset({"version", "help"})
"""Options without a default: images for containers set KCLI_VERSION and the like."""
OUTPUT = "output"
MAKE_COPIES = frozenset({("salvage",)})
"""Commands whose `--out` is not for rows."""
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def config_path() -> str | None:
    """Return the config file: what KCLI_CONFIG names, or the usual one if it exists; None for none."""
    named = os.environ.get(CONFIG)
    if named is not None:
        return named or None
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    path = os.path.join(home, "kcli", "config.toml")
    return path if os.path.exists(path) else None


def fill_in(given: dict[str, Any], command: Any, every_command: EveryCommand) -> None:
    """Add to the options that the command line gives those that have a default of the user's.

    `every_command` returns all commands, by their words: a key of the file may be another command's.
    UsageError, which names the variable or the file and key, for a value that the option cannot have.
    """
    options = {
        long_name(option): option
        for option in command.params
        if option.param_type_name == "option" and option.name not in NEVER
    }
    found = {
        **_configured(options, command.words, every_command),
        **dict(_from_environment(options, command.words)),
    }
    sources.clear()
    for name, (value, where) in found.items():
        if options[name].name not in given:
            given[options[name].name] = value
            sources[name] = where
    if (
        OUTPUT in sources
        and command.words not in MAKE_COPIES
        and not _suits(given["format"], given.get("out"))
    ):
        del given["format"], sources[OUTPUT]


def _suits(output: str, out: str | None) -> bool:
    """Whether a format of settings is for the target of `--out`: the name of a file says its own."""
    from kcli.output.formats import TEXT, format_of, is_run_directory

    if out is None:
        return True
    found = format_of(output, out, is_terminal=False)
    return is_run_directory(out) and (found is None or found.extension not in {None, TEXT.extension})


def long_name(option: Any) -> str:
    """Return the longest name of an option, without its dashes."""
    return max(option.opts, key=len).lstrip("-")  # type: ignore[no-any-return]


def _from_environment(
    options: dict[str, Any], words: tuple[str, ...]
) -> Iterator[tuple[str, tuple[Any, str]]]:
    for name, option in options.items():
        for variable in (_variable(*words, name), _variable(name)):
            text = os.environ.get(variable)
            if text:
                yield name, (_of_text(option, text, variable), variable)
                break


def _variable(*words: str) -> str:
    return PREFIX + "_".join(words).upper().replace("-", "_")


def _of_text(option: Any, text: str, variable: str) -> Any:
    """Return the value of a variable as the parser gives it."""
    if option.is_flag:
        if text.lower() not in {*TRUE, *FALSE}:
            raise UsageError(f"{variable}={text}: expected one of {', '.join((*TRUE, *FALSE))}")
        return text.lower() in TRUE
    if option.count:
        if not text.isdecimal():
            raise UsageError(f"{variable}={text}: expected a whole number")
        return int(text)
    return [text] if option.multiple else text


def _configured(
    options: dict[str, Any], words: tuple[str, ...], every_command: EveryCommand
) -> dict[str, tuple[Any, str]]:
    """Return the values in the config file, those of a command's own table before those of all commands."""
    path = config_path()
    if path is None:
        return {}
    found = {}
    table: Any = _read(path)
    for depth in range(len(words) + 1):
        place = "".join(f"{word}." for word in words[:depth])
        for key, value in table.items():
            if isinstance(value, dict):
                continue
            if key in options:
                where = f"{place}{key} in {path}"
                found[key] = _of_toml(options[key], value, f"{path}: {place}{key}"), where
            else:
                _refuse_unknown(key, f"{path}: {place}{key}", every_command)
        if depth == 0:
            _refuse_unknown_commands(table, path, every_command)
        table = table.get(words[depth], {}) if depth < len(words) else {}
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


def _of_toml(option: Any, value: Any, place: str) -> Any:
    """Return a value of the config file as the parser gives it."""
    if option.is_flag or option.count:
        kind, words = (bool, "true or false") if option.is_flag else (int, "a whole number")
        if type(value) is not kind:
            raise UsageError(f"{place}: expected {words}, found {value!r}")
        return value
    values = value if isinstance(value, list) and option.multiple else [value]
    for one in values:
        if type(one) not in {str, int, float}:
            expected = "text, a number or a list of them" if option.multiple else "text or a number"
            raise UsageError(f"{place}: expected {expected}, found {one!r}")
    texts = [str(one) for one in values]
    return texts if option.multiple else texts[0]


def _refuse_unknown(key: str, place: str, every_command: EveryCommand) -> None:
    """Refuse a key that is an option of no command."""
    known = {
        long_name(option)
        for command in every_command().values()
        for option in command.params
        if option.param_type_name == "option"
    } - NEVER
    if key not in known:
        raise UsageError(f"{place}: no such option{_advice(key, known)}")


def _refuse_unknown_commands(table: dict[str, Any], path: str, every_command: EveryCommand) -> None:
    tables = [key for key, value in table.items() if isinstance(value, dict)]
    known = {words[0] for words in every_command()} if tables else set()
    for key in tables:
        if key not in known:
            raise UsageError(f"{path}: [{key}]: no such command{_advice(key, known)}")


def _advice(word: str, known: set[str]) -> str:
    from kcli.output.suggest import did_you_mean

    advice = did_you_mean(word, sorted(known)).rstrip()
    return advice and f"; {advice}"
