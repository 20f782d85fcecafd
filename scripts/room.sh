#!/usr/bin/env bash
# Makes room for a build where a machine keeps its caches: `scripts/room.sh DIRECTORY [GIGABYTES]`.
# A cache of compiled code only grows. On a full disk the tests fail with errors that have nothing to do with the code, so what can be
# made anew goes first.
set -euo pipefail
directory="$1"
wanted=$(( ${2:-25} * 1024 * 1024 ))
[ -d "$directory" ] || exit 0
free() { df --output=avail -k "$directory" | tail -1; }
[ "$(free)" -ge "$wanted" ] && exit 0
echo "only $(( $(free) / 1024 / 1024 )) GB are free: emptying $directory"
find "$directory" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
if [ "$(free)" -lt "$wanted" ]; then
  echo "$(( $(free) / 1024 / 1024 )) GB are free after that; $(( wanted / 1024 / 1024 )) are needed. Delete something else on this disk, or set CARGO_TARGET_DIR to another." >&2
fi
