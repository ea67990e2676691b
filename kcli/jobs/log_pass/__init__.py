"""The one pass over logs, of `scan` and of `check`: which logs, in which ranges, and what each holds."""
