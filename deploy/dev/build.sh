# shellcheck shell=bash
# Builds the programs and the page.

# A first build takes minutes: of Ninja's lines on stdin it shows how far that is, ten times.
show_progress() {
  local line tenths shown=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    tenths=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    [ "${BASH_REMATCH[2]}" -lt 50 ] || [ "$tenths" -le "$shown" ] ||
      say "    ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    shown=$tenths
  done
}

build_programs() {
  local log=$DEV_DIR/log/build-$1.log
  mkdir -p "$DEV_DIR/log"
  # Tests run with our node, whichever was there when somebody configured this folder first.
  if [ ! -f "$KNDL_ROOT/build/$1/build.ninja" ] ||
    ! grep -qxF "NODE:FILEPATH=$DEV_DIR/node/bin/node" "$KNDL_ROOT/build/$1/CMakeCache.txt"; then
    step "configuring build/$1"
    (cd "$KNDL_ROOT" && cmake --preset "$1" -D "NODE:FILEPATH=$DEV_DIR/node/bin/node") >"$log" 2>&1 || {
      tail -n 40 "$log" >&2
      fail "cmake failed; all of it is in $log"
    }
  fi
  step "building build/$1"
  cmake --build "$KNDL_ROOT/build/$1" -j "${KNDL_DEV_JOBS:-$(nproc)}" 2>&1 | tee "$log" | show_progress || {
    grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 60 >&2
    fail "the build failed; all of it is in $log"
  }
}

# A number for what a folder's files say, without node_modules and what is made.
folder_hash() {
  find "$@" -type d \( -name node_modules -o -name dist -o -path '*/src/gen' \) -prune -o \
    -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

# web/dist, made again only when web/ or proto/ changed.
build_page() {
  local web=$KNDL_ROOT/web hash log=$DEV_DIR/log/build-web.log
  [ -f "$web/package-lock.json" ] || return 0
  npm_ci "$web"
  hash=$(folder_hash "$web" "$KNDL_ROOT/proto")
  [ "$(cat "$web/dist/.kndl-stamp" 2>/dev/null)" != "$hash" ] || return 0
  step "building the page"
  (cd "$web" && PATH=$DEV_DIR/node/bin:$PATH npm run --silent build) >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    fail "the page could not be built; all of it is in $log"
  }
  printf '%s\n' "$hash" >"$web/dist/.kndl-stamp"
}
