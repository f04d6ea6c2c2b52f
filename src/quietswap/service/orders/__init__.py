"""Orders: submission, cancel, state, history, export."""
