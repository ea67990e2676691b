"""Recordings of real brokers: what makes them anew, and what reads the committed ones."""
