"""Why an engine cannot run at all; told apart from anything that is wrong with an input."""


class EngineMissingError(Exception):
    """A part of the environment is not there; the message says what to install."""
