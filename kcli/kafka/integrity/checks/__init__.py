"""The judges of `check`: what one pass over the batches of a log shows that a scan alone does not say."""
