#!/usr/bin/env bash
# Each crate keeps to its kind in the table of ARCHITECTURE.md: pure crates stay pure, one crate speaks to the broker, gRPC stays at the
# border. The table itself is compared with the workspace. Nothing is compiled.
# D-1401: decisions are pure.
# D-1402: one crate speaks to the broker.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
complain() {
  echo "$1" >&2
  status=1
}

rows="$(scripts/crate_table.py)" || status=1

# The manifests, but for one kind, that name a dependency like this.
users_besides() {
  local kind="$1" pattern="$2" row_kind _crate folder
  while read -r row_kind _crate folder; do
    [[ " $kind " == *" $row_kind "* ]] || grep -lE "$pattern" "$folder/Cargo.toml" || true
  done <<<"$rows"
}

while read -r kind crate folder; do
  case "$kind" in pure | sync) ;; *) continue ;; esac
  bad="$(cargo tree --quiet --locked -p "$crate" -e normal --prefix none --format '{p}' |
    awk '{print $1}' | sort -u | grep -xE 'tokio|async-nats|kube|kube-client|hyper|reqwest' || true)"
  [ -z "$bad" ] || complain "$crate is a $kind crate and must not depend on: $bad"
  if [ "$kind" = pure ] && ! cmp -s scripts/core-clippy.toml "$folder/clippy.toml"; then
    complain "$folder/clippy.toml differs from scripts/core-clippy.toml; copy it again"
  fi
done <<<"$rows"

# Tests that attack the bus speak to it as strangers do.
users="$(users_besides "broker attack" '^async-nats')"
[ -z "$users" ] || complain "only crates/bus may use async-nats; remove it from: $users"

# gRPC stays at the border: the contract, who serves and asks, and who sends traces. What is answered knows nothing of it.
users="$(users_besides grpc '^(tonic|tonic-[a-z]+|prost|prost-types|protox)[. ]')"
[ -z "$users" ] || complain "only crates of the kind grpc may use gRPC and protobuf; remove it from: $users"

# The tests of this kind may use the broker's client, and nothing else of it.
while read -r kind _crate folder; do
  [ "$kind" = attack ] || continue
  ! sed -n '/^\[dependencies\]/,/^\[dev-dependencies\]/p' "$folder/Cargo.toml" | grep -qE '^async-nats' ||
    complain "$folder may use async-nats in its tests only"
done <<<"$rows"

# Within the crates that have floors, nothing uses what is above it.
scripts/check_floors.py || status=1
exit "$status"
