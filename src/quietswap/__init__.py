"""quietswap: verified swap quotes, private submission and order tracking, without private keys."""

__version__ = "0.4.0.dev0"
