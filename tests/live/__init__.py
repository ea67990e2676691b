"""kcli on the log dirs of a broker that is running: nothing that it does is an error."""
