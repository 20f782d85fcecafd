#!/usr/bin/env bash
# Prints what PYTHONPATH must be so that python3 has PyYAML: nothing where it is installed, else a folder of the build output.
set -euo pipefail
python3 -c 'import yaml' 2>/dev/null && { echo "${PYTHONPATH:-}"; exit; }
folder="${SLUICE_BUILD:-$(cd "$(dirname "$0")/.." && pwd)/build}/python"
[ -d "$folder/yaml" ] || python3 -m pip install --quiet --target "$folder" 'pyyaml>=6,<7' >&2
echo "$folder${PYTHONPATH:+:$PYTHONPATH}"
