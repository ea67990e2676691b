"""The type of a row that is a title."""

TITLE = "title"
"""Type of a row that says what comes: it answers nothing yet."""
