"""The settings of the service: their names and defaults (`schema`) and their source (`load`)."""
