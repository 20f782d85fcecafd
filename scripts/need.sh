#!/usr/bin/env bash
# Says what is missing to build Sluice, and how to get it.
set -euo pipefail
status=0
need() {
  command -v "$1" >/dev/null && return
  echo "missing: $1. $2" >&2
  status=1
}
need cargo "Install Rust with rustup (https://rustup.rs); the version needed is in Cargo.toml."
need python3 "Install Python 3."
if ! command -v c++ >/dev/null && ! command -v g++ >/dev/null && ! command -v clang++ >/dev/null; then
  echo "missing: a C++ compiler, which builds the Lua engine. Install g++ or clang." >&2
  status=1
fi
exit "$status"
