#!/usr/bin/env bash
# Makes everything of a release into dist/release-<version>: programs, a Debian package, images as OCI archives, charts, install.yaml, an
# SBOM, checksums and, with COSIGN_KEY, their signature. `scripts/images.sh push` sends the images to a registry.
#
# PROGRAMS: a folder with programs that are built already. Then nothing is compiled, and they carry a list of their crates only if whoever
# built them did so with `cargo auditable`. What this machine has no tool for is left out, and said: images without podman or buildah, the
# Debian package without dpkg-dev. DEB_OPTIONS: options of cargo deb.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
VERSION="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
PLATFORM="$(rustc -vV | sed -n 's/^host: //p')"
DIST="$PWD/dist/release-$VERSION"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

say() { echo "release: $*" >&2; }

rm -rf "$DIST"
mkdir -p "$DIST"
HELM="$(scripts/install-helm.sh)"
if [ -n "${COSIGN_KEY:-}" ] && ! command -v cosign >/dev/null; then
  say "COSIGN_KEY is set, and cosign is not there: go install github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3"
  exit 1
fi

if [ -z "${PROGRAMS:-}" ]; then
  # Programs carry the list of the crates that they were made of.
  AUDITABLE="$(scripts/install-tool.sh cargo-auditable 0.7.7)"
  PATH="$(dirname "$AUDITABLE"):$PATH" cargo auditable build --release --locked --workspace --bins
fi
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
scripts/package-files.sh "$stage"
cp LICENSE README.md CHANGELOG.md "$stage"
# The same files in the same order with the same times and owner: the same archive.
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --directory "$stage" . |
  gzip --no-name >"$DIST/sluice-$VERSION-$PLATFORM.tar.gz"

if command -v dpkg-shlibdeps >/dev/null; then
  # shellcheck disable=SC2086
  scripts/deb.sh "$DIST" ${DEB_OPTIONS:-} >&2
else
  say "dpkg-shlibdeps is not there (package dpkg-dev); the Debian package is left out"
fi
if command -v podman >/dev/null || command -v buildah >/dev/null; then
  scripts/images.sh archives "$DIST" >&2
else
  say "neither podman nor buildah is there; the images are left out"
fi

cp deploy/install.yaml "$DIST/install.yaml"
"$HELM" package deploy/helm/sluice-crds --destination "$DIST" >&2
# The chart of NATS is in the package of a release, so that nobody has to fetch it. Where it cannot be fetched, the package is left out.
if "$HELM" dependency build deploy/helm/sluice >&2; then
  "$HELM" package deploy/helm/sluice --destination "$DIST" >&2
else
  say "the chart of NATS cannot be fetched; the chart sluice is left out"
fi
scripts/sbom.py >"$DIST/sluice-$VERSION.spdx.json"

(cd "$DIST" && sha256sum -- * >SHA256SUMS)
if [ -n "${COSIGN_KEY:-}" ]; then
  # With the key alone: no public log is told, and none is asked.
  cosign sign-blob --yes --key "$COSIGN_KEY" --tlog-upload=false --use-signing-config=false \
    --bundle "$DIST/SHA256SUMS.sigstore.json" "$DIST/SHA256SUMS" >&2
  chmod 644 "$DIST/SHA256SUMS.sigstore.json"
fi
echo "$DIST"
