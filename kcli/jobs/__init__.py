"""Picklable units of work: paths in; rows, findings and errors out.

One module per command group. A job is a module-level function
`job(unit, **options) -> Outcome`; commands bind its options with
`functools.partial` and hand it to an engine.
"""
