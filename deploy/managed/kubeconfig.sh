#!/usr/bin/env bash
# Prints the kubeconfig of the account of these files in the cluster of a context: deploy/managed/kubeconfig.sh CONTEXT
set -euo pipefail
context="${1:?the context of the managed cluster in your kubeconfig}"
ask() { kubectl --context "$context" "$@"; }
server="$(kubectl config view --raw --minify --context "$context" -o 'jsonpath={.clusters[0].cluster.server}')"
authority="$(kubectl config view --raw --minify --flatten --context "$context" -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}')"
token="$(ask -n projectsveltos get secret sluice-token -o 'jsonpath={.data.token}' | base64 -d)"
[ -n "$token" ] || { echo "kubeconfig.sh: the Secret projectsveltos/sluice-token of $context has no token yet; apply one of the files first" >&2; exit 1; }
cat <<CONFIG
apiVersion: v1
kind: Config
current-context: sluice
contexts: [{name: sluice, context: {cluster: sluice, user: sluice}}]
clusters: [{name: sluice, cluster: {server: "$server", certificate-authority-data: "$authority"}}]
users: [{name: sluice, user: {token: "$token"}}]
CONFIG
