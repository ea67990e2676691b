"""A live cluster, read-only: its metadata, offsets and records, by confluent-kafka.

Nothing is produced, committed, created or changed, and no group is joined. Every wait has an end.
"""
