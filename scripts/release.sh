#!/usr/bin/env bash
# Makes everything of a release into dist/release-<version>: programs, charts, install.yaml, SBOMs, checksums and, with COSIGN_KEY, their
# signature. Images are a call of their own: scripts/images.sh push.
set -euo pipefail
cd "$(dirname "$0")/.."
VERSION="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
TARGET="${CARGO_TARGET_DIR:-$PWD/target}"
PLATFORM="$(rustc -vV | sed -n 's/^host: //p')"
DIST="$PWD/dist/release-$VERSION"
PROGRAMS=(sluice sluice-agent sluice-matcher sluice-renderer sluice-deployer)
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

rm -rf "$DIST"
mkdir -p "$DIST"
HELM="$(scripts/install-helm.sh)"
AUDITABLE="$(scripts/install-tool.sh cargo-auditable 0.7.7)"
SBOM="$(scripts/install-tool.sh cargo-sbom 0.10.0)"

# Programs carry the list of the crates that they were made of.
PATH="$(dirname "$AUDITABLE"):$PATH" cargo auditable build --release --locked --workspace --bins
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/man" "$stage/completions"
for program in "${PROGRAMS[@]}"; do strip -o "$stage/$program" "$TARGET/release/$program"; done
"$stage/sluice" man "$stage/man"
for shell in bash zsh fish; do "$stage/sluice" completion "$shell" >"$stage/completions/sluice.$shell"; done
cp LICENSE README.md CHANGELOG.md "$stage"
# The same files in the same order with the same times and owner: the same archive.
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --directory "$stage" . |
  gzip --no-name >"$DIST/sluice-$VERSION-$PLATFORM.tar.gz"

cp deploy/install.yaml "$DIST/install.yaml"
"$HELM" package deploy/helm/sluice-crds --destination "$DIST" >&2
# The chart of NATS is in the package of a release, so that nobody has to fetch it. Where it cannot be fetched, the package is without it.
if "$HELM" dependency build deploy/helm/sluice >&2; then
  "$HELM" package deploy/helm/sluice --destination "$DIST" >&2
else
  echo "release: the chart of NATS cannot be fetched; the chart sluice is left out" >&2
fi
"$SBOM" --output-format spdx_json_2_3 >"$DIST/sluice-$VERSION.spdx.json"

(cd "$DIST" && sha256sum -- * >SHA256SUMS)
if [ -n "${COSIGN_KEY:-}" ]; then
  cosign sign-blob --yes --key "$COSIGN_KEY" --output-signature "$DIST/SHA256SUMS.sig" "$DIST/SHA256SUMS"
fi
echo "$DIST"
