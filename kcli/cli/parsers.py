"""Values of the command line beyond `kcli.words`: lists, offsets, times, broker ids, metadata."""

import os
import re
from typing import TYPE_CHECKING

from kcli.cli.boundary import say
from kcli.cli.status import UsageError
from kcli.words import INT32, INT64, LIKE_SECONDS, WordError, clock_ms, integer, moment_ms, parse_integers

if TYPE_CHECKING:
    from kcli.logdir.targets import Target

FIRST_TIME_MS = 100_000_000_000
"""Digits as long as these are a time, no offset."""


def split_list(values: list[str] | None) -> list[str]:
    """Return the words of an option that takes a list: repeated, or with commas."""
    return [item.strip() for value in values or () for item in value.split(",")]


def joined(values: list[str] | None) -> str | None:
    """Return the words of such an option with commas between them; None without any."""
    return ",".join(values) if values else None


def parse_epochs(values: list[str]) -> tuple[int, ...] | None:
    """Return the epochs of `0..3,7` in the order given, each once, or None for `all`."""
    items = split_list(values)
    return None if items == ["all"] else parse_integers("epoch", items, -INT32 - 1, INT32)


def parse_offset(text: str) -> int | str:
    """Return an offset as a number, or the word `earliest` or `latest`."""
    if text in {"earliest", "latest"}:
        return text
    if not text.isdecimal():
        raise UsageError(f"offset {text!r}: expected a number, earliest or latest")
    return integer(text, "offset", 0, INT64)


def parse_time(text: str | None) -> int:
    """Return a time in epoch milliseconds, now for None; the words are those of `kcli.words`."""
    if text is None:
        return clock_ms()
    moment = moment_ms(text)
    if text.isdecimal() and moment in LIKE_SECONDS:
        say(f"kcli: time {text}: taken as milliseconds, a moment of 1970; of seconds write {text}000")
    return moment


def parse_moment(text: str | None) -> tuple[int | None, int | None]:
    """Return the offset, or the time in epoch milliseconds, that --at names; None for the other."""
    if text is None:
        return None, None
    if text.isascii() and text.isdecimal() and int(text) < FIRST_TIME_MS:
        return int(text), None
    return None, parse_time(text)


def broker_ids(values: list[str] | None, option: str) -> tuple[int, ...]:
    """Return the ids of brokers of `1,2` or `1..3` in the order given, each once."""
    items = split_list(values)
    try:
        return parse_integers(option, items, 0, INT32)
    except WordError as error:
        expected = f"expected ids of brokers, as in {option} 1,2 or 1..3"
        raise UsageError(f"{option} {','.join(items)}: {expected}") from error


def parse_release(text: str | None) -> tuple[int, ...]:
    """Return a release like 3.9 or 4.3.1 as numbers; the newest for None."""
    from kcli.kafka.kraft.meta_properties import NEWEST

    if text is None:
        return NEWEST
    match = re.fullmatch(r"([3-9])\.([0-9]{1,2})(?:\.([0-9]{1,2}))?", text)
    if match is None:
        raise UsageError(f"--kafka-version {text}: expected a release such as 3.9 or 4.3.1, from 3.0 on")
    version = tuple(int(number) for number in match.groups() if number is not None)
    if version[:2] > NEWEST:
        newest = ".".join(map(str, NEWEST))
        raise UsageError(f"--kafka-version {text}: {newest} is the newest release whose start kcli knows")
    return version


def metadata_path(path: str | None) -> str | None:
    """Return the absolute path of metadata that can be read; UsageError where it cannot, None for none."""
    if path is None:
        return None
    from kcli.jobs.cluster_metadata import metadata_image
    from kcli.logdir.buffers import FileError

    absolute = os.path.abspath(path)
    try:
        metadata_image(absolute)
    except FileError as error:
        raise UsageError(f"--metadata {error}") from error
    return absolute


def remote_metadata_of(paths: list[str] | None) -> "list[Target]":
    """Return the directories of the metadata topic of remote storage; UsageError for a path that is none."""
    from kcli.jobs.tiered_leader import metadata_targets

    file_set = metadata_targets(paths or [])
    if file_set.failures:
        raise UsageError(f"--remote-metadata {file_set.failures[0]}")
    return file_set.targets


def log_dir_of_metadata(path: str | None) -> str | None:
    """Return the log dir that a --metadata PATH is, or lies in; UsageError where it has no metadata log."""
    from kcli.logdir.log_dirs import METADATA_DIRECTORY, metadata_log

    if path is None:
        return None
    path = path.rstrip("/") or path
    log_dir = (os.path.dirname(path) or ".") if os.path.basename(path) == METADATA_DIRECTORY else path
    if metadata_log(log_dir) is None:
        raise UsageError(f"--metadata {path}: expected {METADATA_DIRECTORY}, or a log dir that holds it")
    return log_dir
