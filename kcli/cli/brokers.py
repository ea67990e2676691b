"""Ids of brokers on the command line."""

from kcli.cli.parsers import INT32, parse_integers, split_list
from kcli.cli.status import UsageError


def broker_ids(values: list[str] | None, option: str) -> tuple[int, ...]:
    """Return the ids of brokers of `1,2` or `1..3` in the order given, each once."""
    ids: dict[int, None] = {}
    for word in split_list(values):
        try:
            ids.update(dict.fromkeys(sorted(parse_integers(option, [word], 0, INT32))))
        except UsageError as error:
            raise UsageError(
                f"{option} {word}: expected ids of brokers, as in {option} 1,2 or 1..3"
            ) from error
    return tuple(ids)
