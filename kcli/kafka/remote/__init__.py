"""What a broker concludes from remote log metadata: its cache, a leader's lineage, followers, retention."""
