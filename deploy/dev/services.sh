# shellcheck shell=bash
# kndl's own services: the uid of each, the files that only it may read, and its environment.

# In the order in which they start; they stop in the reverse one.
SERVICES=(secrets repo-access redactor sessions api-gateway runner-agent)

service_uid() {
  local n
  [ "$1" != runner-agent ] || {
    printf '0\n'
    return
  }
  for n in "${!SERVICES[@]}"; do
    [ "${SERVICES[n]}" != "$1" ] || printf '%s\n' $((UID_SERVICES + n))
  done
}

# The NATS user of a service: its name as one word.
nats_user() { printf '%s\n' "${1//-/_}"; }

# Puts a file where only this service can read it, wherever the checkout lies.
give_file() {
  local service=$1 source=$2 name=$3 uid dir=$RUN_DIR/$1
  uid=$(service_uid "$service")
  [ -d "$dir" ] || mkdir -m 500 "$dir"
  chown "$uid:$uid" "$dir"
  install -m 400 -o "$uid" -g "$uid" "$source" "$dir/.$name.new"
  mv "$dir/.$name.new" "$dir/$name"
}

services_prepare() {
  local service
  mkdir -p -m 711 "$RUN_DIR"
  if [ ! -s "$DEV_DIR/keys/secrets-key" ]; then
    (umask 077 && printf '1 %s\n' "$(head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n')" \
      >"$DEV_DIR/keys/secrets-key")
  fi
  for service in "${SERVICES[@]}"; do
    [ "$service" = runner-agent ] || [ ! -x "$DEV_BUILD/bin/$service" ] ||
      give_file "$service" "$DEV_DIR/nats/creds/$(nats_user "$service").creds" nats.creds
  done
  give_file sessions "$DEV_DIR/keys/postgres-sessions" pgpass
  give_file sessions "$DEV_DIR/nats/creds/runner-signing.seed" runner-signing.seed
  give_file secrets "$DEV_DIR/keys/postgres-secrets" pgpass
  give_file secrets "$DEV_DIR/keys/secrets-key" key
  give_file repo-access "$DEV_DIR/keys/postgres-repo_access" pgpass
  give_file repo-access "$DEV_DIR/keys/github-app.pem" github-app.pem
  give_file repo-access "$DEV_DIR/keys/github-client-secret" github-client-secret
  # Where repo-access writes the Setup link: the one folder that it may write to.
  install -d -m 700 -o "$(service_uid repo-access)" -g "$(service_uid repo-access)" "$RUN_DIR/setup"
  web_copy
  release_copy
}

# The page, where the gateway can read it.
web_copy() {
  [ -d "$KNDL_ROOT/web/dist" ] || return 0
  rm -rf "$RUN_DIR/web.new"
  cp -r --no-preserve=ownership "$KNDL_ROOT/web/dist" "$RUN_DIR/web.new"
  # The kndl command, for whoever can reach the Hub.
  install -D -m 644 "$DEV_BUILD/bin/kndl" "$RUN_DIR/web.new/download/kndl"
  chmod -R u=rwX,go=rX "$RUN_DIR/web.new"
  rm -rf "$RUN_DIR/web"
  mv "$RUN_DIR/web.new" "$RUN_DIR/web"
}

# What Runners update themselves to, where the gateway can read it.
release_copy() {
  [ -d "$DEV_BUILD/runner" ] || return 0
  rm -rf "$RUN_DIR/release.new"
  cp -r --no-preserve=ownership "$DEV_BUILD/runner" "$RUN_DIR/release.new"
  chmod -R u=rwX,go=rX "$RUN_DIR/release.new"
  rm -rf "$RUN_DIR/release"
  mv "$RUN_DIR/release.new" "$RUN_DIR/release"
}

database_url() {
  printf 'postgresql://%s@127.0.0.1:%s/kndl?passfile=%s/pgpass' "$(nats_user "$1")" \
    "$PORT_POSTGRES" "$RUN_DIR/$1"
}

# 1, or 0 where people sign in with the stand-in for GitHub alone.
dev_login_env() { if [ "$DEV_LOGIN" = off ]; then echo 0; else echo 1; fi; }

service_env() {
  case $1 in
  sessions)
    plan_env "HUB_DATABASE_URL=$(database_url "$1")" \
      "HUB_RUNNER_SIGNING_KEY_FILE=$RUN_DIR/$1/runner-signing.seed" \
      "HUB_NATS_ACCOUNT=$(cat "$DEV_DIR/nats/account")" \
      "HUB_RUNNER_JWT_MS=${KNDL_DEV_RUNNER_JWT_MS:-3600000}"
    ;;
  secrets)
    plan_env "HUB_DATABASE_URL=$(database_url "$1")" "HUB_SECRETS_KEY_FILE=$RUN_DIR/$1/key"
    ;;
  repo-access)
    plan_env "HUB_DATABASE_URL=$(database_url "$1")" "HUB_PUBLIC_URL=$HUB_URL" \
      "HUB_DEV_LOGIN=$(dev_login_env)" "HUB_REPO_ACCESS_TTL_MS=${KNDL_DEV_REPO_ACCESS_TTL_MS:-300000}" \
      "HUB_GITHUB_URL=http://$PEER_ADDRESS" "HUB_GITHUB_API_URL=http://$PEER_ADDRESS/api/v3" \
      GITHUB_APP_ID=1001 "GITHUB_APP_KEY_FILE=$RUN_DIR/$1/github-app.pem" \
      "GITHUB_CLIENT_ID=$(jq -r .app.client_id "$DEV_DIR/github/state.json")" \
      "GITHUB_CLIENT_SECRET_FILE=$RUN_DIR/$1/github-client-secret" \
      "HUB_SETUP_LINK_FILE=$RUN_DIR/setup/link"
    ;;
  api-gateway)
    plan_env "HUB_LISTEN=127.0.0.1:$PORT_HUB" "HUB_PUBLIC_URL=$HUB_URL" \
      "HUB_DEV_LOGIN=$(dev_login_env)"
    [ ! -d "$RUN_DIR/web" ] || plan_env "HUB_WEB_DIR=$RUN_DIR/web"
    [ ! -d "$RUN_DIR/release" ] || plan_env "HUB_RUNNER_DIR=$RUN_DIR/release"
    ;;
  esac
}

service_plan() {
  local uid
  uid=$(service_uid "$1")
  plan_program "$1" "$DEV_BUILD/bin/$1"
  plan_sanitizers
  if [ "$1" = runner-agent ]; then
    runner_env
    return
  fi
  plan_line uid "$uid"
  plan_env "HUB_NATS_URL=nats://127.0.0.1:$PORT_NATS" \
    "HUB_NATS_CREDS_FILE=$RUN_DIR/$1/nats.creds"
  service_env "$1"
}
