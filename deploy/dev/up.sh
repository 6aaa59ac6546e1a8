# shellcheck shell=bash
# ./dev up, down and status.

# Real: your own token and the real Anthropic API. Scripted: the stand-in.
choose_mode() {
  MODE=scripted
  [ -z "$SETUP_TOKEN" ] || MODE=real
}

# Identities on the bus. kndl-init keeps its keys and writes the rest anew, so it runs again when
# it changed, and then all that talk NATS start anew.
nats_prepare() {
  local stamp
  NATS_IS_NEW=
  stamp=$(sha256sum "$DEV_BUILD/bin/kndl-init")
  [ "$(cat "$DEV_DIR/nats/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  step "minting the identities on NATS"
  "$DEV_BUILD/bin/kndl-init" "$DEV_DIR/nats" --listen "127.0.0.1:$PORT_NATS" \
    >"$DEV_DIR/log/kndl-init.log" 2>&1 ||
    fail "kndl-init failed: $(tail -n 3 "$DEV_DIR/log/kndl-init.log")"
  printf '%s\n' "$stamp" >"$DEV_DIR/nats/.stamp"
  NATS_IS_NEW=1
}

dev_up() {
  need_root
  mkdir -p "$DEV_DIR"
  exec 9>"$DEV_DIR/lock"
  flock -n 9 || fail "another ./dev works on $DEV_DIR"
  load_slot
  mkdir -p "$DEV_DIR/log" "$DEV_DIR/run" "$DEV_CACHE"
  mkdir -p -m 700 "$DEV_DIR/keys"
  mkdir -p -m 711 "$RUN_DIR"
  choose_mode
  if [ -z "${KNDL_DEV_NO_BUILD:-}" ]; then
    install_packages
    install_node
    build_programs "$DEV_PRESET"
    build_page
  else
    install_node
  fi
  peers_prepare
  LOWERS=$(image_lowers "$MODE")
  postgres_prepare
  nats_prepare
  runner_fetch
  runner_mount
  services_prepare
  plan_write
  is_up || step "starting"
  supervisor_apply
  postgres_roles
  write_facts
  wait_ready
  sign_in
  runner_start
  say "kndl is ready: $HUB_URL"
}

# Where things are, or will be, for whoever drives this kndl from outside.
dev_facts() {
  load_slot
  choose_mode
  jq -n --arg hub "$HUB_URL" --arg peer "$PEER_ADDRESS" --arg run "$RUN_DIR" --arg name "$NAME" \
    --argjson slot "$SLOT" --argjson nats "$PORT_NATS" --argjson postgres "$PORT_POSTGRES" \
    --arg build "$DEV_BUILD" --arg mode "$MODE" \
    '{hub_url: $hub, peer_address: $peer, run_dir: $run, name: $name, slot: $slot,
      nats_port: $nats, postgres_port: $postgres, build: $build, mode: $mode}'
}

write_facts() {
  dev_facts >"$DEV_DIR/facts.json.new"
  mv "$DEV_DIR/facts.json.new" "$DEV_DIR/facts.json"
}

# Until the Hub says that it is, or a reason why not has stood for long. What it lacks besides (a
# Runner, which comes a moment later) is waited for a little and told.
wait_ready() {
  local n answer='' lacks='' seen_ready=0
  [ -x "$DEV_BUILD/bin/api-gateway" ] || return 0
  for ((n = 0; n < 3000; n++)); do
    if answer=$(curl -sS --noproxy '*' --max-time 5 "$HUB_URL/health" 2>&1) &&
      [ "$(jq -r '.ready' <<<"$answer" 2>/dev/null)" = true ]; then
      lacks=$(jq -r '.reasons | join("; ")' <<<"$answer")
      [ -n "$lacks" ] && runner_is_registered || return 0
      seen_ready=$((seen_ready + 1))
      [ "$seen_ready" -lt 25 ] || {
        say "The Hub is up, but $lacks"
        return 0
      }
    fi
    [ $((n % 50)) != 49 ] || say "    waiting: $answer"
    sleep 0.1
  done
  fail "the Hub did not get ready; ./dev status and $DEV_DIR/log say more"
}

dev_down() {
  need_root
  [ -d "$DEV_DIR" ] || return 0
  exec 9>"$DEV_DIR/lock"
  flock 9
  load_slot
  supervisor_stop
  runner_clean
  netns_down
  rm -rf "$RUN_DIR" "$DEV_DIR/run"
  say "kndl is down"
}

# Stops, starts or restarts one program.
dev_command() {
  load_slot
  is_up || fail "kndl is not running here; run ./dev up first"
  ask status | cut -d' ' -f1 | grep -qxF -- "$2" || fail "there is no program $2; ./dev status lists them"
  ask "$1 $2"
}

since() {
  local seconds=$((($(date +%s%3N) - $1) / 1000))
  printf '%dh%02dm%02ds' $((seconds / 3600)) $((seconds / 60 % 60)) $((seconds % 60))
}

# One word on whether the program answers, where that can be asked from outside.
health() {
  local url
  case $1 in
  api-gateway) url=$HUB_URL/health ;;
  github) url=http://$PEER_ADDRESS/__fake/health ;;
  anthropic) url=https://$PEER_ADDRESS/__fake/health ;;
  postgres)
    if as_superuser -d kndl -Atc 'SELECT 1' >/dev/null 2>&1; then echo answers; else echo silent; fi
    return
    ;;
  *)
    echo -
    return
    ;;
  esac
  if curl -fsSk --noproxy '*' --max-time 2 "$url" >/dev/null 2>&1; then echo answers; else echo silent; fi
}

dev_status() {
  local name state pid at restarts
  [ -f "$DEV_DIR/slot" ] || {
    say "kndl is not running here"
    return 3
  }
  load_slot
  is_up || {
    say "kndl is not running here"
    return 3
  }
  printf '%-14s %-9s %8s %12s %9s  %s\n' PROGRAM STATE PID SINCE RESTARTS HEALTH
  printf '%-14s %-9s %8s %12s %9s  %s\n' supervisor running "$(cat "$DEV_DIR/run/supervisor.pid")" - - -
  while read -r name state pid at restarts; do
    [ "$name" != ok ] || continue
    printf '%-14s %-9s %8s %12s %9s  %s\n' "$name" "$state" "$pid" "$(since "$at")" "$restarts" \
      "$(health "$name")"
  done < <(ask status)
  say "Hub: $HUB_URL   logs: $DEV_DIR/log"
  curl -sS --noproxy '*' --max-time 5 "$HUB_URL/health" 2>/dev/null | jq -r '.reasons[]' 2>/dev/null || true
}
