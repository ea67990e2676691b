"""`kcli truncate`."""
