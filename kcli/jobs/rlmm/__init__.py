"""The jobs of `kcli rlmm`: what __remote_log_metadata says of tiered partitions."""
