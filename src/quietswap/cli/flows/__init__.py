"""Interactive flows of the commands that sign: prompts, progress and results."""
