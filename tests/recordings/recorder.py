"""What scenarios work with: an empty folder for what is kept, a manifest, a seeded random generator."""

import time
from pathlib import Path
from random import Random
from typing import Any

from tests.recordings.brokers import Cluster, Node
from tests.recordings.pack import copy

SMALL = {"internal.segment.bytes": 2048, "index.interval.bytes": 256}
"""Configs of a topic with segments far below the least that segment.bytes allows."""
FOREVER = {"retention.ms": -1}


class Recorder:
    """Collects a manifest: steps as they are done, what was kept, what the live cluster answered."""

    def __init__(self, name: str, folder: Path, work: Path, base_port: int) -> None:
        self.name, self.folder, self.work, self.base_port = name, folder, work, base_port
        self.random = Random(f"kcli {name}")
        self.steps: list[str] = []
        self.captures: dict[str, str] = {}
        self.facts: dict[str, Any] = {}

    def cluster(self, roles: dict[int, str], **settings: object) -> Cluster:
        return Cluster(
            self.work / "cluster",
            roles,
            self.base_port,
            self.random,
            {name.replace("_", "."): value for name, value in settings.items()},
        )

    def step(self, text: str) -> None:
        print(f"{self.name}: {text}", flush=True)
        self.steps.append(text)

    def capture(self, name: str, node: Node, about: str) -> None:
        """Keep a node's log dir under a name; a running broker is paused, so that facts and files agree."""
        if node.running:
            node.pause()
        copy(node.logs, self.folder / name)
        if node.running:
            node.resume()
        self.captures[name] = about
        self.step(f"captured {name}: {about}")


def settle(seconds: float = 1.5) -> None:
    """Give checkpoints and high watermarks time to reach the disk."""
    time.sleep(seconds)
