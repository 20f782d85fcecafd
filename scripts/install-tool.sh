#!/usr/bin/env bash
# Prints the path of a pinned program of crates, and compiles it into the build output first when it is not there; nothing outside of it
# is touched. Usage: scripts/install-tool.sh CRATE VERSION [OPTION OF CARGO INSTALL]...
set -euo pipefail
crate="$1" version="$2"
shift 2
root="${SLUICE_BUILD:-$(cd "$(dirname "$0")/.." && pwd)/build}/$crate-$version"
program="$root/bin/$crate"

if ! "$program" --version >/dev/null 2>&1; then
  echo "install-tool: installing $crate $version into $root, which takes some minutes once" >&2
  # With a target directory of its own: the workspace's would keep its crates for ever.
  target="$(mktemp -d)"
  trap 'rm -rf "$target"' EXIT
  CARGO_TARGET_DIR="$target" cargo install --quiet --locked "$crate" --version "$version" --root "$root" "$@" >&2
fi
echo "$program"
