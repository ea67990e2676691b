"""What Spark's workers do with a bin of units: they return outcomes, or write rows to parts of a sink."""

import errno
import os
import pickle
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kcli.engine.contract import Map, NotWrittenError, Outcome, Sink, Unit
from kcli.engine.inline import failed, mapped
from kcli.rows import described

BYTES_A_LIST = 1 << 20  # of pickled outcomes that travel together
WORTH_COMPRESSING = 4 << 10
COMPRESSED = b"\0"  # no pickle begins with it


def packed_bin(job: Map, units: Sequence[Unit], sink: Sink | None, most_bytes: int) -> Iterator[list[bytes]]:
    """Yield lists of outcomes, pickled and compressed, until they have `most_bytes`.

    With a sink: all of them, one for each unit, once it has the rows. What the sink raises is yielded
    instead: NotWrittenError when it cannot write.
    """
    if sink is not None:
        yield _sunk(job, units, sink)
        return
    payloads: list[bytes] = []
    total = size = 0
    by_number = {unit.number: unit for unit in units}
    for outcome in mapped(job, units):
        payloads.append(compressed(packed(outcome, by_number[outcome.number])))
        size += len(payloads[-1])
        if size >= BYTES_A_LIST or total + size >= most_bytes:
            yield payloads
            total += size
            payloads, size = [], 0
            if total >= most_bytes:
                return
    if payloads:
        yield payloads


def _sunk(job: Map, units: Sequence[Unit], sink: Sink) -> list[bytes]:
    """Return the pickled outcome of each unit; all units share a part, ranges of logs have one each."""
    groups = [[unit] for unit in units] if any(unit.start or unit.end for unit in units) else [units]
    try:
        return [
            packed(outcome, unit)
            for group in groups
            for unit, outcome in zip(group, _of_part(job, group, sink), strict=True)
        ]
    except OSError as error:
        is_unseen = error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EROFS}
        hint = (
            "; it must be a place that this machine and every worker share and may write to"
            if is_unseen
            else ""
        )
        reason = (error.strerror or str(error)).lower()
        return [pickle.dumps(NotWrittenError(f"a Spark worker cannot write there: {reason}{hint}"))]
    except Exception as error:  # noqa: BLE001 - a bug must not look like the death of a worker
        return [pickle.dumps(RuntimeError(described(error)))]


def _of_part(job: Map, units: Sequence[Unit], sink: Sink) -> list[Outcome]:
    """Return an outcome for each unit, once all their rows are in a part of the sink."""
    outcomes = []
    with sink() as part:
        for unit in units:
            total = Outcome(number=unit.number)
            for outcome in mapped(job, [unit]):
                part.write(outcome.rows)
                total = replace(
                    total,
                    findings=[*total.findings, *outcome.findings],
                    error=outcome.error or total.error,
                    written_rows=total.written_rows + len(outcome.rows),
                    ran_past_end=total.ran_past_end or outcome.ran_past_end,
                    partial=outcome.partial,
                )
            outcomes.append(total)
    outcomes[-1] = replace(outcomes[-1], parts=() if part.receipt is None else (part.receipt,))
    return outcomes


def look_for(paths: Sequence[str], unit: Unit) -> Outcome:
    """Return, as the partial, the name of this host and which of the paths are not there."""
    missing = [path for path in paths if not os.path.exists(path)]
    return Outcome(number=unit.number, partial=(socket.gethostname(), missing))


def compressed(payload: bytes) -> bytes:
    """Return a payload, compressed if it is long: the JVM copies it many times on its way."""
    if len(payload) < WORTH_COMPRESSING:
        return payload
    import cramjam

    return COMPRESSED + bytes(cramjam.lz4.compress_block(payload))


def unpacked(payload: bytes) -> Any:
    """Return what a worker of our own has packed."""
    if payload[:1] == COMPRESSED:
        import cramjam

        payload = bytes(cramjam.lz4.decompress_block(memoryview(payload)[1:]))
    return pickle.loads(payload)  # noqa: S301 - our own workers wrote it


def packed(outcome: Outcome, unit: Unit) -> bytes:
    """Return an outcome pickled; one that cannot be pickled is a bug and becomes the unit's error."""
    try:
        return pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - pickle raises what the values raise
        return pickle.dumps(failed(unit, "internal", described(error)), pickle.HIGHEST_PROTOCOL)
