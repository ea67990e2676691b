"""The rows of `replica simulate`: the replicas of a partition after each step of a story."""

from typing import Annotated, NamedTuple

from formats.checkpoint import EpochEntry
from kcli.rows.declare import row_type


class RemoteEnd(NamedTuple):
    """What a leader knows of a follower."""

    replica: str
    log_end_offset: int | None


class SimulatedRecord(NamedTuple):
    """A record in the log of a replica; its place in the list is its offset."""

    epoch: int
    value: str


class SimulationRow(NamedTuple):
    """One replica after one step."""

    scenario: Annotated[str, "name of the story, or the file"]
    step: Annotated[int, "number of the step; 0 is the beginning"]
    action: Annotated[str, "the step as it is written"]
    leader_epoch: Annotated[int, "of the partition"]
    replica: Annotated[str, "name"]
    role: Annotated[str, "leader, follower or down"]
    in_isr: Annotated[bool, "whether it is in sync"]
    log_end_offset: Annotated[int, "one past its last record"]
    high_watermark: Annotated[int, "as far as it knows"]
    remote_log_end_offsets: Annotated[
        tuple[RemoteEnd, ...], "of a leader: the log ends of followers by their last fetches; null before one"
    ]
    epochs: Annotated[tuple[EpochEntry, ...], "its leader epochs"]
    log: Annotated[tuple[SimulatedRecord, ...], "its records from offset 0 on"]
    events: Annotated[tuple[str, ...], "what happened to it in this step"]
    title: Annotated[str, "what the story shows"]
    protocol: Annotated[str, "how followers truncate: high-watermark, epoch-v0, epoch or fetch"]


class ScenarioRow(NamedTuple):
    """One of the stories that come with kcli."""

    name: Annotated[str, "what to name it"]
    title: Annotated[str, "what it shows"]
    protocol: Annotated[str, "how followers truncate: high-watermark, epoch-v0, epoch or fetch"]
    replicas: Annotated[tuple[str, ...], "names"]
    steps: Annotated[int, "how many"]


SIMULATION = row_type("simulation", SimulationRow)
SCENARIO = row_type("scenario", ScenarioRow)

COMMANDS = {"replica simulate": (SIMULATION, SCENARIO)}
"""The row types that the command can print, first the usual one."""
