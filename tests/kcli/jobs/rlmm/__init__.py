"""Tests of kcli.jobs.rlmm."""
