#!/usr/bin/env bash
# Runs a fuzz target with the compiler that is there: libFuzzer needs the coverage of code and no sanitizer, since the code is safe.
# Usage: scripts/fuzz.sh CRATE TARGET [SECONDS], such as `scripts/fuzz.sh chart values 300`. What it finds is in build/fuzz. More than
# FUZZ_MEMORY megabytes are a find.
set -euo pipefail
cd "$(dirname "$0")/.."
crate="$1" target="$2" seconds="${3:-300}"
found="$PWD/build/fuzz/$crate-$target"
mkdir -p "$found/corpus"
# What is committed is where it begins.
seeds=()
[ ! -d "crates/$crate/fuzz/corpus/$target" ] || seeds=("crates/$crate/fuzz/corpus/$target")
triple="$(rustc -vV | sed -n 's/^host: //p')"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_INCREMENTAL=0
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
llvm="-Cllvm-args=-sanitizer-coverage"
export RUSTFLAGS="-Cpasses=sancov-module $llvm-level=4 $llvm-inline-8bit-counters $llvm-pc-table $llvm-trace-compares --cfg fuzzing"

# The versions of dependencies are the product's.
cp Cargo.lock "crates/$crate/fuzz/Cargo.lock"
cargo build --release --target "$triple" --manifest-path "crates/$crate/fuzz/Cargo.toml" --bin "$target"
nice "$CARGO_TARGET_DIR/$triple/release/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb="${FUZZ_MEMORY:-600}" -len_control=0 \
  -max_len=8192 -artifact_prefix="$found/" "$found/corpus" "${seeds[@]}"
