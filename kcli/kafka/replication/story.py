"""The steps of a story about a replicated partition: the words that stand for each, and the run of all."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kcli.kafka.replication.simulation import MOST_RECORDS, Model, Scenario, ScenarioError, StepState

MOST_REPLICAS = 9
MOST_STEPS = 1000

Step: TypeAlias = Callable[[Model, list[str]], None]


def _fetch(model: Model, words: list[str]) -> None:
    name, *rest = words
    if rest not in ([], ["unanswered"]):
        raise ScenarioError("expected: fetch REPLICA [unanswered]")
    model.fetch(name, is_answered=not rest)


def _losing(words: list[str], expected: str) -> tuple[str, int]:
    """Return a replica and how many records it loses: `B`, or `B losing 2`."""
    name, *rest = words or [""]
    if not name or (rest and (len(rest) != 2 or rest[0] != "losing" or not rest[1].isdecimal())):
        raise ScenarioError(f"expected: {expected}")
    return name, min(int(rest[1][:9]), MOST_RECORDS) if rest else 0


def _crash(model: Model, words: list[str]) -> None:
    parts = " ".join(words).split(",")
    model.crash(dict(_losing(part.split(), "crash REPLICA [losing N][, REPLICA...]") for part in parts))


def _bounce(model: Model, words: list[str]) -> None:
    model.bounce(*_losing(words, "bounce REPLICA [losing N]"))


def _restart(model: Model, words: list[str]) -> None:
    (name,) = words
    model.restart(name)


def _elect(model: Model, words: list[str]) -> None:
    (name,) = words
    model.elect(name)


STEPS: dict[str, Step] = {
    "produce": lambda model, words: model.produce(*words),
    "fetch": _fetch,
    "crash": _crash,
    "bounce": _bounce,
    "restart": _restart,
    "elect": _elect,
}
"""First word of a step -> what it does with the other words."""


def run(scenario: Scenario) -> Iterator[StepState]:
    """Yield the partition before the first step and after each; ScenarioError at one that cannot be done."""
    model = Model(scenario)
    yield model.view(0, "start")
    for number, step in enumerate(scenario.steps, 1):
        word, *words = step.split() or [""]
        if word not in STEPS or not words:
            raise ScenarioError(f"step {number}, {step!r}: expected one of {', '.join(STEPS)}, and a name")
        try:
            STEPS[word](model, words)
        except ScenarioError as error:
            raise ScenarioError(f"step {number}, {step!r}: {error}") from error
        except ValueError as error:
            raise ScenarioError(f"step {number}, {step!r}: expected one name after {word}") from error
        model.notice()
        yield model.view(number, step)
