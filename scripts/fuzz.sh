#!/usr/bin/env bash
# scripts/fuzz.sh [SECONDS]: runs each fuzzer of tests/fuzz for SECONDS (60 by default) under the address and
# undefined-behaviour sanitizers. Fails at the first crash, hang or leak; the input then lies in build/asan/fuzz.
# DOPPLER_FUZZ_SEED changes the inputs (default: 1).
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-60}"

scripts/install_packages.sh
cmake --preset asan >"/dev/null"
cmake --build --preset asan --target fuzzers
cd build/asan/fuzz
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
for fuzzer in ./*_fuzz; do
  printf '%s: ' "${fuzzer#./}"
  "$fuzzer" --seconds "$seconds" --seed "${DOPPLER_FUZZ_SEED:-1}"
done
