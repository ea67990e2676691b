"""Findings: their catalogue, the collector, merging."""
