"""The JSON Schema of a command's document, made from the row declarations alone."""

import json
from typing import Any

from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.kafka.findings.findings import SEVERITIES
from kcli.output.structured import DOCUMENT_VERSION
from kcli.rows import ONE_TYPE_AT_A_TIME, row_types
from kcli.rows.declare import RowType, column_schema, record, row_schema
from kcli.rows.head import HOST, LABEL_PREFIX, RUN

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT_SCHEMA: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_MAYBE_INTEGER: Schema = {"type": ["integer", "null"]}
_MAYBE_FACT: Schema = {"type": ["string", "integer", "null"]}


def _closed(title: str, properties: Schema) -> Schema:
    return {"title": title, **record(properties)}


def _saying(text: str) -> Schema:
    return {"description": text}


FINDING_SCHEMA = _closed(
    "finding",
    {
        "code": {"enum": sorted(CATALOGUE)},
        "severity": {"enum": list(SEVERITIES)},
        "message": _TEXT_SCHEMA,
        "dir": _MAYBE_TEXT | _saying("directory of the file, or of the partition that it belongs to"),
        "file": _MAYBE_TEXT | _saying("base name; null for a finding about a directory"),
        "path": _MAYBE_TEXT
        | _saying("of the file, or of the directory where file is null, as reached from PATH"),
        "position": _MAYBE_INTEGER,
        "expected": _MAYBE_FACT,
        "found": _MAYBE_FACT,
    },
)
ERROR = _closed(
    "error",
    {
        "path": _TEXT_SCHEMA | _saying("as reached from the argument; empty when no single path is to blame"),
        "error": _TEXT_SCHEMA,
        "position": _MAYBE_INTEGER,
        "field": _MAYBE_TEXT,
        "message": _TEXT_SCHEMA,
    },
)

OUT: Schema = {
    "title": "out",
    "type": "object",
    "description": "what --out puts before the columns of each row, finding and error",
    "properties": {column.name: column_schema(column) for column in (HOST, RUN)},
    "patternProperties": {f"^{LABEL_PREFIX}": _TEXT_SCHEMA},
    "required": [HOST.name, RUN.name],
}


def _row(row_type: RowType, *, tagged: bool) -> Schema:
    schema = row_schema(row_type)
    if not tagged:
        return schema
    return {
        **schema,
        "properties": {"type": {"const": row_type.name}, **schema["properties"]},
        "required": ["type", *schema["required"]],
    }


def document_schema(command: str) -> Schema:
    """Return the schema of what `command` prints with -o json and all columns."""
    types = row_types(command)
    rows = [{"$ref": f"#/$defs/{row_type.name}"} for row_type in types]
    document = _closed(
        f"kcli {command}",
        {
            "command": {"const": command},
            "version": {"const": DOCUMENT_VERSION},
            "rows": {"type": "array", "items": rows[0] if len(rows) == 1 else {"oneOf": rows}},
            "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
            "errors": {"type": "array", "items": {"$ref": "#/$defs/error"}},
        },
    )
    tagged = len(types) > 1 and command not in ONE_TYPE_AT_A_TIME
    defs = {row_type.name: _row(row_type, tagged=tagged) for row_type in types}
    defs |= {"finding": FINDING_SCHEMA, "error": ERROR, "out": OUT}
    return {"$schema": DIALECT, **document, "$defs": defs}


def pretty(schema: Schema) -> str:
    """Return a schema as indented JSON."""
    return json.dumps(schema, indent=2)
