"""`kcli rlmm`: what a tiered partition's leader answers, keeps and deletes, by its log and remote events."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from commands._options import Common, Paths, common_options

if TYPE_CHECKING:
    from kcli.engine.contract import Map

RemoteMetadata: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--remote-metadata",
        metavar="PATH",
        help="Read __remote_log_metadata here, too: a log dir or a partition dir; repeatable.",
        show_default=False,
    ),
]
Storage: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--storage",
        metavar="DIR",
        help="Find remote segments in this LocalTieredStorage directory; repeatable.",
        show_default=False,
    ),
]


def _run(name: str, job: "Map", paths: list[str] | None, metadata: list[str] | None, common: Common) -> None:
    """Run a job over the selected user partitions, each with the directories of the metadata topic."""
    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.rlmm_leader import topics, with_metadata  # noqa: PLC0415 - kept out of --help

    selection = common.selection()
    command = Command(
        name=name,
        job=job,
        split=lambda units, _: with_metadata(units, selection),
        topics_of_rows=topics,
    )
    run(command, [*(paths or []), *(metadata or [])], common)


@common_options
def offsets(paths: Paths = None, *, remote_metadata: RemoteMetadata = None, common: Common) -> None:
    """Print what ListOffsets answers for every special timestamp, -1 to -6.

    Log dirs with __remote_log_metadata in one of them, or named by --remote-metadata.

    Example: kcli rlmm offsets /var/lib/kafka/data
    """
    from kcli.jobs import rlmm_offsets as jobs  # noqa: PLC0415 - kept out of --help

    _run("rlmm offsets", jobs.offsets, paths, remote_metadata, common)
