"""`--findings`: where findings go."""

import os

from kcli.cli.status import MissingError, RefusedError, UsageError
from kcli.cli.summary import RunSummary
from kcli.logdir.find import Found
from kcli.output.formats import CSV, NDJSON, PARQUET, OutputFormat, format_of, is_run_directory

INLINE, STDERR, NONE = "inline", "stderr", "none"
WORDS = (INLINE, STDERR, NONE)
FILES = {one.extension: one for one in (NDJSON, CSV, PARQUET)}


def check_destination(word: str) -> None:
    """Raise UsageError for what findings cannot go to, RefusedError for a file in a log dir."""
    if word in WORDS:
        return
    if _format(word) is None:
        from kcli.output.suggest import did_you_mean

        raise UsageError(
            f"--findings {word}: {did_you_mean(word, WORDS)}expected {', '.join(WORDS)}, or a file that ends "
            f"in {', '.join(f'.{extension}' for extension in FILES)}"
        )
    from kcli.cli.targets import refuse_log_dirs

    refuse_log_dirs(f"--findings {word}", word)
    if os.path.lexists(word) and not os.path.isfile(word):
        raise RefusedError(f"--findings {word}: this is not a regular file, and kcli would replace it")


def refuse_input(word: str, found: Found) -> None:
    """Raise RefusedError for a file that is an input."""
    if word not in WORDS and os.path.lexists(word):
        path = os.path.realpath(word)
        if any(os.path.realpath(target.path) == path for target in found.targets):
            raise RefusedError(f"--findings {word}: this is one of the inputs, and kcli would replace it")


def write_findings(word: str, summary: RunSummary) -> None:
    """Write the findings to the file that --findings names, if it names one; ndjson has the errors, too."""
    form = None if word in WORDS else _format(word)
    if form is None:
        return
    from kcli.output.finding_rows import write_messages

    try:
        os.makedirs(os.path.dirname(word) or ".", exist_ok=True)
        write_messages(word, form, *summary.messages())
    except OSError as error:
        raise MissingError(
            f"--findings {word}: cannot write: {(error.strerror or str(error)).lower()}"
        ) from error


def _format(word: str) -> OutputFormat | None:
    output = format_of(None, word, is_terminal=False) if "." in word else None
    return output if output in FILES.values() and not is_run_directory(word) else None
