"""One function per endpoint: parse the values, call the use case, build the response body."""
