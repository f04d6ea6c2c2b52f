"""The web page: its assets, its anonymous sessions, and what a session may do."""
