"""Tests of the repository itself: import rules, size limits, generated pages."""
