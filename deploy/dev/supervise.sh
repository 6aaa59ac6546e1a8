# shellcheck shell=bash
# Starts, asks and ends the supervisor.

ask() { "$DEV_BUILD/bin/kndl-supervisor" --ask "$SOCKET" "$1"; }

# Asked of /proc, so that it can be ended even if its program was deleted meanwhile.
supervisor_lives() {
  local pid
  pid=$(cat "$DEV_DIR/run/supervisor.pid" 2>/dev/null) || return 1
  tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "kndl-supervisor $DEV_DIR/plan "
}

is_up() { [ -S "$SOCKET" ] && ask status >/dev/null 2>&1; }

supervisor_start() {
  ! supervisor_lives || fail "the supervisor runs but does not answer; ./dev down ends it"
  rm -f "$SOCKET"
  (
    cd /
    exec 8>&- 9>&-
    exec setsid env -i PATH="$CLEAN_PATH" "$DEV_BUILD/bin/kndl-supervisor" "$DEV_DIR/plan" \
      </dev/null >>"$DEV_DIR/log/supervisor.log" 2>&1
  ) &
  printf '%s\n' $! >"$DEV_DIR/run/supervisor.pid"
  local n
  for ((n = 0; n < 100; n++)); do
    is_up && return
    kill -0 "$(cat "$DEV_DIR/run/supervisor.pid")" 2>/dev/null || break
    sleep 0.05
  done
  fail "the supervisor did not start: $(tail -n 2 "$DEV_DIR/log/supervisor.log")"
}

# What a service is made of. api-gateway keeps the page in memory.
service_stamp() {
  stat -c '%i %Y %s' "$DEV_BUILD/bin/$1"
  [ "$1" != api-gateway ] || cat "$KNDL_ROOT/web/dist/.kndl-stamp" 2>/dev/null || true
}

# The programs that are made of something else than when they were started.
changed_programs() {
  local service file
  mkdir -p "$DEV_DIR/run/started"
  for service in "${SERVICES[@]}"; do
    file=$DEV_BUILD/bin/$service
    [ -x "$file" ] || continue
    [ "$service" != runner-agent ] || runner_is_registered || continue
    [ -z "$NATS_IS_NEW" ] && cmp -s "$DEV_DIR/run/started/$service" <(service_stamp "$service") ||
      printf '%s\n' "$service"
  done
}

note_programs() {
  local service file
  mkdir -p "$DEV_DIR/run/started"
  for service in "${SERVICES[@]}"; do
    file=$DEV_BUILD/bin/$service
    [ ! -x "$file" ] || service_stamp "$service" >"$DEV_DIR/run/started/$service"
  done
}

# Brings what runs in line with the plan; a program that did not change keeps its process.
supervisor_apply() {
  local service
  if ! is_up; then
    rm -rf "$DEV_DIR/run/started"
    supervisor_start
  else
    ask reload >/dev/null || fail "the supervisor refuses the plan: $(ask reload)"
    [ -z "$NATS_IS_NEW" ] || ask 'restart nats' >/dev/null
    for service in $(changed_programs); do
      step "restarting $service"
      ask "restart $service" >/dev/null
    done
  fi
  note_programs
}

supervisor_stop() {
  local pid n
  supervisor_lives || return 0
  pid=$(cat "$DEV_DIR/run/supervisor.pid")
  kill "$pid"
  for ((n = 0; n < 900; n++)); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  fail "the supervisor ($pid) does not end"
}
