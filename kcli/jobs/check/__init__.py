"""`kcli check`."""
