# SPDX-License-Identifier: Apache-2.0
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
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

build_packages="gcc libc6-dev meson ninja-build pkg-config libcjson-dev libpcre2-dev zlib1g-dev libssl-dev"
