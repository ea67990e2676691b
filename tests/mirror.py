"""Which tests judge a module without a test file of its name.

The tests of kcli/a/b.py are in tests/kcli/a/test_b.py, or in test_a_b.py there or in tests/commands.
"""

SCREENS = "tests/screens/test_screens.py"

ELSEWHERE = {
    # between the command line and the jobs
    "kcli/cli/boundary.py": "tests/commands/test_exit_status.py",
    "kcli/cli/dump_options.py": "tests/commands/test_dump.py",
    "kcli/cli/option.py": "tests/commands/test_options.py",
    "kcli/cli/metadata.py": "tests/commands/test_elect.py",
    "kcli/cli/parsers.py": "tests/commands/test_options.py",
    "kcli/cli/printing.py": "tests/commands/test_rlmm.py",
    "kcli/cli/status.py": "tests/commands/test_exit_status.py",
    "kcli/cli/summary.py": "tests/commands/test_scan.py",
    "kcli/cli/targets.py": "tests/commands/test_salvage.py",
    "kcli/cli/terminal.py": "tests/commands/test_pager.py",
    "kcli/cli/typer_command.py": "tests/commands/test_usage.py",
    "kcli/cli/version.py": "tests/test_packaging.py",
    "commands/app.py": "tests/commands/test_help.py",
    # commands
    "commands/checkpoint.py": SCREENS,
    "commands/demo.py": "tests/recordings/test_demo.py",
    "commands/partition_for.py": "tests/commands/test_identifiers.py",
    "commands/producers.py": "tests/kcli/jobs/test_producers.py",
    "commands/replica.py": "tests/commands/test_elect.py",
    "commands/uuid.py": "tests/commands/test_identifiers.py",
    # formats
    "formats/bounds.py": "tests/commands/test_bounds.py",
    "formats/messages/control.py": "tests/formats/messages/test_decode.py",
    "formats/messages/group.py": "tests/oracle/test_messages_oracle.py",
    "formats/messages/metadata.py": "tests/formats/messages/test_printed.py",
    "formats/messages/reader.py": "tests/oracle/test_messages_oracle.py",
    "formats/messages/share_group.py": "tests/oracle/test_messages_oracle.py",
    "formats/messages/transaction.py": "tests/oracle/test_messages_oracle.py",
    # what a start, an election, a consumer makes of logs
    "kcli/kafka/kraft/broker_start.py": "tests/kcli/jobs/startup/test_broker_rows.py",
    "kcli/kafka/kraft/fates.py": "tests/starts/test_states.py",
    "kcli/kafka/kraft/metadata_start.py": "tests/starts/test_states.py",
    "kcli/kafka/kraft/quorum_start.py": "tests/starts/test_states.py",
    "kcli/kafka/kraft/releases.py": "tests/starts/test_states.py",
    "kcli/kafka/kraft/start_plan.py": "tests/starts/test_states.py",
    "kcli/kafka/findings/catalogue/*": "tests/test_documents.py",
    "kcli/kafka/integrity/checks/*": "tests/kcli/jobs/check/test_check_damages.py",
    "kcli/kafka/findings/collector.py": "tests/kcli/jobs/scan/test_scan.py",
    "kcli/kafka/storage/surviving_files.py": "tests/kcli/kafka/kraft/test_partition_start.py",
    "kcli/kafka/kraft/partition_state.py": "tests/oracle/test_elections_oracle.py",
    "kcli/kafka/kraft/election.py": "tests/oracle/test_elections_oracle.py",
    "kcli/kafka/replication/fingerprints.py": "tests/commands/test_fingerprint.py",
    "kcli/kafka/storage/valid_batches.py": "tests/kcli/kafka/storage/test_recovery.py",
    "kcli/kafka/replication/consumer_positions.py": "tests/oracle/test_positions_oracle.py",
    "kcli/kafka/replication/replica_diff.py": "tests/kcli/jobs/replica/test_replica_diff.py",
    "kcli/kafka/storage/load_findings.py": "tests/kcli/jobs/epoch/test_epoch_cache.py",
    "kcli/kafka/remote/lineage.py": "tests/oracle/test_remote_lineage_oracle.py",
    "kcli/kafka/remote/retention.py": "tests/oracle/test_remote_log_oracle.py",
    # dump: random logs, each fast way against the plain one
    "kcli/dump/blocks.py": "tests/kcli/dump/render/test_rows.py",
    "kcli/dump/small_files.py": "tests/kcli/dump/test_job.py",
    "kcli/dump/rescue.py": "tests/commands/test_rescue.py",
    "kcli/dump/pauses.py": "tests/kcli/dump/render/test_text.py",
    "kcli/dump/read_blocks.py": "tests/kcli/dump/render/test_text.py",
    "kcli/output/text_columns.py": "tests/kcli/dump/render/test_text.py",
    # engines: one suite for all
    "kcli/engine/contract.py": "tests/kcli/engine/test_inline.py",
    "kcli/engine/processes.py": "tests/kcli/engine/test_pool.py",
    "kcli/engine/spark_session.py": "tests/kcli/engine/test_spark.py",
    "kcli/engine/spark_worker.py": "tests/kcli/engine/test_spark.py",
    # jobs
    "kcli/jobs/check/log_dirs.py": "tests/kcli/jobs/check/test_check_damages.py",
    "kcli/jobs/check/remote_events.py": "tests/kcli/jobs/check/test_check_damages.py",
    "kcli/jobs/check/incremental.py": "tests/commands/test_check.py",
    "kcli/jobs/cluster_metadata.py": "tests/commands/test_validate.py",
    "kcli/jobs/failover.py": "tests/commands/test_failover.py",
    "kcli/jobs/identifiers.py": "tests/commands/test_identifiers.py",
    "kcli/jobs/tiered_leader.py": "tests/oracle/test_remote_log_oracle.py",
    "kcli/jobs/metadata_partitions.py": "tests/commands/test_rlmm_fold.py",
    "kcli/jobs/rlmm/tiers.py": "tests/oracle/test_remote_log_oracle.py",
    "kcli/jobs/salvage/salvage.py": "tests/oracle/test_salvage_oracle.py",
    "kcli/jobs/salvage/selected_batches.py": "tests/commands/test_salvage.py",
    "kcli/jobs/scan/log_targets.py": "tests/kcli/jobs/scan/test_scan.py",
    "kcli/jobs/log_search.py": "tests/kcli/jobs/test_lookup.py",
    # log dirs
    "kcli/logdir/classify.py": "tests/kcli/logdir/test_find.py",
    "kcli/logdir/targets.py": "tests/kcli/logdir/test_find.py",
    "kcli/logdir/remote_dirs.py": "tests/commands/test_plugin_objects.py",
    # output
    "kcli/output/arrow_rows.py": "tests/commands/test_sql.py",
    "kcli/output/console.py": "tests/kcli/output/test_text_table.py",
    "kcli/output/table/*": SCREENS,
    "kcli/output/manual.py": "tests/commands/test_help.py",
    "kcli/output/parquet.py": "tests/kcli/output/test_files.py",
    "kcli/output/run_directory.py": "tests/commands/test_run_directory.py",
    "kcli/output/schema.py": "tests/commands/test_schema.py",
    "kcli/output/screen.py": "tests/kcli/output/table/test_fitted_table.py",
    "kcli/output/verdicts.py": "tests/commands/test_check.py",
    "kcli/rows/*": "tests/kcli/rows/test_declare.py",
    "kcli/rows/truncation.py": "tests/commands/test_rescue.py",
    # views of Spark and DuckDB
    "kcli/views/definitions.py": "tests/kcli/views/test_schema.py",
    "kcli/views/submit.py": "tests/commands/test_spark.py",
}
"""A module, or several by `*`, and the test file that judges them; a module's own entry goes first."""
