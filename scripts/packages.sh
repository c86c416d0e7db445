# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
# Sourced by the other scripts: installs Debian packages that are missing, and only those.
# usage: need_packages NAME...

need_packages() {
  missing=""
  for package in "$@"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  echo "== installing:$missing"
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "these packages are missing, and there is no sudo to install them" >&2; exit 1; }
    as_root=sudo
  fi
  # What apt says is of interest only if it fails. sudo drops the environment, so it is set behind it.
  log=$(mktemp)
  # shellcheck disable=SC2086
  if $as_root apt-get update >"$log" 2>&1 &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >>"$log" 2>&1; then
    rm -f "$log"
  else
    cat "$log" >&2
    rm -f "$log"
    exit 1
  fi
}

build_packages="gcc libc6-dev meson ninja-build pkg-config libcjson-dev libpcre2-dev zlib1g-dev libssl-dev"
