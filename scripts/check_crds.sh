#!/usr/bin/env bash
# deploy/crds must be what the code makes. `make crds` writes it anew.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh="$(mktemp -d)"
trap 'rm -rf "$fresh"' EXIT
cargo run --quiet --locked -p sluice-api --example write_crds -- "$fresh"
if ! diff -ru deploy/crds "$fresh"; then
  echo "deploy/crds is out of date: run 'make crds' and commit the result" >&2
  exit 1
fi
echo "crds: deploy/crds is what the code makes"
