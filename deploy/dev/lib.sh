# shellcheck shell=bash
# Where everything of this checkout lives, and how ./dev speaks. Sourced by the other parts.
#
# One number, the slot, gives each checkout (or private kndl of a flow test) ports, uids,
# addresses and names of its own. It is derived from the path of its folder and claimed below
# /run/kndl-dev, so that two never meet.

KNDL_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
DEV_DIR=${KNDL_DEV_DIR:-$KNDL_ROOT/.dev}
DEV_CACHE=${KNDL_DEV_CACHE:-$KNDL_ROOT/.dev/cache}
DEV_PRESET=${KNDL_DEV_PRESET:-release}
DEV_BUILD=$KNDL_ROOT/build/$DEV_PRESET
# Not in the environment of what ./dev runs.
SETUP_TOKEN=${KNDL_SETUP_TOKEN:-}
unset KNDL_SETUP_TOKEN
SLOT_CLAIMS=/run/kndl-dev
SLOT_COUNT=100

say() { printf '%s\n' "$*"; }
step() { printf '==> %s\n' "$*"; }
fail() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}

need_root() { [ "$(id -u)" = 0 ] || fail "run it as root: Sandboxes, namespaces and uids need it"; }

# Programs that ./dev starts get this environment and nothing of the caller's.
CLEAN_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Takes a slot and keeps it: prints its number.
claim_slot() {
  local first slot owner n lock
  mkdir -p "$SLOT_CLAIMS"
  chmod 711 "$SLOT_CLAIMS"
  exec {lock}>"$SLOT_CLAIMS/lock" # two would take over the same dead claim
  flock "$lock"
  if [ -r "$DEV_DIR/slot" ]; then
    read -r first <"$DEV_DIR/slot"
    first=$((first % SLOT_COUNT))
  else
    first=$((0x$(printf '%s' "$DEV_DIR" | sha256sum | cut -c1-8) % SLOT_COUNT))
  fi
  for ((n = 0; n < SLOT_COUNT; n++)); do
    slot=$(((first + n) % SLOT_COUNT))
    if ln -sT "$DEV_DIR" "$SLOT_CLAIMS/$slot.claim" 2>/dev/null; then
      break
    fi
    owner=$(readlink "$SLOT_CLAIMS/$slot.claim" || true)
    [ "$owner" = "$DEV_DIR" ] && break
    if [ -n "$owner" ] && [ ! -d "$owner" ]; then # its checkout was removed
      rm -f "$SLOT_CLAIMS/$slot.claim"
      ln -sT "$DEV_DIR" "$SLOT_CLAIMS/$slot.claim" 2>/dev/null && break
    fi
  done
  exec {lock}>&-
  [ "$n" -lt "$SLOT_COUNT" ] || fail "all $SLOT_COUNT slots below $SLOT_CLAIMS are taken"
  [ "$slot" = "$(cat "$DEV_DIR/slot" 2>/dev/null)" ] && return
  # In one step: another ./dev may read it now.
  printf '%s\n' "$slot" >"$DEV_DIR/slot.$BASHPID"
  mv "$DEV_DIR/slot.$BASHPID" "$DEV_DIR/slot"
}

# Sets SLOT and everything that follows from it.
# shellcheck disable=SC2034 # used by the other parts
load_slot() {
  mkdir -p "$DEV_DIR"
  DEV_DIR=$(cd -- "$DEV_DIR" && pwd -P)
  claim_slot
  read -r SLOT <"$DEV_DIR/slot"
  PORT_HUB=$((10000 + SLOT * 50))
  PORT_NATS=$((PORT_HUB + 1))
  PORT_POSTGRES=$((PORT_HUB + 2))
  HUB_URL=http://127.0.0.1:$PORT_HUB
  # Sandboxes: 300 ranges of 65536 each. Services: 16 uids above all Sandboxes.
  UID_SANDBOXES=$((0x1000000 + SLOT * 300 * 65536))
  UID_SERVICES=$((2100000000 + SLOT * 16))
  NAME=kndl-$SLOT
  NETNS=$NAME-peers
  PEER_ADDRESS=10.88.$((SLOT * 4 / 256)).$((SLOT * 4 % 256 + 2))
  HOST_ADDRESS=10.88.$((SLOT * 4 / 256)).$((SLOT * 4 % 256 + 1))
  # What an unprivileged service must be able to reach, wherever the checkout lies.
  RUN_DIR=$SLOT_CLAIMS/$SLOT
  SOCKET=$RUN_DIR/supervisor.sock
}
