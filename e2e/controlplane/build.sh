#!/usr/bin/env bash
# Builds the control plane into a folder that KUBEBUILDER_ASSETS can name: build.sh FOLDER
set -euo pipefail
folder="${1:?usage: build.sh FOLDER}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
cd "$(dirname "$0")"

version="$(sed -nE 's|^\s*k8s.io/kubernetes (v[0-9.]+).*|\1|p' go.mod)"
IFS=. read -r major minor _ <<<"${version#v}"
package=k8s.io/component-base/version
CGO_ENABLED=0 go build -trimpath -o "$folder/controlplane.new" -ldflags "-s -w \
  -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor" .
mv "$folder/controlplane.new" "$folder/controlplane"
for name in etcd kube-apiserver kube-controller-manager; do
  ln -sf controlplane "$folder/$name"
done
