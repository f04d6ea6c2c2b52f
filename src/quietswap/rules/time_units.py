"""Lengths of time, in seconds and milliseconds."""

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S
MINUTE_MS = 1000 * MINUTE_S
HOUR_MS = 1000 * HOUR_S
DAY_MS = 1000 * DAY_S
