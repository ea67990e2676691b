"""Ids of brokers on the command line."""

from commands._options import INT32, UsageError


def broker_id(word: str, option: str) -> int:
    """Return the id of a broker; UsageError for what is none."""
    if not word.isascii() or not word.isdecimal() or len(word) > len(str(INT32)) or int(word) > INT32:
        raise UsageError(f"{option} {word}: expected ids of brokers, as in {option} 1,2")
    return int(word)
