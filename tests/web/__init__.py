"""Tests of the web page without a browser: sessions, assets, settings."""
