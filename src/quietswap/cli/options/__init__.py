"""Shared click options, signers, keystore, secret files and database access for commands.

Excludes output formats."""
