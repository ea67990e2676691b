"""Follower rounds, truncation, and replicas against each other."""
