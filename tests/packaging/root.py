"""Runs first in the one file: where its packages are unpacked once (SHIV_ROOT, cache, temporary files)."""

import os
import sys
import tempfile


def root():
    """Return a directory that belongs to this user alone, made if need be; None if there is none."""
    home = "" if os.environ.get("HOME") == "" else os.path.expanduser("~")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    for place in (os.path.join(cache, "kcli"), os.path.join(tempfile.gettempdir(), f"kcli-{os.getuid()}")):
        if not os.path.isabs(place):
            continue
        try:
            os.makedirs(place, mode=0o700, exist_ok=True)
            found = os.lstat(place)
        except OSError:
            continue
        is_ours = found.st_uid == os.getuid() and not found.st_mode & 0o022 and os.path.isdir(place)
        if is_ours and os.access(place, os.W_OK):
            return place
    return None


if sys.version_info[:2] != VERSION:  # noqa: F821 - the builder writes it before this
    needed = ".".join(map(str, VERSION))  # noqa: F821
    sys.exit(f"kcli: this file is for Python {needed}; start it with that, or install the wheel")
if "SHIV_ROOT" not in os.environ:
    place = root()
    if place is None:
        sys.exit("kcli: no directory to unpack to: set SHIV_ROOT to one that you may write to")
    os.environ["SHIV_ROOT"] = place

from _bootstrap import bootstrap  # noqa: E402 - shiv's own, once it knows where

bootstrap()
