# shellcheck shell=bash
# ./dev demo: the main job before your eyes; ./dev kndl: the command as the Owner.

dev_kndl() {
  load_slot
  [ -s "$DEV_DIR/cli.json" ] || fail "run ./dev up first"
  exec env -i PATH="$CLEAN_PATH" HOME="${HOME:-/root}" LANG=C.UTF-8 TERM="${TERM:-dumb}" \
    KNDL_CONFIG="$DEV_DIR/cli.json" "$DEV_BUILD/bin/kndl" "$@"
}

# The newest file of that name in a Workspace. What lies there is a Sandbox's: no link is followed.
workspace_file() {
  find -P "$DEV_DIR/runner" -xdev -type f -path "*$1*" -name "$2" -printf '%T@ %p\n' 2>/dev/null |
    sort -n | tail -n 1 | cut -d' ' -f2-
}

dev_demo() {
  local session file prompt='Say hello: write a greeting into this Repo.'
  load_slot
  is_up || fail "kndl is not running; run ./dev up first"
  say "A new Session on demo/hello, with the prompt:"
  say "    $prompt"
  say ''
  (dev_kndl new demo/hello --prompt "$prompt" --wait) || fail "the Session did not do it; ./dev kndl ls says more"
  session=$(dev_kndl_json ls | jq -rs 'max_by(.createdAtMs | tonumber) | .id')
  say ''
  file=$(workspace_file "$session" GREETING.md)
  if [ -n "$file" ]; then
    say "In the Session's Workspace on this host, GREETING.md now says:"
    head -c 1000 -- "$file" | sed 's/^/    /'
    say ''
  fi
  say "What happened, as it is kept:  ./dev kndl events $session"
  say "The same in a browser:         $HUB_URL/sessions/$session"
}

dev_kndl_json() { (dev_kndl "$@" --json); }
