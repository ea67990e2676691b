"""What `truncate` says before a truncation happens: warnings, and the command that saves the records."""

import os
import shlex
from collections.abc import Iterator

from formats.names import CLUSTER_METADATA
from kcli.kafka.replication.truncation import FULL, NONE, Prediction
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.surviving_files import opened_files
from kcli.logdir.partition import PARTITION_METADATA, Partition

LOGS = "?" * len(f"{0:020}") + ".log"
"""What a shell takes for the logs of a directory, not for copies that somebody made of them."""


def input_warnings(partition: Partition, *, is_shutdown_given: bool) -> Iterator[str]:
    """Yield what is not known for certain of a partition: how its broker stopped, its partition.metadata."""
    if not is_shutdown_given:
        if partition.topic == CLUSTER_METADATA:
            yield "KRaft recovers the metadata log from its beginning at every start, also after a clean stop"
        elif partition.target.log_dir is None:
            yield (
                "no log dir around this directory: taken as stopped cleanly (--shutdown unclean for the "
                "other case)"
            )
    if PARTITION_METADATA not in partition.names:
        yield (
            "no partition.metadata: a broker of Kafka 4 renames such a directory to -stray and never "
            "truncates it"
        )


def warnings_of(
    loaded: LoadedLog, prediction: Prediction, partition: Partition, lost: str | None
) -> Iterator[str]:
    """Yield what the start, the cut and a restart do that an operator may not expect.

    `lost`: as of `rescue_command`; None where it is saved.
    """
    yield from _start_warnings(loaded)
    yield from _target_warnings(loaded, prediction)
    yield from _restart_warnings(prediction)
    if prediction.removed.trouble is not None:
        yield f"not every batch that goes could be counted: {prediction.removed.trouble}"
    if lost is not None:
        yield (
            f"this saves what will be lost: kcli dump --records --offsets {lost} -o ndjson {_logs(partition)}"
        )


def _start_warnings(loaded: LoadedLog) -> Iterator[str]:
    if loaded.deleted:
        bases = ", ".join(map(str, loaded.deleted))
        yield f"the start itself deletes segments first (base offsets {bases}): see the findings"
    if any(finding.code == "START-001" for finding in loaded.findings):
        yield f"recovery cuts the log first: it then ends at offset {loaded.log_end_offset}"


def _target_warnings(loaded: LoadedLog, prediction: Prediction) -> Iterator[str]:
    target, watermark = prediction.target, prediction.high_watermark_before
    if prediction.kind == NONE:
        yield f"nothing is cut: the log ends at offset {loaded.log_end_offset}"
    elif watermark is None:
        yield (
            "the high watermark is unknown: records that consumers may have read could be among those that go"
        )
    elif target < watermark:
        yield f"the target lies below the high watermark {watermark}: committed records go"
    if prediction.kind == FULL and target < loaded.log_end_offset:
        yield (
            "every segment goes: the target lies below the first one, and the log begins anew, empty, at "
            f"offset {target}"
        )
    if target < loaded.log_start_offset:
        yield f"the target lies below the log start offset {loaded.log_start_offset}, which is lowered to it"
    recordless = [entry.epoch for entry in loaded.epochs if entry.start_offset >= loaded.log_end_offset]
    if recordless:
        yield f"epochs without records are dropped: {', '.join(map(str, recordless))}"


def _restart_warnings(prediction: Prediction) -> Iterator[str]:
    after, restarted = prediction.after, prediction.log_end_offset_after_restart
    if restarted is None:
        yield f"after a clean restart the broker would not load this log: {prediction.restart_error}"
    elif prediction.restart_deletes_all:
        yield (
            "after a restart nothing is left: the log would end below its log start offset "
            f"{after.log_start_offset}, "
            "and then the broker deletes every segment"
        )
    elif restarted < after.log_end_offset:
        yield (
            f"after a restart the log ends at offset {restarted}, not at {after.log_end_offset}: "
            "the batch that holds the target goes as a whole"
        )


def rescue_command(partition: Partition, lost: str | None) -> str | None:
    """Return the command line that writes the lost records to a file in the working directory.

    `lost`: offsets as `kcli dump --offsets` takes them, `first..last`, both inclusive, or `first..`.
    """
    if lost is None:
        return None
    name = os.path.basename(os.path.abspath(partition.path))
    out = _quoted(f"{name}-{lost.rstrip('.').replace('..', '-')}.ndjson")
    return f"kcli dump --records --offsets {lost} --out {out} {_logs(partition)}"


def _logs(partition: Partition) -> str:
    """Return the logs of a directory as words of a shell: each by its name where a swap was interrupted."""
    opened = opened_files(partition, partition.names)
    if all(name == new for name, new in opened.items()):
        return f"{_quoted(partition.path)}/{LOGS}"
    names = [name for name, new in opened.items() if new.endswith(".log")]
    return " ".join(_quoted(os.path.join(partition.path, name)) for name in names)


def _quoted(path: str) -> str:
    """Return a path as a POSIX shell takes it, whatever bytes it is made of."""
    if path.startswith("-"):
        path = f"./{path}"
    try:
        path.encode()
    except UnicodeEncodeError:
        octal = "".join(f"\\{byte:03o}" for byte in os.fsencode(path))
        return f"\"$(printf '{octal}')\""
    return shlex.quote(path)
