-- expands
-- Until when (Unix ms) a relay is down, by what one process met: the others follow it. 0: it takes transactions.

CREATE TABLE relay_health (
    name TEXT PRIMARY KEY,
    down_until_ms BIGINT NOT NULL
);
