#!/bin/bash
# Fails when a message of proto/ could no longer be read by who speaks what main says: a field
# renumbered, renamed or of another type (`buf breaking`). On main itself its last commit is compared.
set -euo pipefail

root=$(cd "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
buf=$root/integration-tests/node_modules/.bin/buf
git=(git -c safe.directory="$root" -C "$root")

PATH=$root/.dev/node/bin:$PATH
[ -x "$buf" ] || {
  echo "$buf is missing: ./dev test installs it" >&2
  exit 1
}
cd "$root/proto"
"$buf" lint

base=$("${git[@]}" merge-base HEAD main 2>/dev/null || "${git[@]}" merge-base HEAD origin/main 2>/dev/null || true)
[ "$base" != "$("${git[@]}" rev-parse HEAD)" ] || base=$("${git[@]}" rev-parse -q --verify 'HEAD^' || true)
[ -n "$base" ] || {
  echo 'no earlier commit to compare with'
  exit 0
}
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
"${git[@]}" archive "$base" proto | tar -x -C "$before"
"$buf" breaking --against "$before/proto"
