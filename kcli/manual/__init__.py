"""The manual: Markdown pages that `kcli help TOPIC` shows. The tests run the examples in them."""

from pkgutil import get_data

TOPICS = (
    *("intro", "runbooks", "epochs", "startup", "truncation", "replication", "failover", "metadata"),
    *("lookup", "group", "transactions", "retention", "tiered-storage", "dump", "check", "scan"),
    *("sql", "spark", "api", "output", "findings", "settings", "performance"),
    *("verified", "design", "tests", "glossary"),
)
"""The names of the pages, in the order of reading."""


def page(topic: str) -> str:
    """Return the Markdown of a page; KeyError for a topic that is not in TOPICS."""
    if topic not in TOPICS:
        raise KeyError(topic)
    return (get_data(__name__, f"{topic}.md") or b"").decode()


def title(topic: str) -> str:
    """Return the heading of a page."""
    return page(topic).partition("\n")[0].removeprefix("# ")
