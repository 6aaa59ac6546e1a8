# shellcheck shell=bash
# ./dev bench: each measurement prints its own lines; nothing passes or fails by a time.

dev_bench() {
  local program file
  mkdir -p "$DEV_DIR/log"
  install_packages
  install_node
  test_npm
  build_programs release
  for program in "$KNDL_ROOT"/build/release/bin/bench_*; do
    [ -x "$program" ] || continue
    step "${program##*/}"
    env -i PATH="$CLEAN_PATH" LANG=C.UTF-8 "$program" || say "${program##*/} failed"
  done
  for file in "$KNDL_ROOT"/integration-tests/bench/*.bench.mjs; do
    [ -f "$file" ] || continue
    step "$(basename "$file" .bench.mjs)"
    env -i PATH="$DEV_DIR/node/bin:$CLEAN_PATH" HOME="$DEV_DIR/home" LANG=C.UTF-8 \
      KNDL_DEV_CACHE="$DEV_CACHE" KNDL_DEV_PRESET=release \
      "$DEV_DIR/node/bin/node" "$file" || say "$(basename "$file") failed"
  done
}
