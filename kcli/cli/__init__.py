"""What commands share: options, the one error boundary, signals, status, completion."""
