"""`kcli metadata`."""
