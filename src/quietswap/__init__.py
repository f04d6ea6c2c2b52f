"""quietswap: verified swap quotes, private submission, honest tracking. It never holds a key."""

__version__ = "0.1.0"
