#!/usr/bin/env bash
# Makes a certificate authority and certificates for development in the folder $1: ca.pem, server.pem with server-key.pem,
# client.pem with client-key.pem. Further arguments are names and addresses of servers besides localhost.
#
#   scripts/dev-certificates.sh build/certificates nats-1 nats-2 nats-3
#
# The authority's key is thrown away: to make another certificate, make all of them again. In production certificates come
# from your own authority, for example cert-manager.
set -euo pipefail

say() { echo "dev-certificates: $*" >&2; }

[ $# -ge 1 ] || {
  say "name the folder: scripts/dev-certificates.sh FOLDER [SERVER…]"
  exit 2
}
command -v openssl >/dev/null || {
  say "openssl is needed; install the package openssl"
  exit 1
}
folder="$1"
shift
mkdir -p "$folder"
cd "$folder"
umask 077
# openssl tells of its progress; it is shown when something went wrong.
trap '[ $? = 0 ] || cat openssl.log >&2; rm -f openssl.log ca-key.pem ca.srl ./*.csr ./*.ext' EXIT

names="DNS:localhost,IP:127.0.0.1,IP:::1"
for name in "$@"; do
  case "$name" in
    *[!0-9.]*) names="$names,DNS:$name" ;;
    *) names="$names,IP:$name" ;;
  esac
done

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>>openssl.log; }

# Writes $1.pem and $1-key.pem, signed by the authority, for the purpose $2.
certificate() {
  key "$1-key.pem"
  openssl req -new -key "$1-key.pem" -subj "/O=Sluice development/CN=$1" -out "$1.csr" 2>>openssl.log
  {
    echo "basicConstraints=critical,CA:FALSE"
    echo "keyUsage=critical,digitalSignature"
    echo "extendedKeyUsage=$2"
    echo "subjectAltName=$3"
  } >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 30 -sha256 \
    -extfile "$1.ext" -out "$1.pem" 2>>openssl.log
}

key ca-key.pem
openssl req -x509 -new -key ca-key.pem -days 30 -sha256 -subj "/O=Sluice development/CN=authority" \
  -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign" -out ca.pem 2>>openssl.log
# Servers are clients of each other, too.
certificate server "serverAuth,clientAuth" "$names"
certificate client "clientAuth" "DNS:client"
say "made in $folder, good for 30 days"
