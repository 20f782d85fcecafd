#!/usr/bin/env bash
# How long each command takes over a large fleet, and how much memory: the table of docs/performance/2026-11-25.md.
#
#   cargo run -p sluice-inspect --example fleet -- PATH/TO/kubeconfig   # prints the address, and keeps the bus until its input ends
#   scripts/measure-answers.sh PATH/TO/sluice nats://127.0.0.1:PORT PATH/TO/kubeconfig
#
# Wall time and memory are the median of five runs. The management cluster is away, so that the bus answers; only triggers are
# explained with it.
set -euo pipefail

sluice="$1" url="$2" kubeconfig="$(realpath "$3")"
export SLUICE_NATS_URL="$url" KUBECONFIG=/nowhere
where="default/cluster-007"
empty="$(mktemp -d)"
trap 'rm -rf "$empty"' EXIT
cd "$empty" # no `sluice up` is beside it

measure() {
  local runs=()
  for _ in 1 2 3 4 5; do
    # Some answers are "no", by their exit code.
    timeout 60 /usr/bin/time -f '%e %M' "$sluice" "$@" >out 2>errors || true
    runs+=("$(tail -1 errors)")
  done
  local time memory
  time="$(printf '%s\n' "${runs[@]}" | awk '{print $1}' | sort -n | sed -n 3p)"
  memory="$(printf '%s\n' "${runs[@]}" | awk '{print $2}' | sort -n | sed -n 3p)"
  awk -v c="$*" -v t="$time" -v m="$memory" -v n="$(wc -l <out)" \
    'BEGIN { printf "| `%s` | %d | %d ms | %d MiB |\n", c, n, t * 1000, m / 1024 }'
}

echo "| command | lines | time | memory |"
echo "|---|---|---|---|"
measure status
measure shards
measure problems
measure trace ConfigMap/made-0007-3 -n default --cluster "$where"
measure explain --cluster "$where" object ConfigMap/made-0007-3
measure show events --cluster "$where"
measure show events
measure show resources --cluster cluster-007 --cluster-namespace default
measure show resources --cluster cluster-007 --namespace team-7
measure show resources --namespace team-7
measure show resources
measure show usage --name content
measure show usage
export KUBECONFIG="$kubeconfig"
measure explain --cluster "$where" trigger t
measure explain --cluster "$where" trigger quiet
