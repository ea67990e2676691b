"""A small log dir written by a real broker, for `kcli demo` and the examples in the documents."""
