"""A live cluster, read-only: its metadata, offsets and records, by confluent-kafka and a few plain requests.

Nothing is produced, committed, created or changed, and no group is joined. Every wait has an end.
"""
