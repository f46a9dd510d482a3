-- Work that one process does for all, and which programs may use this schema.

-- Who does it, and until when others leave it alone. Rows instead of advisory locks: those belong to a session, and behind a pooler in
-- transaction mode a program has none of its own.
CREATE TABLE lead (
  work  text PRIMARY KEY,
  owner text NOT NULL,
  until timestamptz NOT NULL
);

-- The oldest migration that a program must know to use this schema; one row. A later migration that programs of this release cannot
-- work with replaces it by its own name. Without such a migration they start and run on the newer schema.
CREATE TABLE compatible_since (
  migration text PRIMARY KEY
);
INSERT INTO compatible_since (migration) VALUES ('20261116010000_leads');
