"""`kcli uuid`: Kafka's spelling of a UUID, and Java's."""

from typing import Annotated

import typer

from commands._options import Common, UsageError, output_options


@output_options
def uuid(
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="UUID...",
            help="22 characters of base64url, or 32 hexadecimal digits.",
            show_default=False,
        ),
    ],
    *,
    common: Common,
) -> None:
    """Convert UUIDs: topic, segment, directory and cluster ids, base64url and hexadecimal.

    Example: kcli uuid u4NdSfWRQjaZ_ENyxMXLJA
    """
    from commands._run import run_rows  # noqa: PLC0415 - kept out of --help
    from formats.errors import FormatError  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.identifiers import uuid_of, uuid_rows  # noqa: PLC0415 - kept out of --help
    from kcli.logdir.buffers import word_of  # noqa: PLC0415 - kept out of --help

    found = []
    for text in ids:
        try:
            found.append(uuid_of(text))
        except FormatError as error:
            raise UsageError(f"{word_of(text)}: expected {error.expected}") from error
    run_rows("uuid", uuid_rows(found), common)
