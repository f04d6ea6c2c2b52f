"""The settings file and the environment."""
