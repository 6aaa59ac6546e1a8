# shellcheck shell=bash
# The stand-ins for Anthropic and GitHub, and the host of their own that they live on: a network
# namespace behind a pair of virtual interfaces. Sandboxes reach it by their ordinary way out.

PEERS=$KNDL_ROOT/integration-tests/peers

# Files of a certificate authority that only this checkout's demo image trusts.
tls_prepare() {
  local dir=$DEV_DIR/tls
  [ ! -s "$dir/server.pem" ] || return 0
  rm -rf "$dir.new"
  mkdir -p -m 700 "$dir.new"
  (
    cd "$dir.new"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
      -keyout ca.key -out ca.pem -subj '/CN=kndl demo CA' \
      -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
      -keyout server.key -out server.csr -subj '/CN=api.anthropic.com'
    printf '%s\n' 'subjectAltName=DNS:api.anthropic.com' 'basicConstraints=CA:FALSE' \
      'extendedKeyUsage=serverAuth' >extensions
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 \
      -extfile extensions -out server.pem
    rm -f server.csr extensions ca.key
  ) >"$DEV_DIR/log/tls.log" 2>&1 || fail "openssl failed: $(tail -n 3 "$DEV_DIR/log/tls.log")"
  mv "$dir.new" "$dir"
}

# The GitHub App's key: the private half is the Hub's, the public half GitHub's.
github_prepare() {
  local dir=$DEV_DIR/github
  mkdir -p "$dir"
  if [ ! -s "$dir/app.pub" ]; then
    (umask 077 && openssl genrsa -out "$DEV_DIR/keys/github-app.pem" 2048 2>/dev/null)
    openssl rsa -in "$DEV_DIR/keys/github-app.pem" -pubout -out "$dir/app.pub" 2>/dev/null
  fi
  [ -s "$dir/state.json" ] || cp "$PEERS/github/demo.json" "$dir/state.json"
  # The client that people sign in with.
  jq -s '.[1].app.client_secret = .[0].app.client_secret | .[1]' "$PEERS/github/demo.json" \
    "$dir/state.json" >"$dir/state.json.new"
  cmp -s "$dir/state.json.new" "$dir/state.json" || mv "$dir/state.json.new" "$dir/state.json"
  rm -f "$dir/state.json.new"
  (umask 077 && jq -r .app.client_secret "$dir/state.json" >"$DEV_DIR/keys/github-client-secret")
}

# The scenario is a link, so that another one takes effect at once.
anthropic_prepare() {
  local file=${KNDL_DEV_SCENARIO:-$PEERS/anthropic/scenarios/demo.json}
  mkdir -p "$DEV_DIR/anthropic"
  file=$(realpath -e -- "$file" 2>/dev/null) || fail "no such scenario: $KNDL_DEV_SCENARIO"
  jq -e type "$file" >/dev/null || fail "not JSON: $file"
  ln -sfn "$file" "$DEV_DIR/anthropic/scenario.json.new"
  mv -T "$DEV_DIR/anthropic/scenario.json.new" "$DEV_DIR/anthropic/scenario.json"
}

netns_up() {
  local inside=$NAME-i outside=$NAME-o
  [ -e "/run/netns/$NETNS" ] || ip netns add "$NETNS"
  if ! ip -n "$NETNS" link show eth0 >/dev/null 2>&1; then
    ip link del "$outside" 2>/dev/null || true
    ip link add "$outside" type veth peer name "$inside"
    ip link set "$inside" netns "$NETNS" name eth0
    ip -n "$NETNS" addr add "$PEER_ADDRESS/30" dev eth0
    ip -n "$NETNS" link set lo up
    ip -n "$NETNS" link set eth0 up
    ip addr add "$HOST_ADDRESS/30" dev "$outside"
    ip link set "$outside" up
  fi
}

netns_down() {
  ip link del "$NAME-o" 2>/dev/null || true
  ip netns del "$NETNS" 2>/dev/null || true
}

peers_prepare() {
  tls_prepare
  github_prepare
  anthropic_prepare
  netns_up
}

peers_plan() {
  if [ "$MODE" = scripted ]; then
    plan_program anthropic "$DEV_DIR/node/bin/node" "$PEERS/anthropic/server.js" \
      --scenario "$DEV_DIR/anthropic/scenario.json" --cert "$DEV_DIR/tls/server.pem" \
      --key "$DEV_DIR/tls/server.key" --host "$PEER_ADDRESS" --port 443 \
      --log "$DEV_DIR/log/anthropic.jsonl"
    plan_line netns "$NETNS"
    plan_line env "PATH=$CLEAN_PATH"
  fi
  plan_program github "$DEV_DIR/node/bin/node" "$PEERS/github/server.js" \
    --state "$DEV_DIR/github/state.json" --git "$DEV_DIR/github/git" \
    --public-key "$DEV_DIR/github/app.pub" --host "$PEER_ADDRESS" --port 80 \
    --url "http://$PEER_ADDRESS" --log "$DEV_DIR/log/github.jsonl"
  plan_line netns "$NETNS"
  plan_line env "PATH=$CLEAN_PATH"
}
