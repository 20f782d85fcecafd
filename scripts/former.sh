#!/usr/bin/env bash
# Prints a folder with the programs of the last release, compiled once into the build output: of the newest tag `v*` that this commit
# comes after, or of SLUICE_FORMER_REF. `SLUICE_FORMER` names a folder that is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${SLUICE_FORMER:-}" ]; then
  echo "$SLUICE_FORMER"
  exit
fi
ref="${SLUICE_FORMER_REF:-$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null || true)}"
[ -n "$ref" ] || { echo "former: there is no tag v* before this commit; name a commit with SLUICE_FORMER_REF" >&2; exit 1; }
commit="$(git rev-parse --short=12 "$ref^{commit}")"
folder="${SLUICE_BUILD:-$PWD/build}/former-$commit"
if [ ! -x "$folder/sluice" ]; then
  echo "former: compiling $ref ($commit) into $folder, which takes some minutes once" >&2
  tree="$(mktemp -d)"
  trap 'git worktree remove --force "$tree/tree" 2>/dev/null; rm -rf "$tree"' EXIT
  git worktree add --detach "$tree/tree" "$commit" >&2
  (cd "$tree/tree" && CARGO_TARGET_DIR="$tree/target" cargo build --release --locked --bins -p sluice-agent -p sluice-matcher \
    -p sluice-renderer -p sluice-deployer -p sluice-cli >&2)
  mkdir -p "$folder"
  for program in sluice sluice-agent sluice-matcher sluice-renderer sluice-deployer; do
    cp "$tree/target/release/$program" "$folder/$program"
  done
fi
echo "$folder"
