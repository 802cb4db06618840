#!/usr/bin/env bash
# scripts/build.sh [PRESET [TARGET...]]: configures and builds a preset (release by default) into build/PRESET; without targets
# all of it, `programs` for what a user runs.
set -euo pipefail
cd "$(dirname "$0")/.."
preset="${1:-release}"
cmake --preset "$preset" >"/dev/null"
shift || true
cmake --build --preset "$preset" ${1:+--target "$@"}
