#!/bin/sh
# Creates the role and the database of Herald's programs. The role is no superuser: it cannot read files of the server or run
# programs there. The password in database_url needs no decoding, because make-secrets.sh writes only hex digits.
ROLE_PASSWORD=$(sed 's|^[a-z]*://herald:\([^@]*\)@.*|\1|' /run/secrets/database_url) \
  psql --username postgres --no-psqlrc --set ON_ERROR_STOP=1 <<'SQL'
\getenv password ROLE_PASSWORD
CREATE ROLE herald LOGIN PASSWORD :'password';
CREATE DATABASE herald OWNER herald;
SQL
