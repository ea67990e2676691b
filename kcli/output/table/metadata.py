"""The views of `metadata`: a summary, each kind of what a cluster knows, changes and differences."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from textwrap import wrap
from typing import Any

from rich.console import RenderableType

from kcli.kafka.kraft.metadata_image import Endpoint
from kcli.logdir.log_dirs import METADATA_DIRECTORY
from kcli.output.screen import Screen
from kcli.output.table.columns import ShownColumn, change
from kcli.output.table.fitted_table import StyledLines, sentences, table
from kcli.output.table.shared_columns import SharedColumn, short_dirs
from kcli.output.table.table_view import TableInput, TableView, table_view
from kcli.output.units import counted, joined, moment, number, tally
from kcli.rows.metadata import (
    MetadataChangeRow,
    MetadataCommandRow,
    MetadataDifferenceRow,
    MetadataPartitionRow,
    MetadataSummaryRow,
)
from kcli.rows.partitions import OfDirectory

OF_DIR = SharedColumn("DIR", attrgetter("place.dir"), "{}", ("metadata log",), are_paths=True)
OF_NODE = SharedColumn("NODE", attrgetter("place.broker_id"), "node {}", (), "number", rank=7, is_last=True)
CLUSTER_OF_IMAGE = SharedColumn("", attrgetter("place.cluster_id"), "cluster {}", ("cluster",))
PLACE = (OF_DIR, OF_NODE, CLUSTER_OF_IMAGE)
NONE, PRODUCER_IDS = -1, "producer-ids"
LEAST_OF_LOGS = 12


def ids(broker_ids: Sequence[int]) -> str:
    """Return ids of brokers: 1,2,3."""
    return ",".join(map(str, broker_ids))


def _listeners(endpoints: Sequence[Endpoint]) -> str:
    return joined(f"{endpoint.name}://{endpoint.host}:{endpoint.port}" for endpoint in endpoints)


def _settings(settings: dict[str, Any]) -> str:
    return joined(f"{name}={value}" for name, value in settings.items())


def _view(noun: str, *columns: ShownColumn, **fields: Any) -> Callable[[TableInput], TableView]:
    fields = {"verdict": lambda rows: f"{counted(len(rows), noun)}.", **fields}
    return partial(_each_once, TableView(columns=columns, shared=PLACE, **fields))


def _each_once(view: TableView, answer: TableInput) -> TableView:
    """Return a view in which what several logs of a cluster say alike counts once, and differences show."""
    by_log: dict[OfDirectory, dict[str, Any]] = {}
    for row in answer.rows:
        by_log.setdefault(row.place, {})[repr((row.place.cluster_id, *row[1:]))] = row
    if len(by_log) == 1 or answer.screen.is_part:
        return view
    lines: dict[str, tuple[Any, list[OfDirectory]]] = {}
    alike: dict[frozenset[str], list[OfDirectory]] = {}
    for place, log_rows in by_log.items():
        alike.setdefault(frozenset(log_rows), []).append(place)
        for key, row in log_rows.items():
            lines.setdefault(key, (row, []))[1].append(place)
    names, rows = _names_of(by_log), [row for row, _ in lines.values()]
    logs = {id(row): joined(names[place] for place in places) for row, places in lines.values()}
    subjects = {
        subject: number for number, subject in enumerate(dict.fromkeys(map(view.columns[0].value_of, rows)))
    }

    def verdict(_: Sequence[Any]) -> str:
        assert view.verdict is not None
        verdicts = [(places, view.verdict([*by_log[places[0]].values()])) for places in alike.values()]
        if len(verdicts) == 1:
            return f"{verdicts[0][1].rstrip('.')}, the same in {counted(len(by_log), *OF_DIR.noun)}."
        return "\n".join(f"{joined(names[place] for place in places)}: {text}" for places, text in verdicts)

    above, alone = view.above, OF_DIR._replace(header="")
    column = ShownColumn("IN", lambda row: logs[id(row)], least=LEAST_OF_LOGS)
    return view._replace(
        columns=[*view.columns, *[column] * (len(alike) > 1)],
        shared=(alone, CLUSTER_OF_IMAGE),
        verdict=verdict,
        is_listed=lambda row: id(row) in logs,
        order=view.order or (lambda row: subjects[view.columns[0].value_of(row)]),
        above=None if above is None else lambda _, screen: above(rows, screen),
    )


def _names_of(places: Iterable[OfDirectory]) -> dict[OfDirectory, str]:
    """Return a name of each log: its node, or its directory where nodes are not known or not different."""
    directories = list(places)
    nodes = {place: f"node {place.broker_id}" for place in directories if place.broker_id is not None}
    if len({*nodes.values()}) == len(directories):
        return nodes
    short = short_dirs(place.dir.removesuffix(f"/{METADATA_DIRECTORY}") for place in directories)
    return {place: short[place.dir.removesuffix(f"/{METADATA_DIRECTORY}")] for place in directories}


def _summary_lines(rows: Sequence[MetadataSummaryRow], screen: Screen) -> Iterator[RenderableType]:
    for log_number, row in enumerate(rows):
        if len(rows) > 1:
            yield from [""] if log_number else []
            node = "" if row.place.broker_id is None else f"   node {row.place.broker_id}"
            yield StyledLines([[(f"{row.place.dir}{node}", "bold")]], screen)
        time = "" if row.timestamp is None else f", {moment(row.timestamp)} UTC"
        fenced = f"{len(row.brokers_fenced)} fenced ({ids(row.brokers_fenced)})" if row.brokers_fenced else ""
        level = row.metadata_version
        facts = {
            "record": f"offset {row.metadata_offset}, epoch {row.metadata_epoch}{time}",
            "topics": number(row.topics),
            "partitions": joined(
                (
                    number(row.partitions),
                    _trouble(row.partitions_without_leader, row.partitions_below_replicas),
                )
            ),
            "brokers": joined((number(row.brokers), fenced)),
            "controllers": f"{number(row.controllers)} registered, voters {ids(row.voters)}, "
            f"leader {'unknown' if row.leader is None else row.leader}",
            "configs": counted(row.configs, "setting"),
            "features": number(row.features)
            + ("" if level is None else f", metadata.version at level {level}"),
            **{kind: number(getattr(row, kind) or 0) for kind in SELDOM_THERE if getattr(row, kind)},
            "producer-ids": "" if row.next_producer_id is None else f"next {row.next_producer_id}",
        }
        texts = {name: text for name, text in facts.items() if text}
        yield StyledLines([[(f"  {name:14}", "dim"), (text, "")] for name, text in texts.items()], screen)


SELDOM_THERE = ("acls", "quotas", "scram", "tokens")


def _trouble(without_leader: int, behind: int) -> str:
    return tally({"without a leader": without_leader, "with replicas out of the ISR": behind})


def _summary_verdict(rows: Sequence[MetadataSummaryRow]) -> str:
    """Return what is wrong with the newest image; of several also how far they are apart."""
    newest = max(rows, key=lambda row: (row.metadata_epoch, row.metadata_offset))
    fenced, without = len(newest.brokers_fenced), newest.partitions_without_leader
    trouble = (
        f"{counted(without, 'partition')} without a leader" if without else "",
        f"{counted(fenced, 'broker')} fenced" if fenced else "",
    )
    offsets = sorted({row.metadata_offset for row in rows})
    ends = f"Offsets {offsets[0]} to {offsets[-1]}" if len(offsets) > 1 else f"Offset {offsets[0]}"
    fine = "every partition has a leader, no broker is fenced" if newest.partitions else "no partition"
    return f"{ends}: {joined(trouble) or fine}."


METADATA_SUMMARY = table_view(
    shared=PLACE, verdict=_summary_verdict, is_listed=lambda _: False, above=_summary_lines
)


def _partitions_verdict(rows: Sequence[MetadataPartitionRow]) -> str:
    without = sum(row.leader == NONE for row in rows)
    behind = sum(len(row.isr) < len(row.replicas) for row in rows)
    return f"{joined((counted(len(rows), 'partition'), _trouble(without, behind)))}."


def _partition_severity(row: MetadataPartitionRow) -> str | None:
    if row.leader == NONE:
        return "error"
    return "warning" if len(row.isr) < len(row.replicas) else ""


METADATA_TOPIC = _view(
    "topic",
    ShownColumn("TOPIC", "topic", style="bold", may_overflow=True),
    ShownColumn("PARTITIONS", "partitions", "count"),
    ShownColumn("TOPIC ID", "topic_id", rank=2),
    ShownColumn("SETTINGS", lambda row: _settings(row.configs), rank=1, least=20),
)
METADATA_PARTITION = _view(
    "partition",
    ShownColumn("PARTITION", lambda row: f"{row.topic}-{row.partition}", style="bold", may_overflow=True),
    ShownColumn("LEADER", "leader", "defined"),
    ShownColumn("ISR", lambda row: ids(row.isr)),
    ShownColumn("REPLICAS", lambda row: ids(row.replicas)),
    ShownColumn("EPOCH", "leader_epoch", "number"),
    ShownColumn("ELR", lambda row: ids(row.elr), rank=1),
    ShownColumn("LAST LEADER", lambda row: ids(row.last_known_elr), rank=2),
    ShownColumn("ADDING", lambda row: ids(row.adding_replicas), rank=3),
    ShownColumn("REMOVING", lambda row: ids(row.removing_replicas), rank=3),
    ShownColumn(
        "STATE", lambda row: "" if row.leader_recovery_state == "RECOVERED" else "recovering", rank=4
    ),
    verdict=_partitions_verdict,
    severity=_partition_severity,
)
METADATA_BROKER = _view(
    "broker",
    ShownColumn("BROKER", "node_id", "number", style="bold"),
    ShownColumn(
        "STATE",
        lambda row: "fenced" if row.fenced else "shutting down" if row.in_controlled_shutdown else "active",
    ),
    ShownColumn("EPOCH", "broker_epoch", "number"),
    ShownColumn("RACK", "rack", rank=2),
    ShownColumn("LISTENERS", lambda row: _listeners(row.endpoints), rank=1, least=24),
    ShownColumn("LOG DIRS", lambda row: len(row.log_dirs), "count", rank=3),
    ShownColumn("INCARNATION", "incarnation_id", rank=4),
    severity=lambda row: "warning" if row.fenced or row.in_controlled_shutdown else "",
)
METADATA_CONTROLLER = _view(
    "controller",
    ShownColumn("CONTROLLER", "node_id", "number", style="bold"),
    ShownColumn("LISTENERS", lambda row: _listeners(row.endpoints), least=24),
    ShownColumn("INCARNATION", "incarnation_id", rank=1),
)
METADATA_CONFIG = _view(
    "setting",
    ShownColumn("TYPE", lambda row: row.resource_type.lower()),
    ShownColumn("NAME", lambda row: row.resource_name or "(default)", style="bold", may_overflow=True),
    ShownColumn("SETTING", "name"),
    ShownColumn("VALUE", "value", least=10),
)
METADATA_FEATURE = _view(
    "feature", ShownColumn("FEATURE", "feature", style="bold"), ShownColumn("LEVEL", "level", "number")
)
METADATA_ACL = _view(
    "ACL",
    ShownColumn("PRINCIPAL", "principal", style="bold"),
    ShownColumn("", "permission"),
    ShownColumn("OPERATION", "operation"),
    ShownColumn("RESOURCE", lambda row: f"{row.resource_type} {row.resource_name}", least=12),
    ShownColumn("PATTERN", "pattern_type", rank=1),
    ShownColumn("HOST", "host", rank=2),
    ShownColumn("ID", "id", rank=3),
)
METADATA_QUOTA = _view(
    "limit",
    ShownColumn(
        "OF",
        lambda row: joined(f"{kind} {name or '(default)'}" for kind, name in row.entity.items()),
        style="bold",
    ),
    ShownColumn("LIMIT", "key"),
    ShownColumn("VALUE", lambda row: f"{row.value:g}"),
)
METADATA_SCRAM = _view(
    "credential",
    ShownColumn("USER", "user", style="bold"),
    ShownColumn("MECHANISM", "mechanism"),
    ShownColumn("ITERATIONS", "iterations", "number"),
)
METADATA_TOKEN = _view(
    "token",
    ShownColumn("TOKEN", "token_id", style="bold"),
    ShownColumn("OWNER", "owner"),
    ShownColumn("EXPIRES (UTC)", "expiry_timestamp", "time"),
    ShownColumn("AT LAST (UTC)", "max_timestamp", "time", rank=1),
    ShownColumn("RENEWERS", lambda row: joined(row.renewers), rank=2),
    ShownColumn("REQUESTER", "requester", rank=3),
)
METADATA_PRODUCER_IDS = _view(
    "",
    ShownColumn("NEXT PRODUCER ID", "next_producer_id", "number"),
    verdict=lambda rows: (
        f"The next block of producer ids begins with {joined(row.next_producer_id for row in rows)}."
    ),
)
METADATA_VOTER = _view(
    "voter",
    ShownColumn("VOTER", "voter_id", "number", style="bold"),
    ShownColumn("DIRECTORY", "directory_id"),
    ShownColumn("LISTENERS", lambda row: _listeners(row.endpoints), rank=1, least=24),
    ShownColumn("KRAFT.VERSION", "kraft_version", "number", rank=2),
)


# Changes


def _pair(name: str) -> Callable[[MetadataChangeRow], Any]:
    """Return what gives a fact of a partition before and after, where it changes."""

    def pair(row: MetadataChangeRow) -> tuple[str, ...] | None:
        values = [
            facts[name] for facts in (row.before, row.after) if name in facts and row.kind == "partition"
        ]
        # a partition without ELR is created with an empty one
        return tuple(map(_fact, values)) if values not in ([], [[]]) else None

    return pair


def _fact(value: Any) -> str:
    """Return a fact as text, a list of brokers as `1,2`; no leader, and an empty list, as none."""
    if isinstance(value, list):
        return ids(value) or "none"
    return "none" if value in {NONE, None} else str(value)


def _facts(row: MetadataChangeRow) -> str:
    """Return what changes, in a few words."""
    names = [name for name, value in {**row.before, **row.after}.items() if value not in (row.name, [], None)]
    if row.kind in {"partition", "broker", "topic", "controller", "voter"}:
        fact_names = FACTS_IN_WORDS if row.before else ("leader", "replicas")
        names = [name for name in names if name in fact_names]
    sides = (row.before, row.after)
    suffix = "" if row.change == "deleted" else " removed"
    texts = (
        " -> ".join(_fact(side[name]) for side in sides if name in side)
        + (suffix if name not in row.after else "")
        for name in names
    )
    return joined(f"{name.replace('_', ' ')} {text}" for name, text in zip(names, texts, strict=True))


FACTS_IN_WORDS = ("directory_id", "leader", "isr", "elr", "replicas", "adding_replicas", "removing_replicas")


def _lanes(rows: Sequence[MetadataChangeRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield a line for each replica of the one partition that the rows are about."""
    partitions = {row.name for row in rows if row.kind == "partition"}
    about = [row for row in rows if row.kind == "partition" or row.change in {"fenced", "unfenced"}]
    if len(partitions) != 1 or len(about) < FEWEST_CHANGES:
        return
    symbols, fenced = screen.symbols, set[int]()
    sides = [side for row in about for side in (row.before, row.after)]
    replicas = {replica for side in sides for replica in (*side.get("replicas", ()), *side.get("isr", ()))}
    first = next((row.before for row in about if row.before.get("isr")), {})
    leader, isr = first.get("leader"), first.get("isr", [])
    lanes: dict[int, list[str]] = {replica: [] for replica in sorted(replicas)}
    for row in about:
        if row.kind == "broker":
            node = int(row.name.rpartition(" ")[2])
            fenced = fenced | {node} if row.change == "fenced" else fenced - {node}
        else:
            leader, isr = row.after.get("leader", leader), row.after.get("isr", isr)
        for replica, cells in lanes.items():
            mark = symbols.stays if replica == leader else symbols.line if replica in isr else symbols.note
            cells.append(symbols.bad if replica in fenced and replica != leader else mark)
    width = max((screen.width - LABEL) // len(about), 1)
    last = about[-((screen.width - LABEL) // width) :]
    if len(last) < len(about):
        yield sentences(screen, f"The last {len(last)} of {len(about)} changes:")
    lines = [
        [
            (f"  broker {replica:<5}", "dim"),
            ("".join(cell * min(width, WIDEST) for cell in cells[-len(last) :]), ""),
        ]
        for replica, cells in lanes.items()
    ]
    legend = (
        f"{symbols.stays} leader  {symbols.line} in the ISR  {symbols.note} not in it  {symbols.bad} fenced"
    )
    yield StyledLines([*lines, [(" " * LABEL + legend, "dim")]], screen)
    yield ""


FEWEST_CHANGES, LABEL, WIDEST = 3, 14, 6
PARTITION_FACTS = {
    "LEADER": "leader",
    "ISR": "isr",
    "ELR": "elr",
    "EPOCH": "leader_epoch",
    "REPLICAS": "replicas",
}


def _change(row: MetadataChangeRow) -> str:
    """Return what changes, of an unclean election that: the leader's log may lack committed records."""
    is_unclean = row.before and row.after.get("leader_recovery_state") == "RECOVERING"
    return UNCLEANLY if is_unclean else row.change


UNCLEANLY = "unclean"


def _changes_verdict(rows: Sequence[MetadataChangeRow]) -> str:
    changes = Counter(map(_change, rows)).most_common()
    return f"{counted(len(rows), 'change')}: {joined(f'{count} {name}' for name, count in changes)}."


def draw_metadata_change(answer: TableInput) -> TableView:
    """Return the view of changes: of one partition with its leader and ISR, else in words."""
    is_of_one = len({row.name for row in answer.rows if row.kind == "partition"}) == 1
    of_partition = [
        ShownColumn(header, _pair(fact), "changed text", rank)
        for rank, (header, fact) in enumerate(PARTITION_FACTS.items())
    ]
    facts = (ShownColumn("OF", lambda row: ": ".join(filter(None, (row.name, _facts(row)))), least=30),)
    view = table_view(
        ShownColumn("OFFSET", "metadata_offset", "number"),
        ShownColumn("TIME (UTC)", "timestamp", "time of day"),
        ShownColumn("CHANGE", _change, style="bold"),
        *((ShownColumn("OF", "name", may_overflow=True), *of_partition) if is_of_one else facts),
        shared=PLACE,
        verdict=_changes_verdict,
        severity=lambda row: (
            "error"
            if row.kind == "partition" and row.after.get("leader") == NONE
            else {"fenced": "warning", UNCLEANLY: "warning", "deleted": "info"}.get(_change(row))
        ),
        order=lambda row: (row.place.cluster_id or "", row.metadata_offset),
        above=_lanes,
    )
    return _each_once(view, answer)


def _differences_verdict(rows: Sequence[MetadataDifferenceRow]) -> str:
    kinds = Counter(kind for kind, _ in {(row.kind, row.name): row for row in rows})
    counts = [counted(count, kind) for kind, count in kinds.items() if kind != PRODUCER_IDS]
    return f"They differ in {joined([*counts, *['the next producer id'] * (PRODUCER_IDS in kinds)])}."


def _differences(rows: Sequence[MetadataDifferenceRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield a table of a line for each that differs."""
    texts: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        values = (_value(row.before), _value(row.after))
        text = f"{row.field} {change(values, screen.symbols)}"
        if row.field is None:
            settings = json.loads(row.after or row.before or "{}") if row.kind in {"config", "quota"} else {}
            text = f"{row.change} {_settings(settings)}".rstrip()
        texts.setdefault((row.kind, row.name), []).append(text)
    columns = (
        ShownColumn("", lambda line: line[0][0], style="dim"),
        ShownColumn("NAME", lambda line: line[0][1], style="bold", may_overflow=True),
        ShownColumn("WHAT", lambda line: joined(line[1]), least=30),
    )
    yield table(columns, [*texts.items()], screen)


def _value(text: str | None) -> str | None:
    """Return a value, of a list of numbers as 1,2,3."""
    if text is None or not text.startswith("[") or text.strip("[]0123456789,"):
        return text
    return text.strip("[]") or None


METADATA_DIFFERENCE = table_view(
    is_listed=lambda _: False,
    above=_differences,
    shared=(
        OF_DIR,
        SharedColumn(
            "OTHER",
            lambda row: None if row.other_dir == row.place.dir else row.other_dir,
            "and {}",
            are_paths=True,
        ),
        CLUSTER_OF_IMAGE,
    ),
    verdict=_differences_verdict,
)


def _commands(rows: Sequence[MetadataCommandRow], screen: Screen) -> Iterator[RenderableType]:
    width = screen.room - len(CONTINUED)
    commands: list[str] = []
    for command in dict.fromkeys(row.command for row in rows):
        lines = [command]
        if "'" not in command and not command.startswith("#"):
            lines = wrap(command, width, break_on_hyphens=False, break_long_words=False)
        commands += " \\\n    ".join(lines).split("\n")
    yield StyledLines([[(line, "")] for line in commands], screen)


CONTINUED = "     \\"


METADATA_COMMAND = table_view(
    is_listed=lambda _: False,
    above=_commands,
    closing=lambda _: "-o text prints the lines alone, for a file. BOOTSTRAP is the cluster to be filled.",
)
