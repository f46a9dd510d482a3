#!/bin/sh
# Makes the secrets that docker-compose.yml reads, once: what exists is kept.
#   sh deploy/make-secrets.sh [folder]
set -eu
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
# Only the owner may enter; the files themselves are read by the user of the containers.
chmod 700 "$folder"

random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
keep() {
  if [ -s "$folder/$1" ]; then echo "kept $folder/$1"; return; fi
  printf '%s' "$2" >"$folder/$1"
  chmod 444 "$folder/$1"
  echo "made $folder/$1"
}

keep postgres_password "$(random 24)"
keep database_url "postgres://herald:$(cat "$folder/postgres_password")@postgres:5432/herald"
keep herald_operator_key "$(random 24)"
# Seals vendor credentials in the database: without it they are lost. Keep a copy elsewhere.
keep herald_master_key "$(random 32)"
keep grafana_password "$(random 12)"
