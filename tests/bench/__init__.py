"""`make bench`: how fast kcli is beside Kafka's DumpLogSegments, on the same files.

`python -m tests.bench --help`. Whole processes, alternating, output to a file, medians. The answers are
compared first: a fast wrong one does not count. `lines` has the table of what is measured.
"""
