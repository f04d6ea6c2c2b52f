"""What the code of a vendor's router enforces, and the methods that are accepted."""
