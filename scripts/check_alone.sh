#!/usr/bin/env bash
# Each crate compiles by itself: none lives on a feature of a dependency that only its neighbours turn on.
#
# Resolver 3 still unites the features of all packages that one command builds, so each is checked by a command of its own.
# All of them share the target directory: what two crates resolve alike is compiled once.
# Fuzz targets are workspaces of their own, which nothing else compiles. The versions of their dependencies are the product's.
set -euo pipefail
cd "$(dirname "$0")/.."

crates="$(cargo metadata --locked --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(*sorted(p["name"] for p in json.load(sys.stdin)["packages"]), sep="\n")')"

failed=()
for crate in $crates; do
  cargo check --quiet --locked -p "$crate" || failed+=("$crate")
done
for fuzz in crates/*/fuzz; do
  cp Cargo.lock "$fuzz/Cargo.lock"
  CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/fuzz" cargo check --quiet --manifest-path "$fuzz/Cargo.toml" || failed+=("$fuzz")
done
if [ "${#failed[@]}" -gt 0 ]; then
  echo "alone: these do not compile by themselves; name the features they use in their Cargo.toml: ${failed[*]}" >&2
  exit 1
fi
echo "alone: all $(wc -w <<<"$crates") crates compile by themselves, and all fuzz targets"
