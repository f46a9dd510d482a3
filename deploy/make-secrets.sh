#!/bin/sh
# Creates the secrets that docker-compose.yml reads. Existing ones are kept.
#   sh deploy/make-secrets.sh [folder]
set -eu
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
# Only the owner may open the folder; the files must be readable for the user of the containers.
chmod 700 "$folder"

random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
keep() {
  if [ -s "$folder/$1" ]; then echo "kept $folder/$1"; return; fi
  printf '%s' "$2" >"$folder/$1"
  chmod 444 "$folder/$1"
  echo "made $folder/$1"
}

# Of the superuser; programs use the role `herald`, which postgres/create-role.sh creates with the password in database_url.
keep postgres_password "$(random 24)"
keep database_url "postgres://herald:$(random 24)@postgres:5432/herald"
keep redis_config "requirepass $(random 24)"
keep queue_url "redis://:$(sed 's/^requirepass //' "$folder/redis_config")@redis:6379/0"
keep herald_operator_key "$(random 24)"
# Encrypts the vendor credentials in the database: without it they are lost. Keep a copy elsewhere.
keep herald_master_key "$(random 32)"
keep grafana_password "$(random 12)"
