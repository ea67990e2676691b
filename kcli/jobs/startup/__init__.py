"""`startup`: what a starting broker does to each partition, and whether its process starts at all."""
