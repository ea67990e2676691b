"""`replica simulate`: stories about a replicated partition, bundled or in a TOML file step by step.

title = "what it shows"
protocol = "epoch"            # high-watermark, epoch-v0, epoch, fetch
replicas = ["A", "B"]
leader = "A"                  # at first; all are in the ISR
steps = [
    "produce m0 m1",          # the leader appends
    "fetch B",                # B fetches once, to the leader's log end
    "fetch B unanswered",     # the leader learns B's log end, B gets nothing
    "bounce B losing 1",      # B stops and starts within the ISR
    "crash A, B losing 1",    # both stop at once; one alone leaves the ISR
    "restart B",
    "elect B",                # the controller makes B the leader
]
"""

import tomllib
from collections.abc import Iterator
from typing import Any

from kcli.kafka.replication.replication import PROTOCOLS
from kcli.kafka.replication.simulation import Scenario, ScenarioError, StepState
from kcli.kafka.replication.story import MOST_REPLICAS, MOST_STEPS, run
from kcli.logdir.buffers import read_whole
from kcli.rows.simulation import RemoteEnd, ScenarioRow, SimulatedRecord, SimulationRow
from kcli.scenarios import NAMES, text

LARGEST_FILE = 1 << 20
LONGEST_WORD = 100


def bundled() -> Iterator[ScenarioRow]:
    """Yield the stories that come with kcli, in the order of reading."""
    for name in NAMES:
        found = parsed(name, text(name))
        yield ScenarioRow(name, found.title, found.protocol, found.replicas, len(found.steps))


def scenario(word: str) -> Scenario:
    """Return the story of a name, or of a file.

    FileError for a file that cannot be read, ScenarioError for what is none.
    """
    if word in NAMES:
        return parsed(word, text(word))
    if not word.endswith(".toml"):
        raise ScenarioError(f"{word}: expected a .toml file, or one of {', '.join(NAMES)}")
    data = read_whole(word, LARGEST_FILE)
    try:
        return parsed(word, data.decode())
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{word}: byte {error.start}: expected UTF-8") from error


def parsed(name: str, toml: str) -> Scenario:
    """Return the story that a text holds; ScenarioError with the key, or the line, that is wrong."""
    try:
        found = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name}: {error}") from error
    unknown = set(found) - {"title", "protocol", "replicas", "leader", "steps"}
    if unknown:
        raise ScenarioError(f"{name}: {min(unknown)}: expected title, protocol, replicas, leader and steps")
    replicas, steps = _words(name, found, "replicas", MOST_REPLICAS), _words(name, found, "steps", MOST_STEPS)
    story = Scenario(
        name,
        str(found.get("title", name)),
        str(found.get("protocol", "fetch")),
        replicas,
        str(found.get("leader", replicas[0])),
        steps,
    )
    if story.protocol not in PROTOCOLS:
        raise ScenarioError(f"{name}: protocol {story.protocol}: expected one of {', '.join(PROTOCOLS)}")
    if len(set(replicas)) < len(replicas) or any(len(one.split()) != 1 or "," in one for one in replicas):
        raise ScenarioError(f"{name}: replicas: expected names of one word, each once")
    if story.leader not in replicas:
        raise ScenarioError(f"{name}: leader {story.leader}: expected one of the replicas")
    return story


def _words(name: str, found: dict[str, Any], key: str, most: int) -> tuple[str, ...]:
    words = found.get(key)
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ScenarioError(f"{name}: {key}: expected a list of texts")
    if len(words) > most or max(map(len, words)) > LONGEST_WORD:
        raise ScenarioError(f"{name}: {key}: expected at most {most}, of {LONGEST_WORD} characters each")
    return tuple(words)


def simulated(story: Scenario) -> list[SimulationRow]:
    """Return a row for each replica after each step; ScenarioError for a step that cannot be done."""
    return [row for view in run(story) for row in _rows(story, view)]


def _rows(story: Scenario, view: StepState) -> Iterator[SimulationRow]:
    for one in view.replicas:
        yield SimulationRow(
            story.name,
            view.number,
            view.action,
            view.leader_epoch,
            one.name,
            one.role,
            in_isr=one.is_in_isr,
            log_end_offset=one.log_end_offset,
            high_watermark=one.high_watermark,
            remote_log_end_offsets=tuple(RemoteEnd(*end) for end in one.remote),
            epochs=one.epochs,
            log=tuple(SimulatedRecord(*record) for record in one.log),
            events=one.events,
            title=story.title,
            protocol=story.protocol,
        )
