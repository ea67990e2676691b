"""Brokers of several releases, each a JVM of one node: formatted, started, watched until ready, stopped."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.processes import free_base_port

HERE = Path(__file__).parent
TARGET = HERE / "target"
CLUSTER_ID = "c3RhcnRzX19fX19fX19fXw"
NODE_ID = 1
READY = "Kafka Server started"
WAITS_AFTER = 40.0
"""Seconds after which a broker that lives and is not ready waits; 9 of them are an old session's end."""
SETTINGS = {
    "node.id": NODE_ID,
    "process.roles": "broker,controller",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "background.threads": 4,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "log.cleaner.dedupe.buffer.size": 4194304,
    "num.recovery.threads.per.data.dir": 1,
    "log.index.size.max.bytes": 131072,
    "offsets.topic.num.partitions": 2,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 2,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "metadata.log.max.record.bytes.between.snapshots": 6000,
    "log.flush.offset.checkpoint.interval.ms": 2000,
    "replica.high.watermark.checkpoint.interval.ms": 1000,
    "log.initial.task.delay.ms": 500,
    "log.retention.ms": -1,
    "broker.heartbeat.interval.ms": 500,
    "broker.session.timeout.ms": 6000,
}
DYNAMIC = {
    "controller.quorum.voters": None,
    "controller.quorum.bootstrap.servers": "127.0.0.1:$CONTROLLER",
}
"""In place of voters: a quorum that finds them in its log."""
LOGGING = {
    "org.slf4j.simpleLogger.defaultLogLevel": "info",
    "org.slf4j.simpleLogger.showDateTime": "false",
    "org.slf4j.simpleLogger.showThreadName": "false",
}


def classpath(release: str) -> str:
    """Return the class path of a broker of a release, resolved once."""
    found = TARGET / release / "classpath.txt"
    if not found.exists():
        found.parent.mkdir(parents=True, exist_ok=True)
        part = found.with_suffix(f".{os.getpid()}")  # others may resolve it, too
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={part}", f"-Dkafka.version={release}"]
        subprocess.run(
            ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *goal], check=True, stdin=subprocess.DEVNULL
        )
        part.rename(found)
    # releases before 4.0 bind a logger of their own, which prints nothing without a file of settings
    return os.pathsep.join(
        jar for jar in found.read_text().strip().split(os.pathsep) if "reload4j" not in jar
    )


def java(release: str, main: str, *arguments: str) -> list[str]:
    """Return the command line of a class of a release."""
    logging = [f"-D{name}={value}" for name, value in LOGGING.items()]
    flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true", "-Xmx320m"]
    return ["java", *flags, *logging, "-cp", classpath(release), main, *arguments]


def write_properties(root: Path, changes: Mapping[str, object] | None = None) -> Path:
    """Write server.properties of a node whose log dirs are d0 and d1 below `root`, and return its path."""
    port = free_base_port() + 1
    controller = port + 500
    listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"
    settings: dict[str, object] = {
        **SETTINGS,
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{controller}",
        "log.dirs": f"{root}/d0,{root}/d1",
        "metadata.log.dir": f"{root}/d0",
    }
    for name, value in (changes or {}).items():
        if value is None:
            settings.pop(name, None)
        else:
            settings[name] = str(value).replace("$CONTROLLER", str(controller)).replace("$PORT", str(port))
    path = root / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


def format_dirs(release: str, properties: Path, *options: str) -> None:
    """Format the log dirs of a node as the release's own StorageTool does."""
    line = java(
        release, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), *options
    )
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(line[-6:])}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


class Start:
    """One start of a broker: its process, and the output that it has printed so far."""

    def __init__(self, release: str, properties: Path, name: str = "server") -> None:
        self.output_path = properties.parent / f"{name}-{release}.log"
        with self.output_path.open("wb") as output:
            self.process = subprocess.Popen(
                java(release, "kafka.Kafka", str(properties)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.output_path.read_text(errors="replace")

    def outcome(self, seconds: float = WAITS_AFTER) -> str:
        """Return `starts`, `fails` or `waits`, as soon as it is known."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return "fails"
            if READY in self.output:
                return "starts"
            time.sleep(0.2)
        return "waits"

    def exceptions(self) -> list[str]:
        """Return the simple names of the exceptions in its words, in their order."""
        return re.findall(r"\b([A-Z]\w+(?:Exception|Error))\b", self.output)

    def stop(self, *, kill: bool = False) -> None:
        """End it, and wait until it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL if kill else signal.SIGTERM)
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
