-- A rotated API key names its successor. On SQLite, REPLACE deletes a row without a trigger of DELETE: no
-- insert may meet an entry of the audit log.

ALTER TABLE api_keys ADD COLUMN replaced_by TEXT;
-- sqlite: CREATE TRIGGER audit_log_no_replace BEFORE INSERT ON audit_log WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = NEW.id OR rowid = NEW.rowid) BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
