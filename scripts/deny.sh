#!/usr/bin/env bash
# Licences, bans and sources of everything that is compiled; advisories as well, where their database can be fetched.
#
# A pinned cargo-deny is compiled into the build output when it is not there; nothing outside of it is touched.
set -euo pipefail
cd "$(dirname "$0")/.."

PINNED=0.20.2
BUILD="${SLUICE_BUILD:-$PWD/build}"
ROOT="$BUILD/cargo-deny-$PINNED"
DENY="$ROOT/bin/cargo-deny"

say() { echo "deny: $*" >&2; }

if ! "$DENY" --version >/dev/null 2>&1; then
  say "installing cargo-deny $PINNED into $ROOT, which takes some minutes once"
  # With a target directory of its own: the workspace's would keep its crates for ever.
  target="$(mktemp -d)"
  trap 'rm -rf "$target"' EXIT
  CARGO_TARGET_DIR="$target" cargo install --quiet --locked cargo-deny --version "$PINNED" --root "$ROOT" >&2
fi

# Two versions of one crate are a warning in deny.toml, for who asks; here they would bury what fails.
deny() { "$DENY" --log-level error --locked "$@"; }

deny check licenses bans sources

export GIT_TERMINAL_PROMPT=0
if why="$(timeout 60 "$DENY" --log-level error --locked fetch db 2>&1)"; then
  deny check advisories
else
  why="$(grep -E '^fatal' <<<"$why" || head -n 1 <<<"${why:-no answer within 60 s}")"
  say "advisories are not checked, their database cannot be fetched: $why"
fi
