"""Why an engine cannot run, or not go on; nothing is wrong with an input then."""


class EngineMissingError(Exception):
    """A part of the environment is not there; the message says what to install."""


class NotWrittenError(Exception):
    """Rows cannot be written where they should go; the message says why."""
