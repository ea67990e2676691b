"""Tests of kcli.analysis.checks."""
