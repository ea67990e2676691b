"""`make bench`: kcli beside DumpLogSegments on the same files; whole processes, the answers compared."""
