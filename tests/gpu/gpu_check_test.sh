#!/usr/bin/env bash
# gpu_check_test.sh PROGRAM SOURCE CMAKE CC CXX NINJA: runs each part of doppler-gpu-check on the cpu backend with small sizes, and
# configures the build of scripts/gpu_check.sh where no package can be found.
set -euo pipefail
program="$1"
source_folder="$2"
cmake="$3"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

for part in correctness overhead products calibration fidelity; do
  "$program" "$part" --backend cpu --quick --devices 1,2 --count 6 --output "$folder" >"$folder/$part.md"
  grep -q '^## ' "$folder/$part.md"
done
grep -q '| chain-mm | 2 | 1 | 0 |' "$folder/correctness.md"
grep -q '^devices:' "$folder/topology-2.yaml"
[ "$(wc -l <"$folder/fidelity-chain-mm-2.csv")" -eq 7 ]

"$program" random --backend cpu --quick --devices 2 --count 5 >"$folder/lines.csv"
"$program" assignments --backend cpu --quick --devices 2 <"$folder/lines.csv" >"$folder/results.tsv"
[ "$(grep -c 'done$' "$folder/results.tsv")" -eq 5 ]

if "$program" nonsense --backend cpu 2>"$folder/error.txt"; then exit 1; fi
grep -q "'nonsense' is no part" "$folder/error.txt"

# Without a search path there is no yaml-cpp, CLI11, fmt, spdlog, JSON, GoogleTest, Torch, MPI, HDF5 or ZeroMQ.
"$cmake" -S "$source_folder" -B "$folder/build" -G Ninja -DDP_GPUEXEC_ALONE=ON -DDP_WITH_CUDA=OFF -DDP_WITH_OPENBLAS=OFF \
  -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF \
  -DCMAKE_C_COMPILER="$4" -DCMAKE_CXX_COMPILER="$5" -DCMAKE_MAKE_PROGRAM="$6" >"$folder/configure.txt"
echo "all parts ran; the build that stands alone can be configured"
