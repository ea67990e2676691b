"""The views of `txn` and `producers`."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import RenderableType

from formats.messages.transaction import TRANSACTION_STATES
from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.columns import ShownColumn
from kcli.output.table.fitted_table import command_lines, sentences
from kcli.output.table.shared_columns import name_of
from kcli.output.table.table_view import ROWS_OF_A_SCREEN, TableInput, TableView, table_view
from kcli.output.units import counted, joined, moment, number
from kcli.rows.transactions import OpenTransactionRow, ProducerRow, TransactionRow

COPY_THAT_COUNTS = "REPL-007"
UNDER_WAY = frozenset(TRANSACTION_STATES[1:4])


def _producer(row: ProducerRow | TransactionRow | OpenTransactionRow) -> str:
    return f"{row.producer_id}/{row.producer_epoch}"


def _producers_verdict(findings: Sequence[Finding], rows: Sequence[ProducerRow]) -> str:
    """Count each partition once: by the copy that a finding names where several are here."""
    counting = {finding.dir or "" for finding in findings if finding.code == COPY_THAT_COUNTS}
    copied = set(map(os.path.basename, counting))
    rows = [row for row in rows if row.where.dir in counting or name_of(row.where) not in copied]
    open_count = sum(row.current_txn_start_offset is not None for row in rows)
    advice = f" {counted(open_count, 'transaction')} open: kcli txn open says more." if open_count else ""
    return f"{counted(len(rows), 'producer')} remembered.{advice}"


REMEMBERED_PRODUCERS = table_view(
    ShownColumn("PRODUCER", _producer),
    ShownColumn("LAST SEQ", "last_sequence", "defined", rank=4),
    ShownColumn("LAST OFFSET", "last_offset", "defined"),
    ShownColumn("LAST SEEN (UTC)", "last_timestamp", "time of day"),
    ShownColumn("OPEN FROM", "current_txn_start_offset", "number", rank=1, style="yellow"),
    ShownColumn("EXPIRES (UTC)", "expires_at", "time", rank=2),
    ShownColumn("COORDINATOR EPOCH", "coordinator_epoch", "defined", rank=5),
    merged=lambda row: (
        row.producer_id,
        row.producer_epoch,
        *(-1 if value is None else value for value in row[3:]),
    ),
)


def draw_producer(answer: TableInput) -> TableView:
    """Return the view of producers."""
    return REMEMBERED_PRODUCERS._replace(verdict=partial(_producers_verdict, answer.all_findings))


def _transactions_verdict(rows: Sequence[TransactionRow]) -> str:
    states = Counter(row.state for row in rows)
    of_each = joined(f"{number(states[state])} {state}" for state in TRANSACTION_STATES if states[state])
    return f"{counted(len(rows), 'transactional id')}: {of_each}."


OF_COUNTED_COPIES = {"CLUSTER": 0, "DIR": 9}
"""One copy of each partition is read, so its log dir says least."""
TRANSACTION = table_view(
    ShownColumn("TRANSACTIONAL ID", "transactional_id", may_overflow=True),
    ShownColumn("PRODUCER", _producer),
    ShownColumn("STATE", "state", style=dict.fromkeys(UNDER_WAY, "yellow").get),
    ShownColumn("UPDATED (UTC)", "last_update_timestamp", "time of day", rank=2),
    ShownColumn("TIMEOUT", "timeout_ms", "duration", rank=3),
    ShownColumn("PARTITIONS", lambda row: joined(map(str, row.partitions)), rank=1, least=16),
    verdict=_transactions_verdict,
    ranks={**OF_COUNTED_COPIES, "TOPIC-PARTITION": 9},
    order=lambda row: row.state not in UNDER_WAY,
)

HANGS = {True: "yes", False: "no", None: "unknown"}


def _open_verdict(rows: Sequence[OpenTransactionRow]) -> str:
    hanging = sum(row.hanging is True for row in rows)
    records = {row.where.dir: row.records_waiting or 0 for row in rows}
    waiting = f"{counted(sum(records.values()), 'record')} in {counted(len(records), 'partition')} wait"
    parts = (counted(len(rows), "open transaction"), f"{number(hanging)} hanging" if hanging else "", waiting)
    return f"{joined(parts)}."


def _draw_reasons(rows: Sequence[OpenTransactionRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield why each transaction is open, and the commands that end those that hang."""
    clusters = {row.where.cluster_id for row in rows}

    def cluster_of(row: OpenTransactionRow) -> str:
        return f" of cluster {row.where.cluster_id}" if len(clusters) > 1 else ""

    listed = sorted(rows, key=lambda row: row.hanging is False)[:ROWS_OF_A_SCREEN]
    for row in listed:
        yield ""
        since = "" if row.start_timestamp is None else f", since {moment(row.start_timestamp)} UTC"
        hangs = f"hangs: {row.reason}" if row.hanging else row.reason
        transaction = f"{name_of(row.where)}{cluster_of(row)} from {row.start_offset}"
        yield sentences(screen, f"{transaction}{since}: {hangs}.")
    if len(listed) < len(rows):
        yield sentences(screen, f"{len(rows) - len(listed)} more: -o wide shows why each is open.")
    commands: dict[str, list[str]] = {}
    for row in rows:
        if row.abort_command is not None:
            commands.setdefault(cluster_of(row), []).append(row.abort_command)
    for of_cluster, lines in commands.items():
        yield ""
        yield sentences(screen, f"To end what hangs{of_cluster}, as aborted:")
        yield sentences(screen, *"\n".join(command_lines(line.split(), screen) for line in lines).split("\n"))


OPEN_TRANSACTION = table_view(
    ShownColumn("PRODUCER", _producer),
    ShownColumn("TRANSACTIONAL ID", "transactional_id", may_overflow=True),
    ShownColumn("STATE", "coordinator_state", least=14),
    ShownColumn("FROM", "start_offset", "number", rank=3, style="bold"),
    ShownColumn("SINCE (UTC)", "start_timestamp", "time of day", rank=6),
    ShownColumn("LSO", "last_stable_offset", "number", rank=5),
    ShownColumn("WAITING", "records_waiting", "count", rank=4),
    ShownColumn("HANGS", lambda row: HANGS[row.hanging], rank=2, style={"yes": "red"}.get),
    verdict=_open_verdict,
    ranks=OF_COUNTED_COPIES,
    severity=lambda row: "error" if row.hanging else "warning" if row.hanging is None else "",
    below=_draw_reasons,
)
