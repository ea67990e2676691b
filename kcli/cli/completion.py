"""Completion: the scripts for shells, and the words that may follow those on a command line.

A script runs kcli with the words up to the cursor as its arguments, and the shell's name in `_KCLI_COMPLETE`.
kcli prints a line for each word that may follow: the word, for zsh and fish with a tab and what it means. No
line: the shell completes file names.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from kcli.cli.settings import long_name
from kcli.cli.typer_command import summary

if TYPE_CHECKING:
    from kcli.rows import RowType

SCRIPTS = {
    "bash": r"""_kcli_complete() {
    local IFS=$'\n'
    COMPREPLY=($(_KCLI_COMPLETE=bash "${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _kcli_complete kcli
""",
    "zsh": r"""#compdef kcli
_kcli() {
    local -a lines described
    local line word meaning
    lines=("${(@f)$(_KCLI_COMPLETE=zsh "${words[1]}" "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in $lines; do
        [[ -n $line ]] || continue
        word=${line%%$'\t'*} meaning=${line#*$'\t'}
        described+=("${word//:/\\:}${meaning:+:$meaning}")
    done
    if (( ${#described} )); then
        _describe -V kcli described
    else
        _files
    fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _kcli kcli
""",
    "fish": r"""function __kcli_complete
    set -l before (commandline -opc)
    set -l lines (env _KCLI_COMPLETE=fish $before[1] $before[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $lines) -gt 0
        printf '%s\n' $lines
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c kcli -f -k -a '(__kcli_complete)'
""",
}
"""What `kcli completion` prints."""

DESCRIBED = frozenset({"zsh", "fish"})
"""The shells that show what a word means."""
QUOTES = ("'", '"')
"""What a word may begin with that is not ended yet: bash takes the word back with it, others without."""
LISTS = frozenset({"columns", "sort", "only", "codec"})

Words: TypeAlias = Iterable[tuple[str, str]]
"""Words that may follow, and what they mean."""


def complete(shell: str, words: list[str]) -> None:
    """Print what may follow `words`; the last of them is incomplete, or empty."""
    *before, last = words or [""]
    quote = last[: last[:1] in QUOTES]
    for word, meaning in candidates([*before, last.removeprefix(quote)]):
        line = f"{word}\t{' '.join(meaning.split())}" if shell in DESCRIBED else f"{quote}{word}"
        sys.stdout.write(f"{line}\n")


def candidates(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the words that may stand where the last word is, and begin with it."""
    before, last = words[:-1], words[-1]
    if last == "=":  # bash makes three words of --option=value
        last = ""
    elif before[-1:] == ["="]:
        before = before[:-1]
    command, option, given = _parsed(before)
    head = ""
    if option is None and last.startswith("--") and "=" in last:
        name, _, last = last.partition("=")
        option, head = _option(command, name), f"{name}="
    if option is not None:
        begun, last, found = _values_after(option, command, last)
        head += begun
    elif last.startswith("-"):
        found = _options(command, given)
    elif hasattr(command, "list_commands"):
        found = ((name, summary(command.get_command(None, name))) for name in command.list_commands(None))
    else:
        found = arguments(" ".join(command.words), given)
    for word, meaning in found:
        if word.startswith(last):
            yield head + word, meaning


def _parsed(words: list[str]) -> tuple[Any, Any, list[str]]:
    """Return the command that words lead to, the option whose value is next or None, and the other words."""
    from commands.app import app

    command: Any = typer.main.get_command(app)
    option, given = None, []
    for word in words:
        if option is not None:
            option = None
        elif word.startswith("-"):
            found = None if "=" in word else _option(command, word)
            option = found if found is not None and not (found.is_flag or found.count) else None
            given.append(word.partition("=")[0])
        elif hasattr(command, "list_commands") and word in command.list_commands(None):
            command, given = command.get_command(None, word), []
        else:
            given.append(word)
    return command, option, given


def _option(command: Any, name: str) -> Any:
    """Return the option of this name, None for none."""
    options = (one for one in command.params if one.param_type_name == "option")
    return next((one for one in options if name in {*one.opts, *one.secondary_opts}), None)


def _options(command: Any, given: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the long names of options that may follow."""
    for option in command.params:
        if option.param_type_name == "option" and not option.hidden:
            names = [*option.opts, *option.secondary_opts]
            if option.multiple or option.count or not set(names) & set(given):
                yield from ((name, option.help or "") for name in names if name.startswith("--"))
    yield "--help", "Show the help."


def _values_after(option: Any, command: Any, value: str) -> tuple[str, str, Words]:
    """Return the part of a value that stays, the part that is to be completed, and what it may become."""
    found = values(option, command)
    if long_name(option) in LISTS and "," in value:
        listed = value[: value.rindex(",") + 1]
        used = set(listed.split(","))
        return listed, value.removeprefix(listed), ((word, said) for word, said in found if word not in used)
    if long_name(option) == "where":
        name = value[len(value.rstrip(NAME)) :]
        return value.removesuffix(name), name, found
    return "", value, found


def values(option: Any, command: Any) -> Words:
    """Return the values that an option can have; none where kcli does not know them."""
    find = VALUES.get(long_name(option))
    if find is not None:
        return find(" ".join(command.words))
    choices = (option.metavar or "").split("|")
    return [(word, "") for word in choices if len(choices) > 1 and word.islower()]


def arguments(command: str, given: list[str]) -> Words:
    """Return what may be an argument of a command; none for paths, which the shell completes."""
    words = [word for word in given if not word.startswith("-")]
    find = ARGUMENTS.get(command)
    return find(words) if find is not None else ()


WITH_TEXT = {"dump", "rlmm dump", "epoch show"}


def _formats(command: str) -> Words:
    from kcli.output.formats import FORMATS, TEXT

    formats = [one for one in FORMATS.values() if one.on_stdout and one.of in {None, command}]
    return [(one.name, "") for one in formats if one is not TEXT or command in WITH_TEXT]


def _row_types(command: str) -> Words:
    return [(one.name, f"{len(one.columns)} columns") for one in _types(command)]


def _columns(command: str) -> Words:
    return {column.name: column.doc for one in _types(command) for column in one.columns}.items()


def _sorting(command: str) -> Words:
    columns = list(_columns(command))
    return [*columns, *((f"-{name}", f"{doc}, descending") for name, doc in columns)]


def _types(command: str) -> "tuple[RowType, ...]":
    from kcli.rows import COMMANDS, row_types

    return row_types(command) if command in COMMANDS else ()


def _severities(_command: str) -> Words:
    from kcli.kafka.findings.findings import SEVERITIES

    return [(word, "") for word in (*SEVERITIES, "never")]


def _codecs(_command: str) -> Words:
    from formats.batch import COMPRESSION_NAMES

    return [(name, "") for name in COMPRESSION_NAMES.values()]


def _decoders(_command: str) -> Words:
    from kcli.cli.dump_options import AUTO, DECODERS, NONE

    return [(word, "") for word in (AUTO, NONE, *DECODERS.values())]


def _shown_bytes(_command: str) -> Words:
    from kcli.dump.shown_bytes import MODES

    return [(word, "") for word in MODES]


def _conditions(command: str) -> Words:
    return [*_columns(command), *((word, "") for word in WORDS_OF_CONDITIONS)]


def _protocols(command: str) -> Words:
    from commands.truncate import PROTOCOLS as OF_TRUNCATE
    from kcli.kafka.replication.follower import PROTOCOLS

    return [(word, "") for word in (OF_TRUNCATE if command == "truncate" else PROTOCOLS)]


def _findings(_command: str) -> Words:
    return [
        ("inline", "in the output where its format carries them, else on stderr"),
        ("stderr", "on stderr"),
        ("none", "nowhere"),
    ]


WORDS_OF_CONDITIONS = ("and", "or", "not", "is null", "is not null", "in")
TIMES = (("now", ""), ("today", "00:00 UTC"), ("yesterday", "00:00 UTC"), ("1h", "an hour ago"))
NAME = "abcdefghijklmnopqrstuvwxyz0123456789_"

VALUES: dict[str, Callable[[str], Words]] = {
    "output": _formats,
    "only": _row_types,
    "columns": _columns,
    "sort": _sorting,
    "fail-on": _severities,
    "color": lambda _: [("auto", ""), ("always", ""), ("never", "")],
    "codec": _codecs,
    "decoder": _decoders,
    "bytes": _shown_bytes,
    "where": _conditions,
    "findings": _findings,
    "time": lambda _: TIMES,
    "at": lambda _: TIMES,
    "protocol": _protocols,
}
"""What returns the values of an option, given its command; other options have them in the metavar."""


def _codes(given: list[str]) -> Words:
    from kcli.kafka.findings.catalogue import CATALOGUE

    return [(code, rule.title) for code, rule in CATALOGUE.items() if code not in given]


def _pages(given: list[str]) -> Words:
    from commands.app import COMMANDS
    from kcli.manual import TOPICS, title

    if given[:1] == ["columns"]:
        return _commands_with_rows(given[1:])
    if given:
        return ()
    return [
        ("columns", "Columns of a command's rows"),
        *((topic, title(topic)) for topic in TOPICS),
        *((name, f"Help of kcli {name}") for name in COMMANDS),
    ]


def _commands_with_rows(given: list[str]) -> Words:
    from kcli.rows import COMMANDS

    names = [command.split() for command in COMMANDS]
    below = [words[len(given)] for words in names if words[: len(given)] == given and len(words) > len(given)]
    return [(word, "") for word in dict.fromkeys(below)]


def _scenarios(given: list[str]) -> Words:
    from kcli.jobs.replica.simulate import bundled

    return [] if given else [(name, "") for name in bundled()]


def _first(*words: tuple[str, str]) -> Callable[[list[str]], Words]:
    """Return what offers words as the first argument."""
    return lambda given: [] if given else words


OFFSETS = (("earliest", "the log start"), ("latest", "the log end"))

ARGUMENTS: dict[str, Callable[[list[str]], Words]] = {
    "explain": _codes,
    "help": _pages,
    "schema": _commands_with_rows,
    "completion": _first(*((shell, "") for shell in SCRIPTS)),
    "replica simulate": _scenarios,
    "epoch at": _first(*OFFSETS),
    "lookup offset": _first(*OFFSETS),
    "rlmm lookup offset": _first(*OFFSETS),
    "lookup timestamp": _first(("max", "the largest timestamp"), *TIMES),
    "rlmm lookup timestamp": _first(("max", "the largest timestamp"), *TIMES),
}
"""What returns the arguments of a command that are no paths, given those before."""
