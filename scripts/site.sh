#!/usr/bin/env bash
# Builds the site of docs/ with search, into `target/site`.
#
# SLUICE_REPOSITORY, as https://host/owner/sluice/blob/main, is where links to code lead; without it they lead into this checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

MDBOOK="$(scripts/install-tool.sh mdbook 0.5.4 --no-default-features --features search)"
SITE="${CARGO_TARGET_DIR:-$PWD/target}/site"

"$MDBOOK" build --dest-dir "$SITE" .
echo "site: open $SITE/index.html" >&2
