#!/usr/bin/env bash
# Container images from the release build: one for each stage, and one with `sluice`. Usage:
#
#   scripts/images.sh roots [DIR]      only their file systems, into DIR (target/images): what runs, without a container engine
#   scripts/images.sh build            images `$REGISTRY/sluice-<stage>:$TAG`, with podman, docker or buildah
#   scripts/images.sh push             and pushes them
#   scripts/images.sh archives DIR     and writes each as an OCI archive into DIR (podman or buildah)
#   scripts/images.sh check            and runs each as a pod would: no writable file system, no rights, and not as root (podman)
#
# REGISTRY (localhost), TAG (the version), ENGINE (what is installed). PROGRAMS: a folder with programs that are built already, instead of
# the release build. PLATFORM_TARGET names another target of Rust, for example aarch64-unknown-linux-gnu: then its linker, its `strip`
# (STRIP) and its libraries must be there (LIBRARIES: folders to look in). SOURCE_DATE_EPOCH (the time of the last commit) is the time of
# every file: the same source and compiler give the same images.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

NAMES=(agent matcher renderer deployer cli)
VERSION="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
REGISTRY="${REGISTRY:-localhost}"
TAG="${TAG:-$VERSION}"
TARGET="${CARGO_TARGET_DIR:-$PWD/target}"
BUILT="${PROGRAMS:-$TARGET/${PLATFORM_TARGET:+$PLATFORM_TARGET/}release}"
LIBRARIES="${LIBRARIES:-}"
REVISION="$(git rev-parse HEAD 2>/dev/null || echo unknown)"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

say() { echo "images: $*" >&2; }
program_of() { [ "$1" = cli ] && echo sluice || echo "sluice-$1"; }

# How many bytes an image may have. `sluice` has all stages in it, and simulated clusters: that is its code, and no ballast.
largest() { [ "$1" = cli ] && echo $((80 * 1024 * 1024)) || echo $((50 * 1024 * 1024)); }

# What containers call the processor of PLATFORM_TARGET, or of this machine.
platform() {
  local processor="${PLATFORM_TARGET:-$(uname -m)}"
  case "${processor%%-*}" in
    x86_64) echo linux/amd64 ;;
    aarch64 | arm64) echo linux/arm64 ;;
    *) say "containers have no name for the processor of $processor that this script knows"; return 1 ;;
  esac
}

# The libraries that a program loads, and the loader: where each is, and where it has to be.
libraries() {
  if [ -n "$LIBRARIES" ]; then
    # Another processor's program cannot be asked: its own list, looked up in these folders. It names the place of its loader, and the
    # loader of every processor looks into /lib.
    local name library
    { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\/lib\/\1/p'; readelf -l "$1" | sed -n 's/.*interpreter: \(.*\)\]/\1/p'; } |
      while read -r name; do library="$(found "$(basename "$name")")"; echo "$library $name"; done
  else
    ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1 \1/p; s/^\t\(\/[^ ]*\) .*/\1 \1/p'
  fi
}

# Where a library is in the folders of LIBRARIES.
found() {
  local folder
  for folder in ${LIBRARIES//:/ }; do
    [ ! -e "$folder/$1" ] || { echo "$folder/$1"; return; }
  done
  say "$1 is in none of LIBRARIES=$LIBRARIES"
  return 1
}

authorities() {
  local file
  for file in "${CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}" /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
    [ ! -f "$file" ] || { echo "$file"; return; }
  done
  say "no file with authorities: set CA_BUNDLE"
  return 1
}

# The file system of one image.
root() {
  local name="$1" root="$2" program library place
  program="$BUILT/$(program_of "$name")"
  [ -x "$program" ] || { say "there is no $program: cargo build --release --locked --workspace --bins, or set PROGRAMS"; return 1; }
  rm -rf "$root"
  mkdir -p "$root"/{etc/ssl/certs,usr/local/bin,tmp,home/sluice,var/cache/sluice}
  # Without what only debuggers read.
  "${STRIP:-strip}" -o "$root/usr/local/bin/$(program_of "$name")" "$program"
  [ "$name" != cli ] || ln -s sluice "$root/usr/local/bin/kubectl-sluice"
  libraries "$program" | while read -r library place; do
    mkdir -p "$(dirname "$root$place")"
    cp -L "$library" "$root$place"
  done
  cp -L "$(authorities)" "$root/etc/ssl/certs/ca-certificates.crt"
  echo 'sluice:x:65532:65532:Sluice:/home/sluice:/sbin/nologin' >"$root/etc/passwd"
  echo 'sluice:x:65532:' >"$root/etc/group"
  # Names of hosts are asked of files, then of the name server.
  echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
  chmod 1777 "$root/tmp"
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

roots() {
  local to="$1" name
  mkdir -p "$to"
  for name in "${NAMES[@]}"; do
    root "$name" "$to/$name"
    say "$name: $(du -sm "$to/$name" | cut -f1) MiB"
  done
}

engine() {
  local found
  for found in ${ENGINE:-podman docker buildah}; do
    ! command -v "$found" >/dev/null || { echo "$found"; return; }
  done
  say "no container engine: install podman, docker or buildah, or set ENGINE"
  return 1
}

# One program and the few libraries that it loads: no shell, no package manager, nobody but 65532.
containerfile() {
  cat <<CONTAINERFILE
FROM scratch
COPY $1/ /
USER 65532:65532
ENV PATH=/usr/local/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
EXPOSE 9090 8090
ENTRYPOINT ["/usr/local/bin/$(program_of "$1")"]
CONTAINERFILE
}

build() {
  local engine name place image stamp=() platform
  engine="$(engine)"
  platform="$(platform)"
  place="$TARGET/images"
  roots "$place"
  # podman and buildah take the time as a flag, docker from the environment. Nothing is kept of the steps between.
  [ "$(basename "$engine")" = docker ] || stamp=(--timestamp "$SOURCE_DATE_EPOCH" --layers=false)
  for name in "${NAMES[@]}"; do
    image="$REGISTRY/sluice-$name:$TAG"
    containerfile "$name" >"$place/$name.Containerfile"
    "$engine" build "${stamp[@]}" --platform "$platform" -f "$place/$name.Containerfile" -t "$image" \
      --label "org.opencontainers.image.title=sluice-$name" \
      --label "org.opencontainers.image.description=Event-driven add-on distribution for fleets of Kubernetes clusters" \
      --label "org.opencontainers.image.version=$VERSION" \
      --label "org.opencontainers.image.revision=$REVISION" \
      --label "org.opencontainers.image.licenses=Apache-2.0" \
      --label "org.opencontainers.image.created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" \
      "$place" >&2
    echo "$image"
  done
}

# Each image as one file, which `podman load`, `docker load` and `skopeo copy oci-archive:` take. The same image gives the same file.
archives() {
  local engine to="$1" image name layout
  engine="$(engine)"
  [ "$(basename "$engine")" != docker ] || { say "docker writes no OCI layout by itself: install podman or buildah"; return 1; }
  mkdir -p "$to"
  build | while read -r image; do
    name="$(basename "${image%:*}")"
    layout="$TARGET/images/$name.oci"
    rm -rf "$layout"
    "$engine" push --quiet "$image" "oci:$layout:$image" >&2
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
      --directory "$layout" --file "$to/$name-$VERSION-$(platform | tr / -).oci.tar" .
    rm -rf "$layout"
    echo "$to/$name-$VERSION-$(platform | tr / -).oci.tar"
  done
}

# What an image must be, told from outside.
check() {
  local engine image name layers
  engine="$(engine)"
  [ "$(basename "$engine")" = podman ] || { say "only podman is known to run images here: set ENGINE"; return 1; }
  local run=("$engine" run --rm --network none --read-only --cap-drop all --security-opt no-new-privileges)
  build | while read -r image; do
    name="$(basename "${image%:*}")"
    "${run[@]}" "$image" --version
    "${run[@]}" "$image" --help >/dev/null
    [ "$("$engine" image inspect --format '{{.Config.User}}' "$image")" = 65532:65532 ] || { say "$image runs as root"; return 1; }
    ! "${run[@]}" --entrypoint /bin/sh "$image" -c true 2>/dev/null || { say "$image has a shell"; return 1; }
    layers="$("$engine" image inspect --format '{{.Size}}' "$image")"
    [ "$layers" -le "$(largest "${name#sluice-}")" ] || { say "$image has $layers bytes, more than $(largest "${name#sluice-}")"; return 1; }
    say "$name: $((layers / 1024 / 1024)) MiB, $("$engine" image inspect --format '{{.Digest}}' "$image")"
  done
}

case "${1:-build}" in
  roots) roots "${2:-$TARGET/images}" ;;
  build) build ;;
  push) build | while read -r image; do "$(engine)" push "$image"; done ;;
  archives) archives "${2:?say into which folder}" ;;
  check) check ;;
  *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
