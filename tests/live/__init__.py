"""kcli on the log dirs of a broker that is running: nothing that the broker does meanwhile is an error."""
