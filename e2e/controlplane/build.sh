#!/usr/bin/env bash
# Builds the control plane into a folder that KUBEBUILDER_ASSETS can name: build.sh FOLDER [VERSION [LIBRARY@VERSION…] [--FLAG…]]
#
# VERSION is one of Kubernetes, 1.32.13; without it that of go.mod. For another one the module is made anew, of the
# requirements of that Kubernetes itself: its etcd is the one that it names. LIBRARY@VERSION takes another patch of one
# of its libraries; its API server is always started with the flags.
set -euo pipefail
usage="usage: build.sh FOLDER [VERSION [LIBRARY@VERSION…] [--FLAG…]]"
folder="${1:?$usage}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
cd "$(dirname "$0")"

own="$(sed -nE 's|^\s*k8s.io/kubernetes v([0-9.]+).*|\1|p' go.mod)"
version="${2:-$own}"
[[ "$version" =~ ^1\.[0-9]+\.[0-9]+$ ]] || {
  echo "build.sh: $version is no version of Kubernetes: write 1.32.13" >&2
  exit 64
}
IFS=. read -r major minor patch <<<"$version"

# The libraries of a Kubernetes have its numbers with a zero before them. It replaces them by folders of its own tree,
# and no module reads that of another. Its samples are in no program.
module_of() {
  local asked library="v0.$minor.$patch"
  asked="$(go mod download -json "k8s.io/kubernetes@v$version" | sed -nE 's|^\s*"GoMod": "(.*)",?$|\1|p')"
  sed -E -e 's|^module .*|module sluice/controlplane|' -e '/k8s\.io\/sample-/d' \
    -e "s|^(\s*)(k8s.io/[a-z-]+) => ./staging/src/.*|\1\2 => \2 $library|" "$asked"
  echo "require k8s.io/kubernetes v$version"
}

libraries=() server=()
for more in "${@:3}"; do
  case "$more" in --*) server+=("$more") ;; *) libraries+=("$more") ;; esac
done
flags=(-trimpath)
if [ "$version" != "$own" ]; then
  module="$(mktemp -d)"
  trap 'rm -rf "$module"' EXIT
  module_of >"$module/go.mod"
  cp main.go "$module"
  cd "$module"
  for library in "${libraries[@]}"; do
    go mod edit -replace "${library%@*}=$library"
  done
  # There are no sums of it in the tree: the checksum database vouches for what is fetched.
  flags+=(-mod=mod)
fi
package=k8s.io/component-base/version
CGO_ENABLED=0 go build "${flags[@]}" -o "$folder/controlplane.new" -ldflags "-s -w \
  -X $package.gitVersion=v$version -X $package.gitMajor=$major -X $package.gitMinor=$minor" .
mv "$folder/controlplane.new" "$folder/controlplane"
for name in etcd kube-apiserver kube-controller-manager; do
  ln -sf controlplane "$folder/$name"
done
if [ "${#server[@]}" -gt 0 ]; then
  rm "$folder/kube-apiserver"
  printf '#!/usr/bin/env bash\nexec -a kube-apiserver "$(dirname "$0")/controlplane" %s "$@"\n' "${server[*]}" >"$folder/kube-apiserver"
  chmod +x "$folder/kube-apiserver"
fi
