"""What is asked for swap routes: one folder for each vendor."""
