"""Groups and transactions, folded from the logs of the coordinators' topics."""
