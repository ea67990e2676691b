"""`kcli scan`."""
