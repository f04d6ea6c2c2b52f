"""The built assets of the web page, as package data. Their sources are in `web/`."""
