"""Picklable units of work: paths in; rows, findings and errors out.

A job gives the outcome of a unit and can be pickled: a module-level function whose options commands bind with
`functools.partial`, or a frozen object that holds them (`Dump`, `ScanLog`). Commands hand it to an engine.
"""
