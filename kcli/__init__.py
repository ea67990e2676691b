"""What the bytes of a broker mean: log directories, algorithms, engines, output."""

__version__ = "0.1.0"
