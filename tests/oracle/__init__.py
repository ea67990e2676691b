"""Kafka's own classes as a judge, in a Java process that answers JSON lines (see README.md here)."""
