# shellcheck shell=bash
# PostgreSQL on loopback, in a tree of this checkout. It refuses to be root, so it runs in a user
# namespace where it is not.

AS_NOBODY=(unshare --user --map-user=1000 --map-group=1000 --)

postgres_bin() {
  local bin
  bin=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -n 1)
  [ -n "$bin" ] || fail "PostgreSQL is not installed"
  dirname "$bin"
}

new_password() { head -c 24 /dev/urandom | base64 | tr -d '=+/\n'; }

# keys/postgres-<role>: one pgpass line each, made once.
postgres_passwords() {
  local role file
  for role in postgres sessions secrets repo_access; do
    file=$DEV_DIR/keys/postgres-$role
    [ -s "$file" ] || (umask 077 && printf '127.0.0.1:*:*:%s:%s\n' "$role" "$(new_password)" >"$file")
  done
}

password_of() { cut -d: -f5 <"$DEV_DIR/keys/postgres-$1"; }

postgres_configure() {
  cat >"$DEV_DIR/postgres/kndl.conf.new" <<CONF
listen_addresses = '127.0.0.1'
port = $PORT_POSTGRES
unix_socket_directories = ''
max_connections = 100
shared_buffers = 32MB
log_statement = none
log_min_error_statement = panic
log_parameter_max_length_on_error = 0
CONF
  mv "$DEV_DIR/postgres/kndl.conf.new" "$DEV_DIR/postgres/kndl.conf"
}

postgres_prepare() {
  local data=$DEV_DIR/postgres
  postgres_passwords
  if [ ! -f "$data/PG_VERSION" ]; then
    step "making a PostgreSQL cluster"
    rm -rf "$data.new"
    mkdir -m 700 "$data.new"
    (umask 077 && password_of postgres >"$DEV_DIR/keys/initdb")
    env -i PATH="$CLEAN_PATH" LANG=C.UTF-8 "${AS_NOBODY[@]}" "$(postgres_bin)/initdb" -k -D "$data.new" \
      -U postgres -A scram-sha-256 --pwfile="$DEV_DIR/keys/initdb" -E UTF8 --locale=C.UTF-8 \
      --no-instructions >"$DEV_DIR/log/initdb.log" 2>&1 ||
      fail "initdb failed: $(tail -n 3 "$DEV_DIR/log/initdb.log")"
    rm -f "$DEV_DIR/keys/initdb"
    printf "include 'kndl.conf'\n" >>"$data.new/postgresql.conf"
    mv "$data.new" "$data"
  fi
  postgres_configure
}

as_superuser() {
  env -i PATH="$CLEAN_PATH" PGPASSFILE="$DEV_DIR/keys/postgres-postgres" PGCONNECT_TIMEOUT=5 \
    psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$PORT_POSTGRES" -U postgres "$@"
}

# Waits until it answers, then makes database and roles.
postgres_roles() {
  local n
  for ((n = 0; n < 300; n++)); do
    as_superuser -d postgres -Atc 'SELECT 1' >/dev/null 2>&1 && break
    sleep 0.1
  done
  [ "$(as_superuser -d postgres -Atc "SELECT 1 FROM pg_database WHERE datname = 'kndl'")" = 1 ] ||
    as_superuser -d postgres -c 'CREATE DATABASE kndl'
  {
    for role in sessions secrets repo_access; do
      printf "\\\\set %s_password '%s'\n" "$role" "$(password_of "$role")"
    done
    cat "$KNDL_ROOT/deploy/postgres/roles.sql"
  } | as_superuser -d kndl -f - >/dev/null 2>"$DEV_DIR/log/roles.log" ||
    fail "roles.sql failed: $(tail -n 3 "$DEV_DIR/log/roles.log")"
}
