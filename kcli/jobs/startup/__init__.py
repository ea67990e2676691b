"""`kcli startup`."""
