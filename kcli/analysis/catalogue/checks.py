"""Rules about what only `check` sees: `CHECK`."""

from kcli.analysis.catalogue.rule import Rule

CHECKS: dict[str, Rule] = {
    "CHECK-001": Rule(
        "error",
        "A starting broker would not load this partition.",
        "It takes the log dir offline, or its process ends, as the message says.",
        "Do not start it yet: keep a copy of the directory, and see what the other findings say.",
    ),
}
