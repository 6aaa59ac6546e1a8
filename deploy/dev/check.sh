# shellcheck shell=bash
# ./dev check: what a machine can hold of docs/style.md, in under ten seconds.

CHECK_FAILED=0

complain() {
  printf '%s\n' "$1"
  [ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/    /'
  CHECK_FAILED=1
}

c_files() { git ls-files -co --exclude-standard -- '*.c' '*.h' | while read -r f; do [ ! -f "$f" ] || printf '%s\n' "$f"; done; }

check_format() {
  local wrong
  wrong=$(c_files | xargs -r -P "$(nproc)" -n 16 clang-format --dry-run -Werror 2>&1 | grep -o '^[^:]*:[0-9]*' | sort -u || true)
  [ -z "$wrong" ] || complain 'clang-format would change:' "$wrong"
}

# One door per foreign library: header, then where it may be included.
check_doors() {
  local header where found
  while read -r header where; do
    found=$(c_files | grep -Ev "$where" | xargs -r grep -nE "#include [<\"]$header" || true)
    [ -z "$found" ] || complain "$header goes through one door ($where):" "$found"
  done <<'DOORS'
nats/ ^libs/bus/
nats\.h ^libs/bus/
libpq ^libs/(db|testing)/
curl/ ^libs/http/
sodium ^libs/(crypt|testing)/
openssl/ ^libs/crypt/
uv\.h ^libs/web/
jansson ^libs/json/
git2 /git\.c$
DOORS
}

# base, then its neighbours, which know nothing of each other; testing and tests may use all. One
# header is everybody's: what libs/http sends must come in locked memory, kndl/secret.h.
check_layers() {
  local lib file header
  for lib in libs/*/; do
    lib=${lib%/}
    [ "$lib" != libs/testing ] || continue
    while IFS=: read -r file header; do
      if [ -e "$lib/$header" ] || [ -e "libs/base/$header" ]; then continue; fi
      case $file:$header in
      libs/http/*:kndl/secret.h) ;;
      */tests/*:*) ;;
      *) complain "$file includes $header of a neighbour" ;;
      esac
    done < <(grep -rnoE --include='*.[ch]' '#include "kndl/[a-z_]+\.h"' "$lib" |
      sed -E 's/:[0-9]+:#include "(.*)"/:\1/')
  done
  local found
  found=$(c_files | xargs -r grep -nE '#include "\.\./' || true)
  [ -z "$found" ] || complain 'a folder reaches into another:' "$found"
}

check_forbidden() {
  local found
  found=$(c_files | xargs -r grep -nE '(^|[^a-z_])(system|popen|strtok|sprintf|vsprintf|atoi|atol|gets)\(' |
    grep -vE ':[0-9]+: \*|/\*' || true)
  [ -z "$found" ] || complain 'never used here:' "$found"
  found=$(c_files | grep -vE '^libs/base/env\.c$|/tests/|^libs/testing/|/bench/' |
    xargs -r grep -nE '(^|[^a-z_])getenv\(' | grep -vE ':[0-9]+: \*' || true)
  [ -z "$found" ] || complain 'getenv() is for libs/base/env.c alone:' "$found"
}

# The spec's words are capitalised wherever people read them. A name in a message (%s), or one of
# these words before it, makes it the thing and not a part of an identifier.
check_words() {
  local thing='(session|runner|repo|sandbox|workspace|creator)s?' found
  found=$(c_files | grep -v /tests/ |
    xargs -r grep -nE "\"[^\"]*(\b$thing %|\b(a|this|its|of) $thing\b)[^\"]*\"" || true)
  [ -z "$found" ] || complain 'capitalised where people read it (docs/style.md):' "$found"
}

check_shell() {
  local found
  found=$(git ls-files -co --exclude-standard -- '*.sh' dev .ci/run | xargs -r shellcheck -x -f gcc 2>&1 || true)
  [ -z "$found" ] || complain 'shellcheck:' "$found"
}

# ./dev test brings buf.
check_protos() {
  local found
  [ -x integration-tests/node_modules/.bin/buf ] || return 0
  found=$(deploy/dev/protos.sh 2>&1) || complain 'proto:' "$found"
}

check_decisions() {
  local found
  found=$(deploy/dev/adr_index.sh docs/adr/README.md 2>&1) || complain 'docs/adr/README.md:' "$found"
}

check_staged() {
  local found
  found=$(git diff --cached --name-only --diff-filter=d |
    grep -E '\.pb-c\.[ch]$|^web/(dist|src/gen)/|(^|/)node_modules/|^build/|^\.dev/' || true)
  [ -z "$found" ] || complain 'made or downloaded, not to be committed:' "$found"
  found=$(git diff --cached -U0 --diff-filter=d | grep -E '^\+.*(registry\.npmjs|deb\.debian\.org)' || true)
  [ -z "$found" ] || complain "a registry's host in a commit:" "$found"
}

# eslint and tsc take seconds, so only where web/ differs from what is committed.
check_page() {
  local found
  [ -d web/node_modules ] && [ -n "$(git status --porcelain -- web | head -n 1)" ] || return 0
  found=$(cd web && PATH=$DEV_DIR/node/bin:$PATH npm run --silent check 2>&1) || complain 'web:' "$found"
}

dev_check() {
  local check
  cd "$KNDL_ROOT" || return 1
  for check in format doors layers forbidden words shell protos decisions staged page; do "check_$check"; done
  [ "$CHECK_FAILED" = 0 ] || return 1
  say 'all checks hold'
}
