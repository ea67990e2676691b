"""The metadata log, its image, elections, and how a broker starts with them."""
