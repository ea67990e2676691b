"""Mutated log dirs through every command: damage of every kind of file, of recorded and built ones."""
