"""`kcli uuid`: Kafka's spelling of a UUID, and Java's."""

from kcli.cli.command import REQUIRED, Output, argument
from kcli.cli.status import UsageError


def uuid(
    ids: list[str] = argument(
        "UUID...", "22 characters of base64url, or 32 hexadecimal digits.", default=REQUIRED
    ),
    *,
    output: Output,
) -> None:
    """Convert UUIDs: topic, segment, directory and cluster ids, base64url and hexadecimal.

    Example: kcli uuid u4NdSfWRQjaZ_ENyxMXLJA
    """
    from formats.errors import FormatError
    from kcli.cli.run import run_rows
    from kcli.jobs.identifiers import uuid_of, uuid_rows
    from kcli.logdir.buffers import word_of

    answers = []
    for text in ids:
        try:
            answers.append(uuid_of(text))
        except FormatError as error:
            raise UsageError(f"{word_of(text)}: expected {error.expected}") from error
    run_rows("uuid", uuid_rows(answers), output)
