"""The door: `kcli`, `python -m kcli`."""

import gc
import os
import signal
import sys
from importlib.util import find_spec
from types import FrameType

import kcli

INTERNAL = 70
FEW_COLLECTIONS = 50_000
"""New objects between garbage collections: imports make many and leave no garbage."""
TERMINATED = 128 + signal.SIGTERM


def main() -> None:
    """Run the command line; exits with the status of the command."""
    foreign = foreign_package()
    if foreign is not None:
        sys.stderr.write(f"kcli: {foreign} is in the way of kcli's own package of that name; run kcli from another directory\n")
        raise SystemExit(INTERNAL)
    gc.set_threshold(FEW_COLLECTIONS)
    from commands.app import app  # noqa: PLC0415 - only once it is known to be ours

    for stream in (sys.stdout, sys.stderr):
        # Paths are bytes: one that is not UTF-8 is shown escaped instead of ending the program.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _terminated)
    app(prog_name="kcli")


def foreign_package() -> str | None:
    """Return the place of a `commands` or `formats` that is not ours, found without running it.

    `python -m kcli` looks into the working directory first, and these are common names.
    """
    ours = os.path.dirname(os.path.abspath(kcli.__file__))
    for name in ("commands", "formats"):
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        if not places or os.path.dirname(os.path.abspath(places[0])) != os.path.dirname(ours):
            return places[0] if places else str(spec.origin if spec is not None else name)
    return None


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    """Unwind, so that worker processes end with this one."""
    raise SystemExit(TERMINATED)


if __name__ == "__main__":
    main()
