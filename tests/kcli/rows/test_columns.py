"""Names of columns: one name means one thing in every command."""

from kcli.rows import COMMANDS, row_types

COLUMNS = {
    (row_type.name, column.name): column.doc
    for command in COMMANDS
    for row_type in row_types(command)
    for column in row_type.columns
}
OF_EVENTS = {"rlmm_event", "remote_history", "remote_segment"}
"""Rows about events of remote log metadata: their broker is that of the event, and times end in _ms."""


def types_with(column):
    return {row_type for row_type, name in COLUMNS if name == column}


def test_the_broker_of_a_row_is_the_owner_of_its_log_dir_but_for_events():
    by_event = {row for row in types_with("broker_id") if COLUMNS[row, "broker_id"].endswith("event")}

    assert by_event == OF_EVENTS
    assert all("meta.properties" in COLUMNS[row, "broker_id"] for row in types_with("broker_id") - by_event)


def test_sizes_say_of_what():
    assert types_with("size_bytes") == {"dump_file", "rlmm_retention"}  # each of one file
    assert {"log_bytes", "index_bytes", "other_bytes", "disk_bytes"} <= {
        name for row_type, name in COLUMNS if row_type == "partition"
    }
    assert {"scan_partition", "scan_segment", "partition"} <= types_with("log_bytes")


def test_times_of_events_alone_have_their_unit_in_their_name():
    assert types_with("max_timestamp_ms") == {
        *("rlmm_event", "rlmm_kip_event", "remote_segment", "rlmm_retention")
    }
    assert {"dump_batch", "scan_segment", "scan_partition"} <= types_with("max_timestamp")


def test_a_file_is_a_base_name_and_a_path_is_beside_it():
    for row_type in types_with("file"):
        assert "name" in COLUMNS[row_type, "file"]
    assert types_with("path") == {row for row in types_with("file") if "lookup" in row}
