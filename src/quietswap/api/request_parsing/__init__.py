"""Bytes and headers of a request to checked values. Does not import Starlette."""
