"""A small log dir written by a real broker, for `kcli demo` and the examples of the README."""
