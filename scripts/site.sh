#!/usr/bin/env bash
# Builds the site of docs/ with search, into `target/site`.
#
# A pinned mdBook is compiled into the build output when it is not there; nothing outside of it is touched. SLUICE_REPOSITORY, as
# https://host/owner/sluice/blob/main, is where links to code lead; without it they lead into this checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

PINNED=0.5.4
BUILD="${SLUICE_BUILD:-$PWD/build}"
ROOT="$BUILD/mdbook-$PINNED"
MDBOOK="$ROOT/bin/mdbook"
SITE="${CARGO_TARGET_DIR:-$PWD/target}/site"

say() { echo "site: $*" >&2; }

if ! "$MDBOOK" --version >/dev/null 2>&1; then
  say "installing mdbook $PINNED into $ROOT, which takes some minutes once"
  # With a target directory of its own: the workspace's would keep its crates for ever.
  target="$(mktemp -d)"
  trap 'rm -rf "$target"' EXIT
  CARGO_TARGET_DIR="$target" cargo install --quiet --locked mdbook --version "$PINNED" --no-default-features --features search \
    --root "$ROOT" >&2
fi

"$MDBOOK" build --dest-dir "$SITE" .
say "open $SITE/index.html"
