#!/usr/bin/env bash
# `docker compose` for a machine without a Docker daemon: scripts/compose-with-podman.sh up -d --scale matcher=2
#
# Needs podman with netavark, aardvark-dns (the names of services are DNS records) and iptables. podman-compose comes as
# a Python package into the build output; images and containers live there as well, apart from those of other projects.
# To see them with plain podman:
#
#   eval "$(scripts/compose-with-podman.sh env)"
#
# podman-compose heeds only one --scale of a call, so scale one service after the other:
#
#   scripts/compose-with-podman.sh up -d --no-recreate --scale matcher=3 matcher
#
# SLUICE_PODMAN_DRIVER names another storage driver than overlay, for example vfs.
set -euo pipefail
cd "$(dirname "$0")/.."
PINNED=1.6.0
HOME_DIR="${SLUICE_BUILD:-$PWD/build}/podman"
# iptables and runc are here, and not everybody has it in the path.
export PATH="$PATH:/usr/sbin:/sbin"

say() { echo "compose-with-podman: $*" >&2; }

# Says that the program $1 is missing, unless it is on PATH or in a further folder $2…
status=0
need() {
  local program="$1" folder
  shift
  command -v "$program" >/dev/null && return
  for folder in "$@"; do
    [ ! -x "$folder/$program" ] || return 0
  done
  say "missing: $program. Install the package $program"
  status=1
}
HELPERS=(/usr/local/libexec/podman /usr/local/lib/podman /usr/libexec/podman /usr/lib/podman)
need podman
need netavark "${HELPERS[@]}"
need aardvark-dns "${HELPERS[@]}"
# Without it podman says `netavark: No such file or directory` when a container starts.
need iptables
need python3
# Where control groups are not all of version 2, crun gives up, and podman prefers crun.
runtime=""
if [ ! -f /sys/fs/cgroup/cgroup.controllers ]; then
  need runc
  runtime='runtime = "runc"'
fi
[ "$status" = 0 ] || exit "$status"

mkdir -p "$HOME_DIR"
HOME_DIR="$(cd "$HOME_DIR" && pwd)"
# overlay does not work on top of overlay, which is what a container has for a disk.
driver=overlay
[ "$(stat -f -c %T "$HOME_DIR")" != overlayfs ] || driver=vfs
driver="${SLUICE_PODMAN_DRIVER:-$driver}"
cat >"$HOME_DIR/storage.conf" <<CONF
[storage]
driver = "$driver"
graphroot = "$HOME_DIR/graph"
runroot = "$HOME_DIR/run"
CONF
# A machine that is itself a container cannot raise limits, and has no systemd to ask for control groups. podman lowers
# the number of processes to the highest process number.
processes="$(ulimit -Hu)"
highest="$(cat /proc/sys/kernel/pid_max)"
if [ "$processes" = unlimited ] || [ "$processes" -gt "$highest" ]; then
  processes="$highest"
fi
limits="\"nofile=$(ulimit -Hn):$(ulimit -Hn)\", \"nproc=$processes:$processes\""
# Labels of SELinux would keep containers from reading the configuration in this folder.
cat >"$HOME_DIR/containers.conf" <<CONF
[containers]
default_ulimits = [$limits]
label = false
[engine]
cgroup_manager = "cgroupfs"
$runtime
[network]
network_backend = "netavark"
CONF
export CONTAINERS_CONF="$HOME_DIR/containers.conf" CONTAINERS_STORAGE_CONF="$HOME_DIR/storage.conf"
if [ "$*" = env ]; then
  printf 'export %s=%q\n' CONTAINERS_CONF "$CONTAINERS_CONF" CONTAINERS_STORAGE_CONF "$CONTAINERS_STORAGE_CONF"
  exit
fi

if [ ! -x "$HOME_DIR/venv/bin/podman-compose" ]; then
  python3 -m venv "$HOME_DIR/venv" >&2 || {
    say "python3 cannot make a virtual environment; install the package python3-venv"
    exit 1
  }
  "$HOME_DIR/venv/bin/python" -m pip install --quiet --disable-pip-version-check "podman-compose==$PINNED"
fi

# `down` without names of services forgets replicas beyond the first, unless it is told to look for them.
command="" services="" previous=""
for argument in "$@"; do
  case "$argument" in
    -*) ;;
    *)
      if [ -n "$command" ]; then
        services="$services $argument"
      else
        case "$previous" in
          -f | --file | -p | --project-name | --profile | --env-file | --parallel) ;;
          *) command="$argument" ;;
        esac
      fi
      ;;
  esac
  previous="$argument"
done
if [ "$command" = down ] && [ -z "$services" ]; then
  set -- "$@" --remove-orphans
fi
exec "$HOME_DIR/venv/bin/podman-compose" "$@"
