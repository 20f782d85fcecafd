#!/usr/bin/env bash
# Makes what docker-compose.cluster.yml needs in the folder $1 (default: build/cluster): certificates of the servers and
# of those that connect, the key of each user, and the accounts that the servers include. What is there stays, unless a
# certificate is no longer good tomorrow.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${1:-build/cluster}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"

command -v openssl >/dev/null || {
  echo "cluster-secrets: openssl is needed; install the package openssl" >&2
  exit 1
}
if ! openssl x509 -in "$folder/tls/ca.pem" -noout -checkend 86400 >/dev/null 2>&1; then
  scripts/dev-certificates.sh "$folder/tls" nats-1 nats-2 nats-3
  # Who connects never sees the key of a server.
  mkdir -p "$folder/client"
  cp "$folder/tls/ca.pem" "$folder/client/"
  mv "$folder/tls/client.pem" "$folder/tls/client-key.pem" "$folder/client/"
fi
# SLUICE_PROGRAM names a `sluice` that is built already.
sluice=("${SLUICE_PROGRAM:-}")
[ -n "${sluice[0]}" ] || command -v cargo >/dev/null || {
  echo "cluster-secrets: neither cargo nor SLUICE_PROGRAM, which names a \`sluice\` that is built already" >&2
  exit 1
}
[ -n "${sluice[0]}" ] || sluice=(cargo run --quiet --locked --bin sluice --)
"${sluice[@]}" nats users --nkeys "$folder/nkeys" >"$folder/accounts.conf.new"
mv "$folder/accounts.conf.new" "$folder/accounts.conf"
echo "cluster-secrets: made in $folder" >&2
