"""`kcli epoch`."""
