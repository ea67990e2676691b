"""What LogLoader makes of a log: segments, recovery, producers, epochs, lookup."""
