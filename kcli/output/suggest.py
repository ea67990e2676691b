"""Suggestions for words that are misspelt."""

from collections.abc import Collection

MOST = 3


def close_to(text: str, names: Collection[str]) -> list[str]:
    """Return the known words that begin with this one, then those that are like it, the closest first."""
    from difflib import get_close_matches

    begin = [name for name in names if text and name.startswith(text)]
    return list(dict.fromkeys([*begin, *get_close_matches(text, names, n=MOST)]))[:MOST]


def did_you_mean(text: str, names: Collection[str]) -> str:
    """Return `did you mean A or B? `, to be followed by other advice; empty if nothing is close."""
    close = close_to(text, names)
    return f"did you mean {' or '.join(close)}? " if close else ""
