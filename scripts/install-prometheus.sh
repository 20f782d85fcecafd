#!/usr/bin/env bash
# Prints the folder in which `prometheus` and `promtool` are. Those on PATH are taken; otherwise Debian's package is unpacked
# into the build output, and nothing outside of it is touched.
set -euo pipefail

BUILD="${SLUICE_BUILD:-$(cd "$(dirname "$0")/.." && pwd)/build}"
FOLDER="$BUILD/prometheus"

say() { echo "install-prometheus: $*" >&2; }

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  dirname "$(command -v promtool)"
  exit 0
fi

if [ ! -x "$FOLDER/usr/bin/promtool" ]; then
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    say "put prometheus and promtool on PATH: there is no Debian package manager to take them from"
    exit 1
  fi
  say "unpacking Debian's prometheus into $FOLDER"
  rm -rf "$FOLDER" "$FOLDER.new"
  mkdir -p "$FOLDER.new"
  fetch() { (cd "$FOLDER.new" && apt-get -q download prometheus >&2); }
  # A machine that has never asked for a package knows none.
  fetch || { apt-get -q update >&2 && fetch; } || {
    say "the package cannot be fetched; put prometheus and promtool on PATH"
    exit 1
  }
  dpkg-deb -x "$FOLDER.new"/prometheus_*.deb "$FOLDER.new"
  mv "$FOLDER.new" "$FOLDER"
fi
echo "$FOLDER/usr/bin"
