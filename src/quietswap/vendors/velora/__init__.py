"""Velora."""
