"""Rate windows in memory or in Redis; excludes the response to a spent window."""
