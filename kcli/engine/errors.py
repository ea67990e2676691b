"""Why an engine cannot run at all; told apart from anything that is wrong with an input."""


class EngineMissingError(Exception):
    """A part of the environment is not there; the message says what to install."""


class EngineRefusedError(Exception):
    """The engine cannot do what the options ask of it; the message says why."""
