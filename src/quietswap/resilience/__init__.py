"""Circuit breaker, token bucket, single flight and bounded gather. They perform no I/O."""
