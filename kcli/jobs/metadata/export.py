"""`metadata export`: topics, settings, ACLs and quotas as the command lines that make them again."""

import os
import shlex
from collections.abc import Iterable, Iterator

from formats.messages.metadata import CONFIG_RESOURCES
from formats.names import MADE_BY_BROKERS
from kcli.engine.contract import Unit
from kcli.jobs.common import YieldAndReturn, unit_job
from kcli.jobs.metadata.metadata import MetadataQuery, image_findings, origin_of, read, wants
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.metadata_image import TOPIC
from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS, Facts, Key, resource_name
from kcli.kafka.kraft.metadata_loader import NOT_WHOLE, UNREADABLE, Metadata
from kcli.kafka.kraft.secret_settings import is_secret
from kcli.logdir.partition import Partition
from kcli.rows import Item
from kcli.rows.metadata import MetadataCommandRow

EXPORTED = ("topics", "configs", "acls", "quotas", "scram")
SERVER = '--bootstrap-server "$BOOTSTRAP"'
ENTITY_TYPES = {"TOPIC": "topics", "BROKER": "brokers", "CLIENT_METRICS": "client-metrics", "GROUP": "groups"}
QUOTA_TYPES = {"user": "users", "client-id": "clients", "ip": "ips"}
ACL_OPTIONS = {
    "TOPIC": "--topic",
    "GROUP": "--group",
    "TRANSACTIONAL_ID": "--transactional-id",
    "DELEGATION_TOKEN": "--delegation-token",
    "USER": "--user-principal",
}
SEPARATORS, UNFIT = frozenset(",="), frozenset("[]\n\r")
"""`kafka-configs.sh` takes a value with the first in brackets, and none with the others."""


@unit_job
def export(partition: Partition, unit: Unit, *, query: MetadataQuery) -> YieldAndReturn:
    """Yield a row for each command line, or for a comment on what no command can make again."""
    metadata = read(unit.target, partition, query.until)
    origin = origin_of(partition, metadata)
    findings = [finding for finding in image_findings(metadata) if isinstance(finding, Finding)]
    yield from findings
    for finding in findings:
        if finding.code in {NOT_WHOLE, UNREADABLE}:
            name = os.path.basename(finding.place or "")
            comment = f"# INCOMPLETE: {name}: {_comment(finding.message)}"
            yield MetadataCommandRow(origin, "log", name, comment)
    for kind in query.kinds or EXPORTED:
        for key in IMAGE_KINDS[kind].keys(metadata):
            facts = IMAGE_KINDS[kind].facts(metadata, key)
            if facts is not None and wants(query, kind, key, facts):
                name = IMAGE_KINDS[kind].name(metadata, key)
                for line in _LINES_OF[kind](metadata, key, facts, query):
                    yield MetadataCommandRow(origin, IMAGE_KINDS[kind].noun, name, line)
    return query.is_in(metadata)


def _line(tool: str, *arguments: str) -> str:
    return f"{tool}.sh {SERVER} {shlex.join(arguments)}"


def _topic(metadata: Metadata, key: Key, facts: Facts, query: MetadataQuery) -> Iterator[str]:
    name, partitions = facts["topic"], metadata.image.topics[key].partitions
    if name in MADE_BY_BROKERS or not partitions:
        return
    replicas = max(len(state.replicas) for state in partitions.values())
    settings = (
        f"{setting}={value}"
        for setting, value in sorted(facts["configs"].items())
        if _is_plain(value) and (query.secrets or not is_secret(TOPIC, setting))
    )
    yield _line(
        "kafka-topics",
        *("--create", "--if-not-exists", "--topic", name),
        *("--partitions", str(len(partitions)), "--replication-factor", str(replicas)),
        *(argument for setting in settings for argument in ("--config", setting)),
    )


def _is_plain(value: str) -> bool:
    """Whether `kafka-topics.sh` takes a value."""
    return value != "" and "=" not in value


def _alter(entity: Iterable[str], settings: Facts) -> str:
    added = ",".join(f"{name}={_value(value)}" for name, value in sorted(settings.items()))
    return _line("kafka-configs", "--alter", *entity, "--add-config", added)


def _value(value: object) -> str:
    text = f"{value:.17g}" if isinstance(value, float) else str(value)
    return f"[{text}]" if SEPARATORS & set(text) else text


def _config(_: Metadata, key: Key, facts: Facts, query: MetadataQuery) -> Iterator[str]:
    entity_type, name = ENTITY_TYPES.get(CONFIG_RESOURCES.get(key[0], "")), key[1]
    if entity_type is None or name in MADE_BY_BROKERS:
        return
    is_said = key[0] == TOPIC and "topics" in (query.kinds or EXPORTED)
    settings = {
        setting: value
        for setting, value in facts.items()
        if (query.secrets or not is_secret(key[0], setting)) and (not is_said or not _is_plain(value))
    }
    entity = ["--entity-type", entity_type, *(["--entity-name", name] if name else ["--entity-default"])]
    unfit = [setting for setting, value in settings.items() if UNFIT & set(str(value))]
    if len(unfit) < len(settings):
        yield _alter(entity, {setting: settings[setting] for setting in settings if setting not in unfit})
    for setting in sorted(unfit):
        problem = "kafka-configs.sh takes no bracket and no line break in a value: use --add-config-file"
        yield f"# {_comment(resource_name(key))}: {_comment(setting)}: {problem}"
    for setting in sorted(facts):
        if is_secret(key[0], setting) and not query.secrets:
            yield f"# {_comment(resource_name(key))}: {_comment(setting)} is secret: use --secrets"


def _comment(text: str) -> str:
    return " ".join(text.split())


def _quota(_: Metadata, key: Key, facts: Facts, __: MetadataQuery) -> Iterator[str]:
    entity: list[str] = []
    for kind, name in key:
        entity += ["--entity-type", QUOTA_TYPES.get(kind, kind)]
        entity += ["--entity-default"] if name is None else ["--entity-name", name]
    yield _alter(entity, facts)


def _acl(_: Metadata, __: Key, facts: Facts, ___: MetadataQuery) -> Iterator[str]:
    permission = facts["permission"].lower()
    resource = [ACL_OPTIONS.get(facts["resource_type"], ""), facts["resource_name"]]
    pattern = ["--resource-pattern-type", facts["pattern_type"].lower()]
    if facts["resource_type"] == "CLUSTER":
        resource, pattern = ["--cluster"], []
    elif not resource[0]:
        yield f"# ACL {facts['id']} of {facts['resource_type']}: kafka-acls.sh knows no such resource"
        return
    operation = "".join(word.title() for word in facts["operation"].split("_"))
    yield _line(
        "kafka-acls",
        *("--add", f"--{permission}-principal", facts["principal"], f"--{permission}-host", facts["host"]),
        *("--operation", operation, *resource, *pattern),
    )


def _scram(_: Metadata, __: Key, facts: Facts, ___: MetadataQuery) -> Iterator[str]:
    yield f"# user {_comment(facts['user'])}: {facts['mechanism']}: the metadata has no password"


_LINES_OF = {"topics": _topic, "configs": _config, "acls": _acl, "quotas": _quota, "scram": _scram}


def lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the command lines of rows, each once, for -o text."""
    commands: set[str] = set()
    for row in rows:
        assert isinstance(row, MetadataCommandRow)
        if row.command not in commands:
            commands.add(row.command)
            yield row.command
