#!/usr/bin/env bash
# Makes a Debian package from the release build, and prints its path. Usage: scripts/deb.sh [DIR [OPTION OF CARGO DEB]...], dist without
# a folder. Packing takes a minute or two; with --fast some seconds, and the package is larger.
#
# It depends on the libraries that the programs load, in the versions of the machine that compiled them: compile on the oldest release
# that it is for. PROGRAMS: a folder with programs that are built already. SOURCE_DATE_EPOCH (the time of the last commit) is the time
# of every file.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
VERSION="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
to="$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)"
shift "$(($# > 0))"

command -v dpkg-shlibdeps >/dev/null || { echo "deb: missing: dpkg-shlibdeps. Install the package dpkg-dev" >&2; exit 1; }
DEB="$(scripts/install-tool.sh cargo-deb 3.8.0)"
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
scripts/package-files.sh "$stage/release"
echo '.so man1/sluice.1' >"$stage/release/man/kubectl-sluice.1"
gzip -9n "$stage"/release/man/*.1
gzip -9n <CHANGELOG.md >"$stage/release/changelog.gz"
gzip -9n >"$stage/release/changelog.Debian.gz" <<CHANGELOG
sluice ($VERSION-1) unstable; urgency=medium

  * Version $VERSION. What is new is in changelog.gz beside this file.

 -- $(sed -n 's/^maintainer = "\(.*\)"/\1/p' cli/Cargo.toml)  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
# cargo-deb takes what its list has below target/release/ from the target folder that it is told.
CARGO_TARGET_DIR="$stage" "$DEB" --manifest-path cli/Cargo.toml --no-build --no-strip --locked --offline --output "$to" "$@"
