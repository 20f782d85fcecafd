#!/usr/bin/env bash
# Plays the scenarios against real API servers.
#
# KUBEBUILDER_ASSETS names a folder with `etcd` and `kube-apiserver` when there is one. Otherwise the Go module in
# e2e/controlplane is built once into the build output; that takes a few minutes and needs Go.
#
# VERSIONS names versions of Kubernetes, "1.33 1.36" or whole ones, 1.33.13, on each of which the tests are run. Each is
# built once. Which patch a minor version has is in e2e/controlplane/versions, or go.mod.
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
  built ""
}

# What is built for a version: its patch, and what is behind it in e2e/controlplane/versions. Nothing for that of go.mod.
line_of() {
  local own line
  own="$(sed -nE 's|^\s*k8s.io/kubernetes v([0-9.]+).*|\1|p' e2e/controlplane/go.mod)"
  case "$1" in "$own" | "${own%.*}") return ;; esac
  line="$(grep -E "^${1//./\\.}(\.[0-9]+)?( |\$)" e2e/controlplane/versions || true)"
  if [ -z "$line" ] && [[ "$1" =~ ^1\.[0-9]+\.[0-9]+$ ]]; then
    line="$1"
  fi
  [ -n "$line" ] || {
    echo "e2e: VERSIONS: $1 is not in e2e/controlplane/versions: write its patch, too, $1.0, or add a line" >&2
    return 1
  }
  echo "$line"
}

# The folder of a version, which is built if it is not there: built "1.33.13 LIBRARY@VERSION…"; "" is that of go.mod.
built() {
  local stamp folder name version
  read -ra version <<<"$1"
  stamp="$({ cat e2e/controlplane/go.mod e2e/controlplane/*.go; echo -n "$1"; } | sha256sum | cut -c1-16)"
  name="${version[0]:-}"
  folder="$BUILD/controlplane-${name:+$name-}$stamp"
  if [ ! -x "$folder/kube-apiserver" ]; then
    command -v go >/dev/null || {
      echo "e2e: no API server: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver, or install Go" >&2
      return 1
    }
    echo "e2e: building etcd and kube-apiserver ${name:+of Kubernetes $name }into $folder (once, a few minutes)" >&2
    e2e/controlplane/build.sh "$folder" "${version[@]}" >&2
  fi
  echo "$folder"
}

# Of the whole workspace: of this package alone other features of its dependencies are meant, and all of them are compiled once more.
play() {
  if [ "${1:-}" = --only-rights ]; then
    cargo test --locked --workspace --test rights --test rights_running -- --ignored --test-threads=1
    return
  fi
  cargo test --locked --workspace --test charts --test contract_control_plane --test import --test kubectl --test restore --test rights --test rights_running --test rotation --test scenarios --test tenants -- \
    --ignored --test-threads=1 "$@"
}

HELM="$(scripts/install-helm.sh)"
PYTHONPATH="$(scripts/python-yaml.sh)"
export KUBEBUILDER_ASSETS HELM PYTHONPATH
if [ -z "${VERSIONS:-}" ]; then
  KUBEBUILDER_ASSETS="$(assets)"
  cargo build --locked --workspace --bins
  play "$@"
  exit
fi

[ -z "${KUBEBUILDER_ASSETS:-}" ] || {
  echo "e2e: VERSIONS says what is built, KUBEBUILDER_ASSETS that it is there: set one of them" >&2
  exit 64
}
folders=()
for version in $VERSIONS; do
  line="$(line_of "$version")"
  folders+=("$(built "$line")")
done
cargo build --locked --workspace --bins
failed=()
for version in $VERSIONS; do
  KUBEBUILDER_ASSETS="${folders[0]}"
  folders=("${folders[@]:1}")
  echo "e2e: on Kubernetes $version" >&2
  play "$@" || failed+=("$version")
done
[ "${#failed[@]}" = 0 ] || {
  echo "e2e: failed on Kubernetes ${failed[*]}" >&2
  exit 1
}
