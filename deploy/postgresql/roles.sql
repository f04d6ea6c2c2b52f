-- Three roles and the database: quietswap_owner migrates, quietswap_serve reads and writes rows and can alter no table,
-- quietswap_replica copies the cluster for a standby. Their passwords are OWNER_PASSWORD, SERVE_PASSWORD and REPLICA_PASSWORD
-- of the environment (psql 15 or later). Run it once, as a superuser:
--
--   psql --set ON_ERROR_STOP=1 < deploy/postgresql/roles.sql
\getenv owner_password OWNER_PASSWORD
\getenv serve_password SERVE_PASSWORD
\getenv replica_password REPLICA_PASSWORD
CREATE ROLE quietswap_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE quietswap_serve LOGIN PASSWORD :'serve_password';
CREATE ROLE quietswap_replica LOGIN REPLICATION PASSWORD :'replica_password';
CREATE DATABASE quietswap OWNER quietswap_owner;
REVOKE CONNECT ON DATABASE quietswap FROM PUBLIC;
GRANT CONNECT ON DATABASE quietswap TO quietswap_serve;
\connect quietswap
-- For the tables of each later migration, too.
ALTER DEFAULT PRIVILEGES FOR ROLE quietswap_owner
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO quietswap_serve;
