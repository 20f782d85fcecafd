#!/usr/bin/env bash
# Prints the path of `helm`: $HELM, or the pinned version, compiled once into the build output. Needs Go for that.
set -euo pipefail
VERSION=v4.3.2
if [ -n "${HELM:-}" ]; then
  echo "$HELM"
  exit
fi
folder="${SLUICE_BUILD:-$(cd "$(dirname "$0")/.." && pwd)/build}/helm-$VERSION"
if [ ! -x "$folder/helm" ]; then
  command -v go >/dev/null || { echo "install-helm: set HELM to a helm of version 4, or install Go" >&2; exit 1; }
  echo "install-helm: compiling helm $VERSION into $folder (once, a few minutes)" >&2
  mkdir -p "$folder"
  GOBIN="$folder" GOFLAGS=-mod=mod go install "helm.sh/helm/v4/cmd/helm@$VERSION" >&2
fi
echo "$folder/helm"
