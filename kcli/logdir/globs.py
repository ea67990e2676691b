"""Paths that arguments stand for: globs, where nothing is left out without a note."""

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator


def expand(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the paths that arguments stand for: themselves, or what a glob matches, sorted.

    A pattern that matches nothing stays as it is, so that it fails by name; so does a directory that cannot
    be searched.
    """
    for argument in arguments:
        if glob.has_magic(argument) and not os.path.lexists(argument):
            yield from sorted(set(_matches(argument))) or [argument]
        else:
            yield argument


def _matches(pattern: str) -> Iterator[str]:
    """Yield what `glob.glob` does, and where it could not look: it would leave that out without a note."""
    around, name = os.path.split(pattern)
    for directory in _matches(around) if glob.has_magic(around) else (around,):
        try:
            if glob.has_magic(name):
                hidden = name.startswith(".")
                names = (
                    entry for entry in os.listdir(directory or ".") if hidden or not entry.startswith(".")
                )
                yield from (os.path.join(directory, entry) for entry in fnmatch.filter(names, name))
            else:
                path = os.path.join(directory, name)
                os.lstat(path)
                yield path
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            yield (directory or ".") if glob.has_magic(name) else os.path.join(directory, name)
