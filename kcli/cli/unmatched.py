"""What a person hears where a selection leads to nothing, or names a topic that is not here."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from kcli.cli.options import Inputs
from kcli.cli.parsers import split_list
from kcli.logdir.find import Found, find
from kcli.rows import Failure


def nothing_matched(found: Found) -> str:
    """Return why there is nothing to answer."""
    leftovers = sum(note.kind == "leftover" for note in found.notes)
    hint = (
        f"; {leftovers} -delete, -stray or -future left out; --include-leftovers reads them"
        if leftovers
        else ""
    )
    return f"no partition or file here matches what was asked for{hint}"


def other_topics(inputs: Inputs) -> str:
    """Return a suggestion where --topic names none of the topics that are here."""
    if not inputs.topic or not inputs.paths or "-" in inputs.paths:
        return ""
    targets = find(inputs.paths, inputs._replace(topic=None, topic_regex=None).selection()).targets
    return advice(inputs, {target.name.topic for target in targets if target.name is not None})


def topics_not_found(found: Found, inputs: Inputs) -> Iterator[Failure]:
    """Yield a failure for each topic that was named beside others, and has nothing here."""
    known = {target.name.topic for target in found.targets if target.name is not None}
    missing = [word for word in split_list(inputs.topic) if not any(fnmatchcase(one, word) for one in known)]
    for word in missing:
        other = other_topics(inputs._replace(topic=[word]))
        message = f"--topic {word}: no partition or file here is of this topic{other}"
        yield Failure("", "nothing-matched", None, None, message)


def advice(inputs: Inputs, known: Iterable[str]) -> str:
    """Return which of the known topics --topic may mean."""
    from kcli.output.suggest import did_you_mean

    topics = sorted(set(known))
    asked = [word for word in split_list(inputs.topic) if word not in topics]
    words = " ".join(filter(None, (did_you_mean(word, topics).rstrip() for word in asked)))
    return f"; {words}" if words else ""
