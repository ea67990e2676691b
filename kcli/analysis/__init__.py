"""The algorithms of a broker, one question per module.

Files are read through `kcli.logdir` alone; nothing is changed or printed.
"""
