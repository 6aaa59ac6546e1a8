# shellcheck shell=bash
# Signs you in as the Owner for ./dev kndl, and gives the Hub a setup token: yours, or for the
# stand-in one that nobody made. Tokens go by stdin and files of root's, never by arguments.

DEV_LOGIN=${KNDL_DEV_LOGIN:-ada}

# hub_post PATH [curl options]: the body comes on stdin, the answer's body goes to stdout.
hub_post() {
  curl -sS --noproxy '*' --max-time 20 --fail-with-body -X POST -H "Origin: $HUB_URL" \
    -H 'Content-Type: application/json' --data-binary @- "${@:2}" "$HUB_URL$1"
}

# With the CLI's own credential there is no Origin: only browsers send one.
cli_is_known() {
  [ -s "$DEV_DIR/cli.json" ] || return 1
  [ "$(jq -r .url "$DEV_DIR/cli.json")" = "$HUB_URL" ] || return 1
  jq -r '"header = \"Authorization: Bearer \(.token)\""' "$DEV_DIR/cli.json" |
    curl -sS --noproxy '*' --max-time 20 -f -K - -H 'Content-Type: application/json' -d '{}' \
      -o /dev/null "$HUB_URL/kndl.repo_access.v1.RepoAccessService/WhoAmI" 2>/dev/null
}

sign_in_cli() {
  local answer
  cli_is_known && return
  answer=$(jq -n --arg login "$DEV_LOGIN" '{login: $login, client: "cli", machine: "./dev"}' |
    hub_post /auth/dev) || fail "the Hub did not sign $DEV_LOGIN in: $answer"
  (umask 077 && jq --arg hub "$HUB_URL" '{url: $hub, token}' <<<"$answer" >"$DEV_DIR/cli.json.new")
  mv "$DEV_DIR/cli.json.new" "$DEV_DIR/cli.json"
}

# Who spends a subscription says so in a browser, so this is what a browser would do.
give_setup_token() {
  local jar=$DEV_DIR/keys/cookies answer token=sk-ant-oat01-demo-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
  [ "$MODE" = scripted ] || token=$SETUP_TOKEN
  # Given once: it would otherwise replace itself at each ./dev up. The hash tells it apart.
  local stamp
  stamp=$(printf '%s %s %s' "$DEV_LOGIN" "$HUB_URL" "$token" | sha256sum)
  [ "$(cat "$DEV_DIR/keys/setup-token-given" 2>/dev/null)" != "$stamp" ] || return 0
  (umask 077 && : >"$jar")
  answer=$(jq -n --arg login "$DEV_LOGIN" '{login: $login, client: "web"}' |
    hub_post /auth/dev -c "$jar") || fail "the Hub did not sign $DEV_LOGIN in: $answer"
  answer=$(printf '%s' "$token" |
    jq -Rs --arg id "$(new_password)" '{requestId: $id, token: .}' |
    hub_post /kndl.secrets.v1.SecretsService/SetSetupToken -b "$jar") || {
    rm -f "$jar"
    fail "the Hub refuses the setup token: $answer"
  }
  printf '{}' | hub_post /auth/signout -b "$jar" >/dev/null || true
  rm -f "$jar"
  (umask 077 && printf '%s\n' "$stamp" >"$DEV_DIR/keys/setup-token-given")
}

# Without dev login people come in as they would anywhere: by the Setup link, by Invites.
show_setup_link() {
  local n file=$RUN_DIR/setup/link
  if [ ! -s "$DEV_DIR/cli.json" ] || [ "$(jq -r .url "$DEV_DIR/cli.json")" != "$HUB_URL" ]; then
    (umask 077 && jq -n --arg hub "$HUB_URL" '{url: $hub}' >"$DEV_DIR/cli.json")
  fi
  for ((n = 0; n < 20; n++)); do
    [ ! -s "$file" ] || break
    sleep 0.1
  done
  [ -s "$file" ] || return 0
  say "There is no Owner yet. Become it within 24 h, as anybody whom the stand-in for GitHub knows:"
  say "    $(cat "$file")"
}

sign_in() {
  [ -x "$DEV_BUILD/bin/api-gateway" ] || return 0
  if [ "$DEV_LOGIN" = off ]; then
    show_setup_link
    return
  fi
  sign_in_cli
  give_setup_token
}
