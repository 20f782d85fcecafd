#!/usr/bin/env bash
# `docker compose` for a machine without a Docker daemon: scripts/compose-with-podman.sh up -d --scale matcher=2
#
# Needs podman with buildah, netavark and aardvark-dns (the names of services are DNS records). podman-compose comes as
# a Python package into the build output; images and containers live there as well, apart from those of other projects.
set -euo pipefail
cd "$(dirname "$0")/.."
PINNED=1.6.0
HOME_DIR="${SLUICE_BUILD:-$PWD/build}/podman"

command -v podman >/dev/null || {
  echo "compose-with-podman: podman is missing; install podman, buildah, netavark and aardvark-dns" >&2
  exit 1
}
mkdir -p "$HOME_DIR"
if [ ! -x "$HOME_DIR/venv/bin/podman-compose" ]; then
  python3 -m venv "$HOME_DIR/venv"
  "$HOME_DIR/venv/bin/python" -m pip install --quiet --disable-pip-version-check "podman-compose==$PINNED"
fi
cat >"$HOME_DIR/storage.conf" <<CONF
[storage]
driver = "${SLUICE_PODMAN_DRIVER:-overlay}"
graphroot = "$HOME_DIR/graph"
runroot = "$HOME_DIR/run"
CONF
# A machine that is itself a container cannot raise limits and has no systemd to ask for control groups.
cat >"$HOME_DIR/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
[network]
network_backend = "netavark"
CONF
export CONTAINERS_CONF="$HOME_DIR/containers.conf" CONTAINERS_STORAGE_CONF="$HOME_DIR/storage.conf"
exec "$HOME_DIR/venv/bin/podman-compose" "$@"
