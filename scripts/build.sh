#!/usr/bin/env bash
# scripts/build.sh [PRESET]: configures and builds a preset (release by default) into build/PRESET.
set -euo pipefail
cd "$(dirname "$0")/.."
preset="${1:-release}"
cmake --preset "$preset" >"/dev/null"
cmake --build --preset "$preset"
