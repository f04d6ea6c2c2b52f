"""How fast the service is, beside a limit measured in the same run."""
