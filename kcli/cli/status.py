"""The exit statuses, and the exceptions that end a command with one line and one of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import ClassVar


class ExitStatus(IntEnum):
    """What the exit status of kcli means."""

    CLEAN = 0
    FINDINGS = 1
    USAGE = 2
    NOTHING_ANSWERED = 3
    SOME_UNANSWERED = 4
    REFUSED = 5
    INTERNAL = 70
    INTERRUPTED = 130


PRECEDENCE = tuple(map(ExitStatus, (130, 70, 5, 2, 4, 3, 1, 0)))


def worst(*statuses: ExitStatus) -> ExitStatus:
    """Return the status that wins over the others."""
    return min(statuses, key=PRECEDENCE.index, default=ExitStatus.CLEAN)


class CommandError(Exception):
    """A command cannot go on; the message is the one line that it prints."""

    status: ClassVar[ExitStatus] = ExitStatus.INTERNAL


class UsageError(CommandError):
    """The command line is wrong."""

    status = ExitStatus.USAGE


class RefusedError(CommandError):
    """What the command line asks for would not be safe."""

    status = ExitStatus.REFUSED


class MissingError(CommandError):
    """A part of the environment is missing: no JVM, no pyspark."""

    status = ExitStatus.SOME_UNANSWERED


def reason_of(error: OSError) -> str:
    """Return why the system refuses something, in its words."""
    return (error.strerror or str(error)).lower()


@contextmanager
def writing(argument: str) -> Iterator[None]:
    """Turn an error of writing into MissingError; `argument`: how the target was given."""
    try:
        yield
    except OSError as error:
        raise MissingError(f"{argument}: cannot write: {reason_of(error)}") from error
