"""The plain twin of `kcli.dump` for logs: batch by batch, record by record, line by line, as Kafka's tool."""

import contextlib
import io
import re

from formats.batch import COMPRESSION_NAMES, MAX_INT, NO_SEQUENCE
from formats.bounds import CONTROL_SHARE, RAISES_THE_BOUND, describe
from formats.control import LEADER_CHANGE, control_record, control_type
from formats.errors import FormatError
from formats.magic import is_legacy
from formats.message_set import LegacyRecord, message_set, set_records
from formats.record import Record, batch_records
from kcli.dump.blocks import LOWEST
from kcli.dump.decoded_records import decode_record
from kcli.dump.job import Dump
from kcli.dump.render.decoders import decoded_control, shown_contents
from kcli.dump.render.lines import RECORD_INDENT, control_text, dump_log_lines, java_string
from kcli.engine.contract import Unit
from kcli.engine.inline import mapped
from kcli.jobs.common import source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import merged
from kcli.kafka.findings.log_findings import inside, invalid_batch, report_damage
from kcli.kafka.integrity.damaged import VerifiedBatch, verified_batches
from kcli.logdir.buffers import DataFile
from kcli.logdir.find import file_target
from kcli.logdir.segment import Stop
from kcli.output.files import write_lines
from kcli.rows.dump import DumpBatchRow, DumpRecordRow, RecordHeader
from kcli.words import INT64


def scanned(path, options):
    """Return the rows of a file, and the outcomes; an error that no job foresees fails the test."""
    outcomes = list(mapped(Dump(options), [Unit(number=0, targets=(file_target(str(path)),))]))
    errors = [outcome.error for outcome in outcomes if outcome.error and outcome.error.error == "internal"]
    assert errors == []
    return [row for outcome in outcomes for row in outcome.rows], outcomes


def codes_of(outcomes):
    return [finding.code for outcome in outcomes for finding in outcome.findings]


def errors_of(outcomes):
    return [outcome.error for outcome in outcomes if outcome.error]


def printed(rows):
    """Return what is printed of rows of text: on stdout, and on stderr at the end."""
    stderr, stdout = io.StringIO(), io.BytesIO()
    with contextlib.redirect_stderr(stderr):
        write_lines(dump_log_lines(rows), stdout, in_background=False)
    return stdout.getvalue(), stderr.getvalue()


def assert_as_plain(path, options):
    """The rows, or the text, and the findings are those of the plain twin."""
    rows, outcomes = scanned(path, options)
    plain = PlainDump(path, options)
    if options.text:
        assert printed(rows) == (plain.text, plain.said)
    else:
        assert rows == plain.rows
    # a scan may begin elsewhere
    found = merged(finding for outcome in outcomes for finding in outcome.findings)
    assert [finding for finding in found if finding.code != "DUMP-005"] == plain.findings
    assert errors_of(outcomes) == []


class PlainDump:
    """What the plain twin makes of a log: `rows`, `text`, `said` (at the end, on stderr) and `findings`."""

    def __init__(self, path, options):
        self.options = options
        self.rows, self.lines, self.pairs, self.last, self.unread, self.problems = [], [], {}, -1, False, []
        self.target = file_target(str(path))
        self.collector = FindingCollector(self.target)
        self.passed, found = None, []
        with DataFile(str(path)) as file:
            end = file.size if options.max_bytes == MAX_INT else min(options.max_bytes, file.size)
            self.collector.is_cut = end < file.size
            for item in verified_batches(file, 0, end, options.max_batch_bytes):
                if isinstance(item, VerifiedBatch):
                    self.batch(item)
                    if self.is_beyond(item):
                        break
                    continue
                found += report_damage(item, self.collector)
                if options.text and (
                    isinstance(item, Stop) or (item.reason in {"incomplete", "short"} and not options.selects)
                ):
                    left = end - (item.position if isinstance(item, Stop) else item.broke_at)
                    if left > 0 and item.reason in {"incomplete", "short"} and options.max_bytes == MAX_INT:
                        self.lines.append(f"Found {left} invalid bytes at the end of {path.name}")
                    break
        self.findings = merged([*found, *self.collector.take()])

    @property
    def text(self):
        title = [f"Dumping {self.target.shown}", f"Log starting offset: {int(self.target.path[-24:-4])}"]
        return "".join(f"{line}\n" for line in [*title, *self.lines]).encode()

    @property
    def said(self):
        if not self.pairs:
            return ""
        pairs = "".join(f"  {last} is followed by {offset}\n" for last, offset in sorted(self.pairs.items()))
        return f"Non-consecutive offsets in {self.target.shown}\n{pairs}"

    def is_beyond(self, item):
        """Whether a batch is the second of two that rise beyond the last offset that is asked for."""
        asked, header, passed = self.options.filter.offsets, item.batch.header, self.passed
        is_beyond = (
            asked is not None
            and item.valid
            and not is_legacy(header.magic)
            and asked[1] < header.base_offset <= header.last_offset
        )
        self.passed = header.last_offset if is_beyond else None
        return is_beyond and passed is not None and header.base_offset > passed

    def batch(self, item):
        """Show a batch, if the filter leaves anything of it."""
        asked, options, (position, header) = self.options.filter, self.options, item.batch
        fields = {"base_offset": header.base_offset, "magic": header.magic, "attributes": header.attributes}
        base = int(self.target.path[-24:-4])
        is_near = all(base <= offset < base + 2**31 for offset in (header.base_offset, header.last_offset))
        far = None if is_near else base
        for finding in invalid_batch(position, fields, valid=item.valid, out_of_reach=far):
            self.collector.add(*finding)
        if not can_hold(asked, header):
            return
        is_open = asked.contents or (asked.times is not None and header.max_timestamp > asked.times[1])
        records = list(self.records(item)) if options.records or is_open else []
        matching = [record for record in records if is_selected(asked, record)]
        if is_open and not matching:
            self.report()
            return
        if not options.records:
            self.rows.append(batch_row(self.target, item))
        if not (options.records or is_open) and header.codec > 4 and item.valid:
            message = f"byte {position + 22}: codec: expected 0 to 4, found {header.codec}"
            self.problem("DUMP-002", position, f"offset {header.base_offset}: {message}")
        self.lines.append(batch_line(item.batch, valid=item.valid))
        for record in matching if options.records else ():
            self.record(item, record)
        self.report()
        count = 1 if is_legacy(header.magic) else header.records_count
        is_cut = is_legacy(header.magic) and self.unread
        if options.records and item.valid and (len(records) < count or is_cut):
            self.last = header.last_offset

    def report(self):
        """Report what could not be read of a batch."""
        for finding in self.problems:
            self.collector.add(*finding)
        self.problems.clear()

    def problem(self, *finding):
        """Keep what cannot be read of a batch: it is reported after what can."""
        self.problems.append(finding)

    def records(self, item):
        """Yield the records of a batch, as many as can be read."""
        (position, header), raw, _ = item
        at, add, limit = f"offset {header.base_offset}", self.problem, self.options.max_batch_bytes
        self.unread = False
        if raw is None:
            self.unread = True
            add("DUMP-002", position, f"{at}: a batch of {header.size} bytes{RAISES_THE_BOUND}")
            return
        try:
            if not is_legacy(header.magic):
                yield from batch_records(raw, limit)
                return
            opened = message_set(raw, limit)
            if opened.cut:
                add("DUMP-009", position, f"{at}: {opened.cut} bytes of a message that is cut")
            for record in set_records(opened):
                if record.error is not None:
                    message = describe(record.error.moved(position))
                    add("DUMP-002", position, f"offset {record.offset}: {message}")
                if not record.is_valid and opened.stream is not None:
                    add(
                        "LOG-003",
                        position,
                        f"offset {record.offset}: the checksum of a message inside a wrapper does not match",
                    )
                if record.error is None or self.options.text:
                    yield record
        except FormatError as error:
            self.unread = True
            add("DUMP-002", position, f"{at}: {describe(error.moved(position))}")

    def record(self, item, record):
        """Show a record."""
        options, (position, header) = self.options, item.batch
        if not options.selects and record.offset != wrapped(self.last + 1):
            self.pairs[self.last] = record.offset
        self.last = record.offset
        words, control = "", None
        try:
            control = control_record(record.key, record.value, options.max_batch_bytes // CONTROL_SHARE)
        except FormatError as error:
            if header.is_control and not (options.text and options.skip_record_metadata):
                self.collector.add("DUMP-002", position, inside(record.offset, describe(error)))
        if not options.skip_record_metadata:
            words = record_line(record, header.timestamp_type)
            words += control_text(control) if header.is_control and control is not None else ""
        if options.print_data_log and not header.is_control:
            shown, trouble = shown_contents(record, options)
            if trouble is not None:
                self.collector.add("DUMP-002", position, inside(record.offset, trouble))
            prefix = f"{RECORD_INDENT} " if options.skip_record_metadata else " "
            for name, text in zip(shown._fields, shown, strict=True):
                words += "" if text is None else f"{prefix}{name}: {text}"
                prefix = prefix if text is None else " "
        self.lines.append(words)
        if not options.text:
            self.rows.append(self.record_row(item, record, control if header.is_control else None))

    def record_row(self, item, record, control):
        """Return the row of a record."""
        position, header = item.batch
        headers, sequence = (), NO_SEQUENCE
        if isinstance(record, Record):
            headers = tuple(
                RecordHeader(key.decode(errors="backslashreplace"), value) for key, value in record.headers
            )
            sequence = record.sequence
        said = (None,) * 5
        if self.options.decoder is not None and not header.is_control:
            *said, damaged = decode_record(self.options.decoder, record, self.options.max_batch_bytes)
            if damaged:
                self.collector.add("DUMP-002", position, inside(record.offset, str(said[-1])))
        kind = control_type(record.key) if header.is_control else None
        if self.options.decoder is not None and control and control.value and control.type >= LEADER_CHANGE:
            said = decoded_control(control.value)
        return DumpRecordRow(
            source_of(self.target),
            position,
            record.offset,
            record.timestamp,
            record.key,
            record.value,
            headers,
            sequence,
            kind,
            *said,
        )


def wrapped(value):
    return (value + 2**63) % 2**64 - 2**63


def batch_row(target, item):
    """Return the row of a batch."""
    position, header = item.batch
    return DumpBatchRow(
        source=source_of(target),
        position=position,
        size=header.size,
        magic=header.magic,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        count=None if is_legacy(header.magic) and header.codec else header.records_count,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        last_sequence=header.last_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        delete_horizon_ms=header.delete_horizon_ms,
        timestamp_type=header.timestamp_type,
        max_timestamp=header.max_timestamp,
        compression=COMPRESSION_NAMES.get(header.codec, str(header.codec)),
        crc=header.crc,
        is_valid=item.valid,
    )


def batch_line(batch, *, valid):
    """Return the line of a batch."""
    position, header = batch
    start = f"offset: {header.last_offset}"
    if not is_legacy(header.magic):
        horizon = header.delete_horizon_ms
        start = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.records_count}"
            f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence}"
            f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
            f" partitionLeaderEpoch: {header.partition_leader_epoch}"
            f" isTransactional: {str(header.is_transactional).lower()}"
            f" isControl: {str(header.is_control).lower()}"
            f" deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'}"
        )
    return (
        f"{start} position: {position} {header.timestamp_type}: {header.max_timestamp} size: {header.size}"
        f" magic: {header.magic} compresscodec: {COMPRESSION_NAMES.get(header.codec, str(header.codec))}"
        f" crc: {header.crc} isvalid: {str(valid).lower()}"
    )


def record_line(record, timestamp_type):
    """Return what is printed of a record, its contents apart; the timestamp's type is that of its batch."""
    line = f"{RECORD_INDENT} offset: {record.offset} {timestamp_type}: {record.timestamp}"
    if isinstance(record, LegacyRecord):
        return (
            f"{line} keySize: {record.key_size} valueSize: {record.value_size}"
            f" isValid: {str(record.is_valid).lower()} crc: {record.crc}"
        )
    sizes = [-1 if data is None else len(data) for data in (record.key, record.value)]
    keys = ",".join(java_string(key) for key, _ in record.headers)
    return (
        f"{line} keySize: {sizes[0]} valueSize: {sizes[1]} sequence: {record.sequence} headerKeys: [{keys}]"
    )


def can_hold(asked, header):
    """Whether a batch may hold a matching record, as far as its header says."""
    first = LOWEST if is_legacy(header.magic) and header.codec else header.base_offset
    low, high = asked.offsets or (LOWEST, INT64)
    if first > high or header.last_offset < low:
        return False
    if asked.times is not None:
        is_late = header.max_timestamp > asked.times[1] and header.timestamp_type == "LogAppendTime"
        if header.max_timestamp < asked.times[0] or is_late:
            return False
    return (
        (not asked.epochs or header.partition_leader_epoch in asked.epochs)
        and (not asked.producer_ids or header.producer_id in asked.producer_ids)
        and asked.transactional in {None, header.is_transactional}
        and asked.control in {None, header.is_control}
        and (not asked.codecs or COMPRESSION_NAMES.get(header.codec, str(header.codec)) in asked.codecs)
    )


def is_selected(asked, record):
    """Whether a record of a batch that may hold matching ones matches."""
    headers = record.headers if isinstance(record, Record) else ()
    parts = [record.key, record.value, *(part for header in headers for part in header)]
    return (
        (asked.offsets is None or asked.offsets[0] <= record.offset <= asked.offsets[1])
        and (asked.times is None or asked.times[0] <= record.timestamp <= asked.times[1])
        and (asked.key is None or record.key == asked.key)
        and (asked.grep is None or any(re.search(asked.grep, part) for part in parts if part is not None))
    )
