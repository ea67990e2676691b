"""The algorithms of a broker: values in, values out. One question per module; nothing prints or sleeps."""
