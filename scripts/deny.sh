#!/usr/bin/env bash
# Licences, bans and sources of everything that is compiled; advisories as well, where their database can be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."

DENY="$(scripts/install-tool.sh cargo-deny 0.20.2)"

say() { echo "deny: $*" >&2; }

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
