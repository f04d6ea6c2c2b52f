"""Options, signers, secret files and the database of commands."""
