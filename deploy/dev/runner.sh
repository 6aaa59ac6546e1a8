# shellcheck shell=bash
# The Runner of this machine: its home, its environment, and what it leaves when all ends.

# The Runner downloads Claude Code when it first needs it. Doing so here, by the Runner's own verb,
# shows it, and the cache saves it for other checkouts. Should it fail, the Runner tries again.
runner_fetch() {
  local claude=claude-code/2.1.332-glibc/claude home=$DEV_DIR/runner
  mkdir -p -m 711 "$home"
  [ ! -x "$home/$claude" ] || return 0
  if [ ! -x "$DEV_CACHE/$claude" ]; then
    step "downloading Claude Code (186 MB, once)"
    exec 8>"$DEV_CACHE/claude-code.lock"
    flock 8
    env -i PATH="$CLEAN_PATH" RUNNER_HOME="$DEV_CACHE" "$DEV_BUILD/bin/runner-agent" download \
      3>/dev/null 8>&- 9>&- >"$DEV_DIR/log/download.log" 2>&1 || {
      say "    it could not be downloaded: $(tail -n 1 "$DEV_DIR/log/download.log")"
      return 0
    }
    exec 8>&-
  fi
  rm -rf "$home/claude-code.new"
  cp -al "$DEV_CACHE/claude-code" "$home/claude-code.new" 2>/dev/null || {
    rm -rf "$home/claude-code.new" # another file system
    cp -a "$DEV_CACHE/claude-code" "$home/claude-code.new"
  }
  rm -rf "$home/claude-code"
  mv -T "$home/claude-code.new" "$home/claude-code"
}

# A Sandbox's own uids must be able to walk to its root, and a checkout may lie in a folder that only
# root can enter: so the Runner sees its home at a place of its own.
runner_mount() {
  mkdir -p "$RUN_DIR/runner"
  mountpoint -q "$RUN_DIR/runner" && return
  mount --bind "$DEV_DIR/runner" "$RUN_DIR/runner"
  mount --make-private "$RUN_DIR/runner"
}

runner_unmount() {
  ! mountpoint -q "$RUN_DIR/runner" || umount -l "$RUN_DIR/runner"
  ! mountpoint -q "$RUN_DIR/runner" || fail "$RUN_DIR/runner is still mounted"
}

# What the Owner was shown when this Runner was registered.
runner_token_file() { printf '%s\n' "$DEV_DIR/keys/runner-token"; }

runner_is_registered() { [ -s "$(runner_token_file)" ]; }

# runner_request METHOD JQ-ARGUMENTS… : as the Owner's browser, with the cookies of $jar.
runner_request() {
  jq -n --arg id "$(new_password)" "${@:2}" |
    hub_post "/kndl.sessions.v1.RunnersService/$1" -b "$jar"
}

# Registers this machine's Runner, as the Owner does on the Runners page. One that the Hub already
# knows (its token was lost, or it is older than tokens) gets a new token: its Sessions are on it.
# shellcheck disable=SC2016 # the names in quotes are jq's
runner_register() {
  local jar=$DEV_DIR/keys/cookies file answer id
  file=$(runner_token_file)
  step "registering the Runner of this machine"
  (umask 077 && : >"$jar")
  answer=$(jq -n --arg login "$DEV_LOGIN" '{login: $login, client: "web"}' |
    hub_post /auth/dev -c "$jar") || fail "the Hub did not sign $DEV_LOGIN in: $answer"
  answer=$(runner_request ListRunners '{}') || fail "the Hub does not list its Runners: $answer"
  id=$(jq -r '.runners[0].id // empty' <<<"$answer")
  if [ -n "$id" ]; then
    answer=$(runner_request RotateRunnerToken --arg runner "$id" '{requestId: $id, runnerId: $runner}')
  else
    answer=$(runner_request RegisterRunner '{requestId: $id, name: "this machine"}')
  fi || {
    rm -f "$jar"
    fail "the Hub did not register the Runner: $answer"
  }
  (umask 077 && jq -j .token <<<"$answer" >"$file.new")
  mv "$file.new" "$file"
  printf '{}' | hub_post /auth/signout -b "$jar" >/dev/null || true
  rm -f "$jar"
}

# The Runner comes last where it had to be registered first: until then it is not in the plan.
runner_start() {
  [ -x "$DEV_BUILD/bin/api-gateway" ] || return 0
  ! runner_is_registered || return 0
  if [ "${KNDL_DEV_LOGIN:-}" = off ]; then
    say "no Runner yet: register one on the Runners page, put its token into"
    say "  $(runner_token_file) (mode 0600), and run ./dev up again"
    return 0
  fi
  runner_register
  NATS_IS_NEW=
  plan_write
  supervisor_apply
  wait_ready
}

# It does not update itself: ./dev up restarts it with each build, and a release that it fetched would
# take the place of what is built here from then on.
runner_env() {
  local allow=$PEER_ADDRESS:80
  [ "$MODE" = real ] || allow=$PEER_ADDRESS:443,$allow
  plan_env "PATH=$CLEAN_PATH" "RUNNER_NATS_URL=nats://127.0.0.1:$PORT_NATS" \
    "RUNNER_HUB_URL=$HUB_URL" "RUNNER_TOKEN_FILE=$(runner_token_file)" \
    "RUNNER_HOME=$RUN_DIR/runner" "RUNNER_DEFAULT_IMAGE=$LOWERS" \
    "RUNNER_SANDBOX_ALLOW=$allow" "RUNNER_MOD_DIR=$KNDL_ROOT/mod" \
    "RUNNER_SANDBOX_UID_BASE=$UID_SANDBOXES" RUNNER_SANDBOX_UID_RANGES=300 "RUNNER_NAME_PREFIX=$NAME" \
    RUNNER_SELF_UPDATE=off
  plan_line grace 20
}

# What Sandboxes leave once every process has ended: mounts, namespaces, cgroups.
runner_clean() {
  local path dir name
  for dir in "$DEV_DIR"/runner/sandboxes/*/; do
    [ -d "$dir" ] || continue
    name=$(basename "$dir")
    runc --root "$DEV_DIR/runner/oci" delete -f "$name" >/dev/null 2>&1 || true
    ip netns del "$name" 2>/dev/null || true
  done
  # Deepest first; a mount below the Runner's home is a Sandbox's.
  while read -r path; do
    umount -l -- "$path" 2>/dev/null || true
  done < <(cut -d' ' -f5 /proc/self/mountinfo | grep -F -e "$DEV_DIR/runner/" -e "$RUN_DIR/runner/" | sort -r)
  runner_unmount
  find /sys/fs/cgroup -maxdepth 8 -depth -type d -name "$NAME-*" -exec rmdir {} \; 2>/dev/null || true
}
