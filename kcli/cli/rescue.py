"""`truncate --rescue FILE`: which files are refused, and what is said of the one that is written."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kcli.cli.boundary import say
from kcli.cli.options import Output
from kcli.cli.status import MissingError, RefusedError, UsageError
from kcli.cli.targets import refuse_log_dirs
from kcli.dump.rescue import FORMATS, Rescue

if TYPE_CHECKING:
    from kcli.cli.run import OnOutcomes
    from kcli.engine.contract import Outcome, Unit


def rescue_to(path: str, output: Output) -> "OnOutcomes":
    """Return what writes the records that truncations lose to a new file, in one step with the outcomes.

    UsageError and RefusedError for a file that cannot be, or must not be, written.
    """
    if os.path.splitext(path)[1] not in FORMATS:
        raise UsageError(f"--rescue {path}: expected a file that ends in {' or '.join(FORMATS)}")
    refuse_log_dirs(f"--rescue {path}", path)
    if os.path.lexists(path):
        raise RefusedError(
            f"--rescue {path}: this exists, and may have what an earlier run saved; choose another name"
        )
    for option, other in (("--out", output.out), ("--findings", output.findings)):
        if other is not None and os.path.abspath(other) == os.path.abspath(path):
            raise UsageError(f"--rescue {path}: {option} names the same file")

    def along(outcomes: "Iterator[Outcome]", units: "list[Unit]") -> "Iterator[Outcome]":
        rescue = Rescue(path)
        try:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            yield from rescue.along(outcomes, units)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise MissingError(f"--rescue {path}: cannot write: {reason}") from error
        if rescue.is_there and not output.quiet:
            records = f"{rescue.saved} record{'s' * (rescue.saved != 1)}"
            partitions = f"{rescue.partitions} partition{'s' * (rescue.partitions != 1)}"
            say(f"{records} of {partitions} saved in {path}")

    return along
