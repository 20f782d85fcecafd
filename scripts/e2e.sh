#!/usr/bin/env bash
# Plays the scenarios against real API servers.
#
# KUBEBUILDER_ASSETS names a folder with `etcd` and `kube-apiserver` when there is one. Otherwise the Go module in
# e2e/controlplane is built once into the build output; that takes a few minutes and needs Go.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD="${SLUICE_BUILD:-$PWD/build}"

assets() {
  if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    for program in etcd kube-apiserver; do
      [ -x "$KUBEBUILDER_ASSETS/$program" ] || {
        echo "e2e: KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no $program" >&2
        return 1
      }
    done
    echo "$KUBEBUILDER_ASSETS"
    return
  fi
  local stamp folder
  stamp="$(cat e2e/controlplane/go.mod e2e/controlplane/*.go | sha256sum | cut -c1-16)"
  folder="$BUILD/controlplane-$stamp"
  if [ ! -x "$folder/kube-apiserver" ]; then
    command -v go >/dev/null || {
      echo "e2e: no API server: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver, or install Go" >&2
      return 1
    }
    echo "e2e: building etcd and kube-apiserver into $folder (once, a few minutes)" >&2
    e2e/controlplane/build.sh "$folder" >&2
  fi
  echo "$folder"
}

KUBEBUILDER_ASSETS="$(assets)"
HELM="$(scripts/install-helm.sh)"
PYTHONPATH="$(scripts/python-yaml.sh)"
export KUBEBUILDER_ASSETS HELM PYTHONPATH
cargo build --locked --workspace --bins
if [ "${1:-}" = --only-rights ]; then
  exec cargo test --locked -p sluice-e2e --test rights -- --ignored
fi
exec cargo test --locked -p sluice-e2e --test charts --test contract_control_plane --test import --test kubectl --test restore --test rights --test rotation --test scenarios -- \
  --ignored --test-threads=1 "$@"
