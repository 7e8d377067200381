#!/bin/sh
# Run once by the Postgres image, for a new data folder: a login that owns its database and may make roles, but is no
# superuser, which row-level security would not bind.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$TURNKEEPER_DB_PASSWORD" -U postgres -d postgres <<'SQL'
create role turnkeeper login createrole password :'password';
create database turnkeeper owner turnkeeper;
SQL
