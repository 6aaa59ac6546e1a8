# shellcheck shell=bash
# Writes the supervisor's plan: every program with its arguments, environment and uid.

PLAN=

plan_begin() {
  PLAN=$DEV_DIR/plan.new
  (umask 077 && printf 'socket %s\nlogs %s\n' "$SOCKET" "$DEV_DIR/log" >"$PLAN")
}
plan_line() { printf '  %s %s\n' "$1" "$2" >>"$PLAN"; }
plan_program() {
  local argument
  printf '\nprogram %s\n' "$1" >>"$PLAN"
  plan_line exec "$2"
  for argument in "${@:3}"; do plan_line arg "$argument"; done
}
plan_env() {
  local variable
  for variable in "$@"; do plan_line env "$variable"; done
}
plan_end() { mv "$DEV_DIR/plan.new" "$DEV_DIR/plan"; }

# What each of our own programs gets besides its settings.
plan_sanitizers() {
  [ "$DEV_PRESET" = dev ] || return 0
  plan_env ASAN_OPTIONS=abort_on_error=1:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
}

plan_servers() {
  plan_program postgres /usr/bin/unshare --user --map-user=1000 --map-group=1000 -- \
    "$(postgres_bin)/postgres" -D "$DEV_DIR/postgres"
  plan_line stop INT
  plan_env "PATH=$CLEAN_PATH" LANG=C.UTF-8

  plan_program nats /usr/bin/unshare --user --map-user=1000 --map-group=1000 -- \
    /usr/sbin/nats-server -c "$DEV_DIR/nats/nats.conf"
  plan_env "PATH=$CLEAN_PATH"
}

plan_write() {
  local service
  plan_begin
  plan_servers
  peers_plan
  for service in "${SERVICES[@]}"; do
    # A Runner that nobody registered yet has nothing to come with.
    [ "$service" != runner-agent ] || runner_is_registered || continue
    [ ! -x "$DEV_BUILD/bin/$service" ] || service_plan "$service"
  done
  plan_end
}
