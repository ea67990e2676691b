"""How work is spread: inline, over processes, over Spark; the same outcomes in the same order."""
