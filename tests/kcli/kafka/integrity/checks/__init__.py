"""Tests of kcli.kafka.integrity.checks."""
