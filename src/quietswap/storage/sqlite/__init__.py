"""SQLite: connections, the writer thread and the lock file; excludes repositories."""
