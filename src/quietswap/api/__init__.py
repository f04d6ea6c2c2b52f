"""The HTTP side: parse, call a use case, present."""
