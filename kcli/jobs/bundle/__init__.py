"""`bundle`: what an operator sends away of log dirs, without a payload, a key or a secret."""
