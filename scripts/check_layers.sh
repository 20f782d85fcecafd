#!/usr/bin/env bash
# Pure crates stay pure: none of them may depend on a runtime, the broker or a Kubernetes client, and all of them carry
# the same rules for clippy. Only the bus may use the broker's client.
set -euo pipefail
cd "$(dirname "$0")/.."

pure=(sluice-api:crates/api sluice-protocol:crates/protocol sluice-chart:crates/chart sluice-agent-core:agent/core
  sluice-matcher-core:matcher/core sluice-status-core:status/core sluice-renderer-core:renderer/core sluice-deployer-core:deployer/core)
status=0

for entry in "${pure[@]}"; do
  crate="${entry%%:*}" folder="${entry#*:}"
  bad="$(cargo tree --quiet --locked -p "$crate" -e normal --prefix none --format '{p}' |
    awk '{print $1}' | sort -u | grep -xE 'tokio|async-nats|kube|kube-client|hyper|reqwest' || true)"
  if [ -n "$bad" ]; then
    echo "$crate is a pure crate and must not depend on: $bad" >&2
    status=1
  fi
  if ! cmp -s scripts/core-clippy.toml "$folder/clippy.toml"; then
    echo "$folder/clippy.toml differs from scripts/core-clippy.toml; copy it again" >&2
    status=1
  fi
done

# Tests that attack the bus speak to it as strangers do.
users="$(grep -lE '^async-nats' ./*/Cargo.toml ./*/core/Cargo.toml crates/*/Cargo.toml | grep -vE '^(crates/bus|\./e2e)/' || true)"
if [ -n "$users" ]; then
  echo "only crates/bus may use async-nats; remove it from: $users" >&2
  status=1
fi

# gRPC stays at the border: the contract, who serves and asks, and who sends traces. What is answered knows nothing of it.
users="$(grep -lE '^(tonic|tonic-[a-z]+|prost|prost-types|protox)[. ]' ./*/Cargo.toml ./*/core/Cargo.toml crates/*/Cargo.toml |
  grep -vE '^(\./proto|crates/inspect-rpc|crates/otlp)/' || true)"
if [ -n "$users" ]; then
  echo "only proto, crates/inspect-rpc and crates/otlp may use gRPC and protobuf; remove it from: $users" >&2
  status=1
fi
exit "$status"
