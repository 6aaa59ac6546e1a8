# shellcheck shell=bash
# clang-tidy and cppcheck over what is ours, tests left out: part of ./dev test all.

# One finding is one line of the log; what they print of each file's progress is not kept.
analyse() {
  local build=$KNDL_ROOT/build/fuzz log=$DEV_DIR/log/analyse.log
  step 'clang-tidy and cppcheck'
  (
    cd "$KNDL_ROOT" || exit 1
    git ls-files 'libs/*.c' 'services/*.c' 'cli/*.c' 'deploy/*.c' |
      grep -vE '/(tests|bench|fuzz)/|^libs/testing/' |
      xargs -P "$(nproc)" -n 8 clang-tidy -p "$build" --quiet 2>/dev/null | grep -E ': (error|warning): ' || true
    cppcheck --project="$build/compile_commands.json" --quiet --template=gcc -j "$(nproc)" \
      --enable=warning,performance,portability --inline-suppr --suppress='*:*/build/*' \
      --suppress='*:*/tests/*' --suppress=unknownMacro --suppress=internalAstError \
      --suppress=uninitvar --suppress=varFuncNullUB 2>&1 |
      grep -E ': (error|warning|performance|portability): ' || true
  ) | sort -u >"$log"
  [ ! -s "$log" ] || {
    sed "s|$KNDL_ROOT/||" "$log"
    return 1
  }
}
