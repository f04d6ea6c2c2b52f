-- expands
-- The history of the database in which the last number of a client was given: PostgreSQL's timeline, which
-- a promotion and a recovery change. Empty: not known, as with SQLite.

ALTER TABLE event_counters ADD COLUMN epoch TEXT NOT NULL DEFAULT '';
