"""Mutated log dirs through every command: damage of every kind of file, made from recorded and built partitions."""
