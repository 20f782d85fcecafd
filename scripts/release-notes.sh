#!/usr/bin/env bash
# Prints the notes of a release, for its tag: `scripts/release-notes.sh 0.1.0`. They are its section of CHANGELOG.md.
set -euo pipefail
cd "$(dirname "$0")/.."

version="${1:?say the version, as scripts/release-notes.sh 0.1.0}"
version="${version#v}"
notes="$(awk -v head="## [$version]" '
  index($0, "## [") == 1 { inside = index($0, head) == 1; next }
  inside' CHANGELOG.md)"
if [ -z "${notes//[[:space:]]/}" ]; then
  echo "CHANGELOG.md has no notes of $version: give them a section \"## [$version] - <date>\"" >&2
  exit 1
fi
printf '%s\n' "$notes" | sed -e '/./,$!d'
