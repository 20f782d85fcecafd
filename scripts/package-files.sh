#!/usr/bin/env bash
# Puts what a package of Sluice has into a folder: programs without what only debuggers read, man pages, completions.
# Usage: scripts/package-files.sh DIR
#
# PROGRAMS: a folder with programs that are built already, instead of the release build.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
to="${1:?say into which folder}"
BUILT="${PROGRAMS:-${CARGO_TARGET_DIR:-$PWD/target}/release}"

mkdir -p "$to/man" "$to/completions"
for program in sluice sluice-agent sluice-matcher sluice-renderer sluice-deployer; do
  [ -x "$BUILT/$program" ] || {
    echo "package-files: there is no $BUILT/$program: cargo build --release --locked --workspace --bins, or set PROGRAMS" >&2
    exit 1
  }
  "${STRIP:-strip}" -o "$to/$program" "$BUILT/$program"
done
ln -sf sluice "$to/kubectl-sluice"
"$to/sluice" man "$to/man"
for shell in bash zsh fish; do "$to/sluice" completion "$shell" >"$to/completions/sluice.$shell"; done
