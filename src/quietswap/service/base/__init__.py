"""What every room of the service uses: clock, concurrency, HTTP."""
