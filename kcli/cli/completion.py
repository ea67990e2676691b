"""What the words of a command line may become: values of options, names of columns, codes of findings.

Typer asks where a shell completes; its scripts are what `kcli completion` prints. Without any word the shell
completes file names.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from kcli.rows.declare import RowType

Meanings: TypeAlias = Iterable[tuple[str, str]]
"""Words that may follow, and what they mean."""

LISTS = frozenset({"--columns", "--sort", "--only", "--codec"})
WITH_TEXT = frozenset({"dump", "rlmm dump", "epoch show"})
WORDS_OF_CONDITIONS = ("and", "or", "not", "is null", "is not null", "in")
TIMES = (("now", ""), ("today", "00:00 UTC"), ("yesterday", "00:00 UTC"), ("1h", "an hour ago"))
FINDING_PLACES = (
    ("inline", "in the output where its format carries them, else on stderr"),
    ("stderr", "on stderr"),
    ("none", "nowhere"),
)
OFFSET_WORDS = (("earliest", "the log start"), ("latest", "the log end"))
NAME_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


def complete(name: str, choices: Iterable[str], context: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return what the value of an option, or argument, of a name may become, and what each means."""
    head, last = "", incomplete
    if name in LISTS and "," in incomplete:
        head = incomplete[: incomplete.rindex(",") + 1]
        last = incomplete.removeprefix(head)
    elif name == "--where":
        last = incomplete[len(incomplete.rstrip(NAME_LETTERS)) :]
        head = incomplete.removesuffix(last)
    used = head.split(",")
    meanings: Meanings = [(word, "") for word in choices]
    if name in ARGUMENTS:
        meanings = ARGUMENTS[name](context)
    elif name in WORDS_OF_OPTIONS:
        meanings = WORDS_OF_OPTIONS[name](" ".join(context.command.words))
    return [
        (head + word, meaning) for word, meaning in meanings if word.startswith(last) and word not in used
    ]


def _formats(command: str) -> Meanings:
    from kcli.output.formats import FORMATS, TEXT

    formats = [form for form in FORMATS.values() if form.on_stdout and form.is_for(command)]
    return [(form.name, "") for form in formats if form is not TEXT or command in WITH_TEXT]


def _columns(command: str) -> Meanings:
    return {column.name: column.doc for row_type in _types(command) for column in row_type.columns}.items()


def _sorting(command: str) -> Meanings:
    columns = list(_columns(command))
    return [*columns, *((f"-{name}", f"{doc}, descending") for name, doc in columns)]


def _types(command: str) -> "tuple[RowType, ...]":
    from kcli.rows import COMMANDS, row_types

    return row_types(command) if command in COMMANDS else ()


def _codecs(_command: str) -> Meanings:
    from formats.batch import COMPRESSION_NAMES

    return [(name, "") for name in COMPRESSION_NAMES.values()]


WORDS_OF_OPTIONS: dict[str, Callable[[str], Meanings]] = {
    "--output": _formats,
    "--only": lambda command: [(row.name, f"{len(row.columns)} columns") for row in _types(command)],
    "--columns": _columns,
    "--sort": _sorting,
    "--codec": _codecs,
    "--where": lambda command: [*_columns(command), *((word, "") for word in WORDS_OF_CONDITIONS)],
    "--findings": lambda _: FINDING_PLACES,
    "--time": lambda _: TIMES,
    "--at": lambda _: TIMES,
}
"""What returns the values of an option, given its command; others have choices or none."""


def _codes(context: Any) -> Meanings:
    from kcli.kafka.findings.catalogue import CATALOGUE

    codes = context.params.get("codes") or ()
    return [(code, rule.title) for code, rule in CATALOGUE.items() if code not in codes]


def _pages(context: Any) -> Meanings:
    from kcli.manual import TOPICS, title

    words = list(context.params.get("words") or ())
    if words:
        return _commands_with_rows(words[1:]) if words[0] == "columns" else ()
    return [
        ("columns", "Columns of a command's rows"),
        *((topic, title(topic)) for topic in TOPICS),
        *((name, f"Help of kcli {name}") for name in context.find_root().command.list_commands(None)),
    ]


def _commands_with_rows(words: list[str]) -> Meanings:
    from kcli.rows import COMMANDS

    names = [command.split() for command in COMMANDS]
    below = [name[len(words)] for name in names if name[: len(words)] == words and len(name) > len(words)]
    return [(name, "") for name in dict.fromkeys(below)]


ARGUMENTS: dict[str, Callable[[Any], Meanings]] = {
    "[CODE]...": _codes,
    "[TOPIC]": _pages,
    "COMMAND...": lambda context: _commands_with_rows(list(context.params.get("words") or ())),
    "OFFSET": lambda _: OFFSET_WORDS,
    "TIME": lambda _: (("max", "the largest timestamp"), *TIMES),
}
"""What returns the words of an argument, given the context with those before; others are paths."""
