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

runner_id() { cat "$DEV_DIR/nats/runner-id"; }

runner_env() {
  local allow=$PEER_ADDRESS:80
  [ "$MODE" = real ] || allow=$PEER_ADDRESS:443,$allow
  plan_env "PATH=$CLEAN_PATH" "RUNNER_NATS_URL=nats://127.0.0.1:$PORT_NATS" \
    "RUNNER_NATS_CREDS_FILE=$DEV_DIR/nats/creds/runner.creds" \
    "RUNNER_ID=$(runner_id)" "RUNNER_HOME=$RUN_DIR/runner" "RUNNER_DEFAULT_IMAGE=$LOWERS" \
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
  done < <(cut -d' ' -f5 /proc/self/mountinfo | grep -F -e "$DEV_DIR/runner/" -e "$RUN_DIR/runner/" | sort -r)
  runner_unmount
  find /sys/fs/cgroup -maxdepth 8 -depth -type d -name "$NAME-*" -exec rmdir {} \; 2>/dev/null || true
}
