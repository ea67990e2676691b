"""`kcli replica` and `kcli failover`."""
