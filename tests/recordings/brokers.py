"""Starts, stops, kills and pauses real brokers (KRaft) on 127.0.0.1, each a JVM with a folder of its own."""

import base64
import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.recordings.java_tools import command, run

QUIET = {"log_level": 0, "socket.timeout.ms": 5000, "allow.auto.create.topics": False}
"""For every client: a broker that is down on purpose is no news."""

LONGEST = 180
"""Seconds that a start, a stop or a change may take on a busy machine; a tiered broker stops in 30 to 60."""

SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    # a small machine
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 4,
    "log.cleaner.dedupe.buffer.size": 4194304,
    "log.cleaner.backoff.ms": 500,
    # few partitions of internal topics
    "auto.create.topics.enable": "false",
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    # checkpoint files that say something soon
    "log.flush.offset.checkpoint.interval.ms": 1000,
    "log.flush.start.offset.checkpoint.interval.ms": 1000,
    "replica.high.watermark.checkpoint.interval.ms": 500,
    "log.retention.check.interval.ms": 1000,
    "log.initial.task.delay.ms": 500,
    # active segments preallocate their indexes at this size (10 MiB by default)
    "log.index.size.max.bytes": 12000,
    # a killed broker is fenced, and its partitions get new leaders, after this time; a paused one too
    "broker.heartbeat.interval.ms": 500,
    "broker.session.timeout.ms": 5000,
}


def remote_storage(folder: Path) -> dict[str, object]:
    """Return the settings of a broker that copies segments to a folder (Kafka's LocalTieredStorage)."""
    package = "org.apache.kafka.server.log.remote"
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": f"{package}.storage.LocalTieredStorage",
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": folder,
        "rsm.config.delete.on.close": "false",
        "remote.log.metadata.manager.class.name": (
            f"{package}.metadata.storage.TopicBasedRemoteLogMetadataManager"
        ),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "rlmm.config.remote.log.metadata.topic.num.partitions": 2,
        "rlmm.config.remote.log.metadata.topic.replication.factor": 1,
        "remote.log.manager.task.interval.ms": 500,
    }


class Node:
    """One JVM: broker, controller or both. Its log dir `logs` has the metadata log only if both."""

    def __init__(self, cluster: "Cluster", number: int, roles: str) -> None:
        self.number = number
        self.roles = roles
        self.cluster = cluster
        self.folder = cluster.folder / f"node{number}"
        self.logs = self.folder / "logs"
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def port(self) -> int:
        return self.cluster.base_port + self.number

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def log_path(self) -> Path:
        """The broker's own log, one file per start."""
        return self.folder / f"server-{self.starts}.log"

    def format(self) -> None:
        self.folder.mkdir(parents=True)
        listeners = [f"PLAINTEXT://127.0.0.1:{self.port}"] if "broker" in self.roles else []
        if "controller" in self.roles:
            listeners.append(f"CONTROLLER://127.0.0.1:{self.port + 500}")
        settings = {
            **SETTINGS,
            "node.id": self.number,
            "process.roles": self.roles,
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(listeners),
            "log.dirs": self.logs,
            "metadata.log.dir": self.logs if self.cluster.alone else self.folder / "metadata",
            **self.cluster.quorum,
            **self.cluster.settings,
        }
        (self.folder / "server.properties").write_text(
            "".join(f"{name}={value}\n" for name, value in settings.items())
        )
        run(
            "kafka.tools.StorageTool",
            "format",
            "-t",
            self.cluster.id,
            "-c",
            str(self.folder / "server.properties"),
            *self.cluster.format_options,
            release=self.cluster.release,
        )

    def launch(self) -> None:
        self.starts += 1
        with (self.folder / f"output-{self.starts}.log").open("wb") as output:
            line = command(
                "kafka.Kafka",
                str(self.folder / "server.properties"),
                properties=(f"recording.log={self.log_path}",),
                release=self.cluster.release,
            )
            self.process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def start(self) -> None:
        self.launch()
        self.wait_started()

    def wait_started(self) -> None:
        def started() -> bool:
            if not self.running:
                raise RuntimeError(f"node {self.number} ended: see {self.folder}")
            return self.log_path.exists() and bool(self.log_lines("Kafka Server started"))

        wait(started, f"node {self.number} to start")
        if "broker" in self.roles:
            wait(lambda: self.number in self.cluster.metadata().brokers, f"node {self.number} to be unfenced")

    def stop(self) -> None:
        """Shut down cleanly."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(LONGEST)

    def kill(self) -> None:
        """Kill -9: no clean shutdown file, indexes not trimmed."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)  # all its threads: a busy machine takes its time

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def log_lines(self, pattern: str) -> list[str]:
        """Return the lines of the current start that match, without the names of this machine's folders."""
        lines = self.log_path.read_text(errors="replace").splitlines()
        return [line.replace(f"{self.folder}/", "") for line in lines if re.search(pattern, line)]


class Cluster:
    """Nodes by number with their roles; formatted and started on entry, killed on exit whatever happened."""

    def __init__(
        self,
        folder: Path,
        roles: Mapping[int, str],
        base_port: int,
        random: Random,
        settings: Mapping[str, object] | None = None,
        *,
        is_dynamic: bool = False,
        release: str = "",
    ) -> None:
        """Make a cluster; a dynamic one, of controllers alone, has its voters in the metadata log.

        `release`: of its brokers, without it the one of the recordings.
        """
        self.release = release
        self.folder = folder.absolute()
        self.base_port = base_port
        self.settings = dict(settings or {})
        self.alone = len(roles) == 1
        self.id = _uuid(random)
        self.nodes = {number: Node(self, number, role) for number, role in roles.items()}
        ports = {node.number: f"127.0.0.1:{node.port + 500}" for node in self.controllers}
        voters = [f"{number}@{server}" for number, server in ports.items()]
        self.quorum = {"controller.quorum.voters": ",".join(voters)}
        self.format_options: list[str] = []
        if is_dynamic:
            self.quorum = {"controller.quorum.bootstrap.servers": ",".join(ports.values())}
            initial = ",".join(f"{voter}:{_uuid(random)}" for voter in voters)
            self.format_options = ["--initial-controllers", initial]

    @property
    def controllers(self) -> list[Node]:
        return [node for node in self.nodes.values() if "controller" in node.roles]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes.values() if "broker" in node.roles)

    def __enter__(self) -> Self:
        for node in self.nodes.values():
            node.format()
        try:
            self.admin = AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})
            # It lives as long as the process: the end of one may wait for ever for a broker that is gone, and
            # one that is collected in a thread of its own aborts.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.admin))
            for node in self.nodes.values():
                node.launch()
            for node in self.nodes.values():
                node.wait_started()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.kill()

    def metadata(self):
        return self.admin.list_topics(timeout=5)

    def partitions(self):
        """Yield (topic, partition's metadata) of every partition that is not internal."""
        for name, topic in sorted(self.metadata().topics.items()):
            if not name.startswith("__"):
                for partition in topic.partitions.values():
                    yield name, partition

    def wait_partitions(self, holds: Callable[[object], bool], what: str) -> None:
        wait(lambda: all(holds(partition) for _, partition in self.partitions()), what)


def _uuid(random: Random) -> str:
    """Return an id as Kafka writes it, which never begins with a dash."""
    return "K" + base64.urlsafe_b64encode(random.randbytes(16)).decode()[1:22]


def wait(holds: Callable[[], bool], what: str, seconds: float = LONGEST) -> None:
    """Ask until it holds; a broker that does not answer is asked again. On a busy machine it is slow."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except (KafkaException, OSError):
            pass
        time.sleep(0.4)
    raise TimeoutError(f"waited {seconds} s for {what}")


def answered(request: Callable[[], Any], *, done: int | None = None, seconds: float = LONGEST) -> Any:
    """Return what a broker answers; repeat a lost request, `done` is its error if it was carried out."""
    deadline, lost = time.monotonic() + seconds, False
    while True:
        try:
            return request()
        except (KafkaException, TimeoutError) as error:
            code = error.args[0].code() if isinstance(error, KafkaException) else -1
            if lost and code == done:
                return None
            if code >= 0 or time.monotonic() > deadline:
                raise
            lost = True
        time.sleep(0.4)
