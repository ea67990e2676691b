"""What the bytes of a broker mean: log directories, algorithms, engines, output."""

__version__ = "0.1.0"
KAFKA_VERSIONS = "0.8 to 4.4"
"""The versions whose files kcli reads."""
