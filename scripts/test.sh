#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Can be run again at no cost but the tests'.
# DOPPLER_PUBLIC_DATA may name a folder with the public graphs; tests that want them are skipped without it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Slurm for tests/cluster, which start one of their own; its other users have theirs already.
scripts/install_packages.sh slurm-wlm munge
if [ -x /usr/local/cuda/bin/nvcc ] || command -v nvcc >/dev/null; then
  echo "CUDA code: compiled; its tests are skipped where there is no GPU"
else
  echo "CUDA code: skipped, there is no nvcc"
fi
scripts/build.sh release
ctest --preset release --timeout 600 "$@"
