"""Use cases: one file is one endpoint or one worker task."""
