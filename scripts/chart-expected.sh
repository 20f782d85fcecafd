#!/usr/bin/env bash
# Has official Helm print what the cases of crates/chart expect. HELM names the program (v4); the tests do not need it.
# Usage: HELM=/path/to/helm scripts/chart-expected.sh [case…]
set -euo pipefail
cd "$(dirname "$0")/../crates/chart/tests/charts"
helm="${HELM:-helm}"

for case in "${@:-*/}"; do
  for folder in $case; do
    folder="${folder%/}"
    chart="$folder/chart"
    [ -e "$folder/chart.tgz" ] && chart="$folder/chart.tgz"
    mapfile -t flags < <(python3 - "$folder/case.json" <<'PYTHON'
import json, sys

case = json.load(open(sys.argv[1]))
flags = ["--namespace", case.get("namespace", "default")]
if case.get("kubeVersion"):
    flags += ["--kube-version", case["kubeVersion"]]
for version in case.get("apiVersions", []):
    flags += ["--api-versions", version]
for line in case.get("set", []):
    flags += ["--set", line]
for template in case.get("showOnly", []):
    flags += ["--show-only", template]
if case.get("includeCRDs"):
    flags.append("--include-crds")
if case.get("skipTests"):
    flags.append("--skip-tests")
print("\n".join([case.get("release", "release"), *flags]))
PYTHON
    )
    for values in "$folder"/values.yaml "$folder"/values2.yaml; do
      [ -e "$values" ] && flags+=(-f "$values")
    done
    rm -f "$folder/expected.yaml" "$folder/expected_error.txt" "$folder/expected_warnings.txt"
    if ! "$helm" template "${flags[0]}" "$chart" "${flags[@]:1}" >"$folder/expected.yaml" 2>"$folder/expected_error.txt"; then
      rm "$folder/expected.yaml"
    fi
    # The order of warnings is that of Go's maps, which is another one each time.
    grep -E '^level=(INFO|WARN)' "$folder/expected_error.txt" | LC_ALL=C sort >"$folder/expected_warnings.txt" || true
    [ -s "$folder/expected_warnings.txt" ] || rm "$folder/expected_warnings.txt"
    [ ! -e "$folder/expected.yaml" ] || rm "$folder/expected_error.txt"
  done
done
