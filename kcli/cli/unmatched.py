"""What a person hears where a selection leads to nothing, or names a topic that is not here."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from kcli.cli.options import Common, split_list
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


def other_topics(paths: list[str] | None, common: Common) -> str:
    """Return a suggestion where --topic names none of the topics that are here."""
    if not common.topic or not paths or "-" in paths:
        return ""
    targets = find(paths, common._replace(topic=None, topic_regex=None).selection()).targets
    return advice(common, {target.name.topic for target in targets if target.name is not None})


def topics_not_found(found: Found, paths: list[str] | None, common: Common) -> Iterator[Failure]:
    """Yield a failure for each topic that was named beside others, and has nothing here."""
    known = {target.name.topic for target in found.targets if target.name is not None}
    missing = [word for word in split_list(common.topic) if not any(fnmatchcase(one, word) for one in known)]
    for word in missing:
        other = other_topics(paths, common._replace(topic=[word]))
        message = f"--topic {word}: no partition or file here is of this topic{other}"
        yield Failure("", "nothing-matched", None, None, message)


def advice(common: Common, known: Iterable[str]) -> str:
    """Return which of the known topics --topic may mean."""
    from kcli.output.suggest import did_you_mean

    topics = sorted(set(known))
    asked = [word for word in split_list(common.topic) if word not in topics]
    words = " ".join(filter(None, (did_you_mean(word, topics).rstrip() for word in asked)))
    return f"; {words}" if words else ""
