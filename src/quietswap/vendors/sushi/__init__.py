"""Sushi."""
