"""`kcli uuid`: Kafka's spelling of a UUID, and Java's."""

from typing import Annotated

import typer

from kcli.cli.options import Common, UsageError, output_options


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
    from formats.errors import FormatError
    from kcli.cli.run import run_rows
    from kcli.jobs.identifiers import uuid_of, uuid_rows
    from kcli.logdir.buffers import word_of

    found = []
    for text in ids:
        try:
            found.append(uuid_of(text))
        except FormatError as error:
            raise UsageError(f"{word_of(text)}: expected {error.expected}") from error
    run_rows("uuid", uuid_rows(found), common)
