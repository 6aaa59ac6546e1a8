#!/bin/bash
# Writes docs/adr/README.md, the list of decisions, from their titles and status.
#
#   adr_index.sh           prints it
#   adr_index.sh FILE      fails, with a diff, if FILE says something else
set -euo pipefail

folder=$(dirname -- "${BASH_SOURCE[0]}")/../../docs/adr
file=${1:-}

write() {
  local adr
  cat <<'TEXT'
# Decisions

Why it is so, one page each. Made by `deploy/dev/adr_index.sh`; a test fails when it is stale. A number
is never given twice; one that is missing was never taken.

| | decision | status |
|---|---|---|
TEXT
  for adr in "$folder"/[0-9]*.md; do
    awk -v file="${adr##*/}" '
      NR == 1 { title = substr($0, 3) }
      /^Status: / { print "| [" substr(file, 1, 4) "](" file ") | " title " | " substr($0, 9) " |"; exit }' "$adr"
  done
}

if [ -z "$file" ]; then
  write
else
  diff -u "$file" <(write) || {
    echo "stale; write it anew: deploy/dev/adr_index.sh >docs/adr/README.md" >&2
    exit 1
  }
fi
