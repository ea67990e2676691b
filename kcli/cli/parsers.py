"""Values of the command line: numbers, ranges like `0..3,7`, offsets, rates, broker ids, times like `1h`."""

import os
import re
from itertools import chain

from kcli.cli.boundary import say
from kcli.cli.status import UsageError

INT32 = 2**31 - 1
INT64 = 2**63 - 1
MOST_NUMBERS = 1_000_000
MULTIPLES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def integer(word: str, what: str, low: int, high: int) -> int:
    """Return the number of a word; `what` names it in the UsageError."""
    if not re.fullmatch(r"-?[0-9]{1,19}", word) or not low <= int(word) <= high:
        raise UsageError(f"{what} {word!r}: expected a whole number from {low} to {high}")
    return int(word)


def split_list(values: list[str] | None) -> list[str]:
    """Return the words of an option that takes a list: repeated, or with commas."""
    return [word.strip() for value in values or () for word in value.split(",")]


def joined(values: list[str] | None) -> str | None:
    """Return the words of such an option with commas between them; None without any."""
    return ",".join(values) if values else None


def parse_integers(option: str, values: list[str] | None, low: int, high: int) -> frozenset[int]:
    """Return the numbers of an option that takes a list of numbers and ranges like `0..3,7`, inclusive."""
    return frozenset(chain.from_iterable(_ranges(option, split_list(values), low, high)))


def parse_epochs(text: str) -> tuple[int, ...] | None:
    """Return the epochs of `0..3,7` in the order given, each once, or None for `all`."""
    if text == "all":
        return None
    ranges = _ranges("epoch", split_list([text]), -INT32 - 1, INT32)
    return tuple(dict.fromkeys(chain.from_iterable(ranges)))


def parse_partitions(text: str) -> frozenset[int]:
    """Return the partitions of a list like `0..3,7` or `0-3,7`, ranges inclusive."""
    words = [re.sub(r"^([0-9]+)-([0-9]+)$", r"\1..\2", word) for word in split_list([text])]
    return frozenset(chain.from_iterable(_ranges("partition", words, 0, INT32)))


def _ranges(what: str, words: list[str], low: int, high: int) -> list[range]:
    ranges = []
    for word in words:
        first, dots, last = word.partition("..")
        if dots and not (first and last):
            both = f"{first or 0}..{last or '9' * (len(first) + 1)}"
            raise UsageError(f"{what} {word!r}: write both ends of a range, such as {both}")
        if not first:
            raise UsageError(f"{what} {word!r}: expected a whole number, or a range such as 0..3")
        begin = integer(first, what, low, high)
        end = integer(last, what, low, high) if dots else begin
        if end < begin:
            raise UsageError(f"{what} {word!r}: the range is empty; did you mean {last}..{first}?")
        ranges.append(range(begin, end + 1))
    if sum(one.stop - one.start for one in ranges) > MOST_NUMBERS:
        raise UsageError(f"{what} {','.join(words)!r}: more than {MOST_NUMBERS} numbers")
    return ranges


def parse_offset(text: str) -> int | str:
    """Return an offset as a number, or the word `earliest` or `latest`."""
    if text in {"earliest", "latest"}:
        return text
    if not text.isdecimal():
        raise UsageError(f"offset {text!r}: expected a number, earliest or latest")
    return integer(text, "offset", 0, INT64)


def parse_duration(text: str) -> int:
    """Return the milliseconds of a duration like `30m`, `2d` or `1h30m`."""
    from kcli.times import TimeWordError, duration_ms

    try:
        return duration_ms(text)
    except TimeWordError as error:
        raise UsageError(str(error)) from error


def parse_rate(text: str, option: str = "--rate") -> int:
    """Return the bytes of words like 50M: K, M and G are binary."""
    match = re.fullmatch(r"([0-9]{1,12})([KMG]?)", text)
    rate = int(match[1]) * MULTIPLES[match[2]] if match else 0
    if not rate:
        raise UsageError(f"{option} {text}: expected a rate such as 500K, 50M or 1G")
    return rate


def parse_time(text: str, now_ms: int | None = None) -> int:
    """Return a time in epoch milliseconds; the words are those of `kcli.times`."""
    from kcli.times import LIKE_SECONDS, TimeWordError, moment_ms

    try:
        moment = moment_ms(text, now_ms)
    except TimeWordError as error:
        raise UsageError(str(error)) from error
    if text.isdecimal() and moment in LIKE_SECONDS:
        say(f"kcli: time {text}: taken as milliseconds, a moment of 1970; of seconds write {text}000")
    return moment


def broker_ids(values: list[str] | None, option: str) -> tuple[int, ...]:
    """Return the ids of brokers of `1,2` or `1..3` in the order given, each once."""
    ids: dict[int, None] = {}
    for word in split_list(values):
        try:
            ids.update(dict.fromkeys(sorted(parse_integers(option, [word], 0, INT32))))
        except UsageError as error:
            raise UsageError(
                f"{option} {word}: expected ids of brokers, as in {option} 1,2 or 1..3"
            ) from error
    return tuple(ids)


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
