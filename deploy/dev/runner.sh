# shellcheck shell=bash
# The Runner of this machine: its home, its environment, and what it leaves when all ends.

RUNNER_HOME_DIR() { printf '%s\n' "$DEV_DIR/runner"; }

# Claude Code is downloaded by the Runner; the cache saves doing so for each checkout.
runner_seed() {
  mkdir -p -m 711 "$DEV_DIR/runner"
  if [ -d "$DEV_CACHE/claude-code" ] && [ ! -d "$DEV_DIR/runner/claude-code" ]; then
    cp -al "$DEV_CACHE/claude-code" "$DEV_DIR/runner/claude-code" 2>/dev/null ||
      cp -a "$DEV_CACHE/claude-code" "$DEV_DIR/runner/claude-code"
  fi
}

runner_keep() {
  if [ -d "$DEV_DIR/runner/claude-code" ] && [ ! -d "$DEV_CACHE/claude-code" ]; then
    rm -rf "$DEV_CACHE/claude-code.new"
    cp -al "$DEV_DIR/runner/claude-code" "$DEV_CACHE/claude-code.new" 2>/dev/null || return 0
    mv -T "$DEV_CACHE/claude-code.new" "$DEV_CACHE/claude-code" 2>/dev/null || true
  fi
}

runner_id() { cat "$DEV_DIR/nats/runner-id"; }

runner_env() {
  local allow=$PEER_ADDRESS:80
  [ "$MODE" = real ] || allow=$PEER_ADDRESS:443,$allow
  plan_env "PATH=$CLEAN_PATH" "RUNNER_NATS_URL=nats://127.0.0.1:$PORT_NATS" \
    "RUNNER_NATS_CREDS_FILE=$DEV_DIR/nats/creds/runner.creds" \
    "RUNNER_ID=$(runner_id)" "RUNNER_HOME=$DEV_DIR/runner" "RUNNER_DEFAULT_IMAGE=$LOWERS" \
    "RUNNER_SANDBOX_ALLOW=$allow" "RUNNER_MOD_DIR=$KNDL_ROOT/mod" \
    "RUNNER_SANDBOX_UID_BASE=$UID_SANDBOXES" RUNNER_SANDBOX_UID_RANGES=300 "RUNNER_NAME_PREFIX=$NAME"
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
  done < <(cut -d' ' -f5 /proc/self/mountinfo | grep -F "$DEV_DIR/runner/" | sort -r)
  find /sys/fs/cgroup -maxdepth 8 -depth -type d -name "$NAME-*" -exec rmdir {} \; 2>/dev/null || true
}
