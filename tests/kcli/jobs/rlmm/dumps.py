"""What tests of `rlmm dump` share: what was recorded, batches of values, and all outcomes of a dump."""

import gzip
import json
from pathlib import Path

from kcli.jobs.common import plan
from kcli.jobs.metadata_partitions import expand
from kcli.jobs.rlmm import dump as rlmm
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.builders import put_record, put_records
from tests.rows import named

DATA = Path(__file__).parents[3] / "data" / "rlmm"
LOG = "00000000000000000000.log"


def recorded(name):
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


VALUES = recorded("values.json.gz")
EVENTS = recorded("tiered/events.json.gz")
SNAPSHOTS = recorded("snapshots.json.gz")
OFFSETS = recorded("committed-offsets.json.gz")
DELETE = bytes.fromhex("01020004666f6fbb835d49f591423699fc4372c4c5cb240000000000000000010000018bcfe568070000")


def batch(base_offset, values, *, key=None, codec=0, **fields):
    records = [put_record(delta, delta, key, value) for delta, value in enumerate(values)]
    return put_records(records, codec, base_offset=base_offset, **fields)


class Result:
    """All outcomes of a dump, as an engine would put them together."""

    def __init__(self, *paths):
        units, failures = plan(
            expand(find([str(path) for path in paths], Selection())), rlmm.EVENT_FILE_KINDS
        )
        self.calls, self.rows, self.findings, self.failures = 0, [], [], failures
        for unit in units:
            rest = unit
            while rest is not None:
                outcome = rlmm.dump(rest)
                self.calls += 1
                self.rows += outcome.rows
                self.findings += outcome.findings
                self.failures += [outcome.error] if outcome.error else []
                rest = outcome.continuation

    @property
    def events(self):
        return [named(row) for row in self.rows]

    @property
    def codes(self):
        return [finding.code for finding in self.findings]


def snapshot_file(tmp_path, name, data):
    directory = tmp_path / name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "remote_log_snapshot").write_bytes(data)
    return directory / "remote_log_snapshot"
