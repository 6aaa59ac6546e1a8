#!/bin/bash
# Writes docs/env.md from what each program says of its own environment.
#
#   env_docs.sh BIN_DIR            prints it
#   env_docs.sh BIN_DIR FILE       fails, with a diff, if FILE says something else
set -euo pipefail

bin=$1
file=${2:-}

table() {
  "$bin/$1" --help | awk '
    /^  [A-Z][A-Z0-9_]+$/ { name = $1; next }
    name != "" { sub(/^ +/, ""); gsub(/\|/, "\\|"); printf "| `%s` | %s |\n", name, $0; name = "" }'
}

write() {
  local program
  cat <<'TEXT'
# Environment

Made from `--help` of each program by `deploy/dev/env_docs.sh`; a test fails when it is stale. In
brackets: the default, or that it must be given.
TEXT
  for program in api-gateway sessions secrets repo-access redactor runner-agent kndl; do
    printf '\n## %s\n| variable | what |\n|---|---|\n' "$program"
    table "$program"
  done
}

if [ -z "$file" ]; then
  write
else
  diff -u "$file" <(write) || {
    echo "stale; write it anew: deploy/dev/env_docs.sh $bin >$file" >&2
    exit 1
  }
fi
