"""`kcli salvage`."""
