"""Tests of kcli.analysis.remote."""
