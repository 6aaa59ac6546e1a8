# shellcheck shell=bash
# ./dev test: every test is one of ctest's, labelled unit, db, flow, web or fuzz.

# Tests that need npm's packages bring a package-lock.json.
test_npm() {
  local folder
  for folder in web integration-tests; do
    [ ! -f "$KNDL_ROOT/$folder/package-lock.json" ] || npm_ci "$KNDL_ROOT/$folder"
  done
}

# The names of tests that were skipped inside a program, which ctest knows nothing of: cmocka's, and
# node's.
skipped_within() {
  awk '/^\[  SKIPPED \] [0-9]+ test/ { left = $4; next }
       left > 0 && /^\[  SKIPPED \]/ { print $4; left--; next }
       /^ *ok [0-9]+ - .*# SKIP/ { sub(/^ *ok [0-9]+ - /, ""); print }' "$1"
}

# Runs one build's tests and adds to PASSED, FAILED and SKIPPED.
test_run() {
  local build=$KNDL_ROOT/build/$1 report=$DEV_DIR/log/test-$1.xml
  shift
  rm -f "$report"
  (
    cd "$build"
    env -i PATH="$DEV_DIR/node/bin:$CLEAN_PATH" HOME="$DEV_DIR/home" LANG=C.UTF-8 \
      KNDL_DEV_CACHE="$DEV_CACHE" KNDL_BUILD="$build" \
      ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1 \
      ctest -j "${KNDL_DEV_JOBS:-$(nproc)}" --output-on-failure --output-junit "$report" \
      --no-tests=ignore "$@"
  ) || true
  [ -f "$report" ] || return 0
  local total failed skipped within
  total=$(sed -nE '/<testsuite/,/>/s/.*[^a-z]tests="([0-9]+)".*/\1/p' "$report" | head -n 1)
  failed=$(sed -nE '/<testsuite/,/>/s/.*failures="([0-9]+)".*/\1/p' "$report" | head -n 1)
  skipped=$(grep -cE 'status="(notrun|disabled)"' "$report" || true)
  PASSED=$((PASSED + ${total:-0} - ${failed:-0} - skipped))
  FAILED=$((FAILED + ${failed:-0}))
  mapfile -t within < <(skipped_within "$build/Testing/Temporary/LastTest.log")
  [ "${#within[@]}" = 0 ] || printf 'skipped: %s\n' "${within[@]}"
  SKIPPED=$((SKIPPED + skipped + ${#within[@]}))
}

test_prepare() {
  mkdir -p "$DEV_DIR/log" "$DEV_DIR/home" "$DEV_CACHE"
  install_packages
  install_node
  test_npm
}

# Counts what is no test of ctest's: note_result COMMAND…
note_result() {
  if "$@"; then PASSED=$((PASSED + 1)); else FAILED=$((FAILED + 1)); fi
}

# One more compiler, one more sanitizer, two that only read, and thirty seconds of each fuzz target.
test_release() {
  local target
  build_programs tsan
  test_run tsan -L unit
  build_programs fuzz
  note_result analyse
  for target in "$KNDL_ROOT"/build/fuzz/bin/fuzz_*; do
    [ -x "$target" ] || continue
    note_result test_fuzz "$target"
  done
}

test_fuzz() {
  local name=${1##*/}
  step "fuzzing $name"
  mkdir -p "$DEV_DIR/fuzz/$name"
  (cd "$DEV_DIR/fuzz" && "$1" -max_total_time=30 "$name" >"$name.log" 2>&1) || {
    tail -n 20 "$DEV_DIR/fuzz/$name.log"
    return 1
  }
}

dev_test() {
  local what=${1:-} PASSED=0 FAILED=0 SKIPPED=0
  case $what in
  '' | unit | db | flow | web | fuzz | all) ;;
  *) fail "which tests? unit, db, flow, web, fuzz or all" ;;
  esac
  mkdir -p "$DEV_DIR"
  test_prepare
  build_programs dev
  case $what in
  '' | all | flow | web)
    build_page
    image_base >/dev/null
    ;;
  esac
  case $what in
  '' | all) test_run dev ;;
  *) test_run dev -L "$what" ;;
  esac
  [ "$what" != all ] || test_release
  if [ "$SKIPPED" -gt 0 ]; then
    printf '%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
  else
    printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
  fi
  [ "$FAILED" = 0 ] && [ "$PASSED" -gt 0 ]
}
