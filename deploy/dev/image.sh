# shellcheck shell=bash
# The base image of Sandboxes: a Debian rootfs, built once for each (suite, packages) and kept in
# the cache; and the demo's layer above it, which knows the stand-in for Anthropic.

IMAGE_SUITE=bookworm
IMAGE_PACKAGES=bash,ca-certificates,curl,git,less,nodejs,procps,python3,tmux

image_key() { printf '%s %s' "$IMAGE_SUITE" "$IMAGE_PACKAGES" | sha256sum | cut -c1-16; }

# The Debian mirror that this machine's apt uses, as lines of a sources.list.
image_sources() {
  # shellcheck disable=SC2016 # apt's own placeholders
  apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)' \
    'Created-By: Packages' |
    awk -F'|' -v suite="$IMAGE_SUITE" '
      $1 == "Debian" && $4 == "main" && index($3, suite) == 1 && !seen[$2 $3]++ {
        print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " $2, $3, $4 }'
}

# What this machine's apt needs to reach that mirror: proxies, clocks.
image_apt_options() {
  apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries)' || true
}

image_build() {
  local into=$1 work=$1.new sources
  sources=$(image_sources)
  [ -n "$sources" ] || fail "apt knows no Debian $IMAGE_SUITE mirror; run apt-get update"
  rm -rf --one-file-system "$work"
  mkdir -p "$work"
  image_apt_options >"$work/apt.conf"
  printf '%s\n' "$sources" >"$work/sources.list"
  step "building the base image (Debian $IMAGE_SUITE; 2 to 5 minutes, once)"
  # shellcheck disable=SC2016 # the hooks' own "$1"
  env -i PATH="$CLEAN_PATH" HOME=/root LANG=C.UTF-8 \
    mmdebstrap --mode=root --variant=minbase --include="$IMAGE_PACKAGES" \
    --aptopt="$work/apt.conf" \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/resolv.conf' \
    --customize-hook='printf "127.0.0.1 localhost\n" >"$1"/etc/hosts; : >"$1"/etc/resolv.conf' \
    "$IMAGE_SUITE" "$work/rootfs" "$work/sources.list" </dev/null
  chmod 755 "$work/rootfs"
  rm -rf --one-file-system "$into"
  mv "$work" "$into"
}

# The path of the unpacked image, built if it is not there.
image_base() {
  local dir
  dir=$DEV_CACHE/image/$(image_key)
  mkdir -p "$DEV_CACHE/image"
  if [ ! -d "$dir/rootfs/usr" ]; then
    exec 8>"$DEV_CACHE/image/lock"
    flock 8
    [ -d "$dir/rootfs/usr" ] || image_build "$dir" >&2
    exec 8>&-
  fi
  printf '%s\n' "$dir/rootfs"
}

# Lower directories for RUNNER_DEFAULT_IMAGE, topmost first. With a real setup token there is no
# layer of the demo: Sandboxes then reach the real Anthropic API.
image_lowers() {
  local base layer=$DEV_DIR/image/demo
  base=$(image_base)
  if [ "$1" = real ]; then
    printf '%s\n' "$base"
    return
  fi
  mkdir -p "$layer/etc/ssl/certs" "$layer/usr/local/share/ca-certificates"
  cat "$base/etc/ssl/certs/ca-certificates.crt" "$DEV_DIR/tls/ca.pem" \
    >"$layer/etc/ssl/certs/ca-certificates.crt"
  cp "$DEV_DIR/tls/ca.pem" "$layer/usr/local/share/ca-certificates/kndl-demo.crt"
  printf '127.0.0.1 localhost\n%s api.anthropic.com\n' "$PEER_ADDRESS" >"$layer/etc/hosts"
  chmod -R u=rwX,go=rX "$layer"
  printf '%s\n' "$layer:$base"
}
