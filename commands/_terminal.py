"""What the terminal can show."""

import os
import sys


def is_colored(when: str) -> bool:
    """Whether to colour: by --color, then NO_COLOR, then FORCE_COLOR, then whether stdout is a terminal."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and not is_dumb())


def is_dumb() -> bool:
    """Whether the terminal shows escapes instead of obeying them."""
    return os.environ.get("TERM") == "dumb"
