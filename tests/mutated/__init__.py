"""Mutated log dirs through every command.

Damage of every kind of file, made from recorded and built partitions.
"""
