"""Kafka's message definitions in the newest jars beside `formats.messages`; raise NEWEST for more."""

import json
import os
import re
import zipfile

import pytest

from formats.messages import control, remote
from formats.messages.declare import Field
from formats.messages.decode import SCHEMAS
from tests.starts.releases import classpath

pytestmark = pytest.mark.oracle

NEWEST = "4.4.0"
EARLIER = {"AccessControlRecord"}
"""Of releases before 3.5."""
BY_LAYOUT = {*remote.REMOTE_SCHEMAS}
"""Their versions here are layouts, which Kafka leaves at 0."""
NUMBERED_BY_TYPE = {*control.CONTROL_SCHEMAS}
"""Kafka numbers control records by their type alone."""
MARKER = "EndTxnMarker"
"""Its version comes before it: here it is a field."""
KINDS = {"metadata", "coordinator-key", "coordinator-value", "data"}
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def definitions() -> dict[str, dict]:
    """Return the definitions of records in the jars of the newest release, by name."""
    found = {}
    for jar in classpath(NEWEST).split(os.pathsep):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if re.search(r"(?:^|/)(?:message|metadata)/\w+\.json$", name):
                    definition = json.loads(COMMENT.sub("", archive.read(name).decode()))
                    if definition.get("type") in KINDS:
                        found[definition["name"]] = definition
    return found


def versions(text: str, highest: int) -> tuple[int, int]:
    """Return the versions of a definition, open ranges up to the highest one."""
    lowest, _, last = text.partition("-")
    if text.endswith("+"):
        return int(text[:-1]), highest
    return int(lowest), min(int(last or lowest), highest)


def of_kafka(fields: list[dict], structs: dict[str, list[dict]], highest: int) -> list[tuple]:
    """Return what a definition says of fields: name, type, versions, nullable, tag, and those inside."""
    said = []
    for field in fields:
        kind = field["type"].removeprefix("[]")
        inner = field.get("fields") or structs.get(kind)
        name = field["name"][0].lower() + field["name"][1:]
        said.append(
            (
                name,
                field["type"],
                versions(field.get("versions", field.get("taggedVersions", "0+")), highest),
                "nullableVersions" in field,
                field.get("tag"),
                of_kafka(inner, structs, highest) if inner else None,
            )
        )
    return said


def of_ours(fields: tuple[Field, ...], highest: int) -> list[tuple]:
    """Return the same of a declaration."""
    return [
        (
            field.name,
            f"[]{field.type}" if field.array else field.type,
            (field.versions.lowest, min(field.versions.highest, highest)),
            field.nullable,
            field.tag,
            of_ours(field.struct, highest) if field.struct else None,
        )
        for field in fields
    ]


OURS = sorted(name for name in SCHEMAS if "_" not in name and name not in EARLIER)


def test_every_record_of_the_newest_release_is_declared():
    theirs = {name for name, kind in definitions().items() if kind["type"] != "data"}
    assert theirs - set(OURS) == set()


@pytest.mark.parametrize("name", OURS)
def test_a_declaration_says_what_kafka_says(name: str):
    definition, schema = definitions()[name], SCHEMAS[name]
    highest = (
        schema.versions.highest if name in BY_LAYOUT else int(definition["validVersions"].split("-")[-1])
    )
    structs = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}
    theirs = of_kafka(definition["fields"], structs, highest)
    ours = of_ours(schema.fields, highest)
    if name in BY_LAYOUT:  # of them the versions say which layout has a field
        theirs, ours = ([(field[0], field[1], field[4]) for field in each] for each in (theirs, ours))
    if name == MARKER:
        ours = ours[1:]
    assert ours == theirs
    if name not in NUMBERED_BY_TYPE:
        assert schema.api_key == definition["apiKey"]
    if name not in BY_LAYOUT:
        assert schema.versions.highest == highest
