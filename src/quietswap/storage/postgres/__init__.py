"""PostgreSQL: connections and the advisory lock; excludes repositories."""
