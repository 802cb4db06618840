#!/usr/bin/env bash
# tests/benchmark/cpu_fidelity.sh [BIN [FOLDER [ASSIGNMENTS]]]: fidelity of simulations on the cpu backend with two
# devices. Each workload is simulated by a topology that was calibrated on the other workloads. Leaves topologies and
# points in FOLDER (default: a temporary one, named at the end). Run it alone on a machine with two cores at least.
set -euo pipefail
bin="${1:-build/release/bin}"
folder="${2:-$(mktemp -d)}"
assignments="${3:-100}"
doppler="$bin/doppler"

declare -A sizes=(
  [chain-mm]="size=2048"
  [ffnn]="batch=2048 inputs=512 hidden=2048 outputs=512"
  [mlp-training]="batch=1024 inputs=512 hidden=1024 outputs=512"
  [llama-block]="batch=1 sequence=512 width=768 heads=8 feed_forward=2048"
)
names=(chain-mm ffnn mlp-training llama-block)
for name in "${names[@]}"; do
  flags=()
  for size in ${sizes[$name]}; do flags+=(--size "$size"); done
  "$doppler" graph generate "$name" --devices 4 --costs physical "${flags[@]}" -o "$folder/$name.json"
done
for name in "${names[@]}"; do
  like=()
  for other in "${names[@]}"; do
    if [ "$other" != "$name" ]; then like+=(--like "$folder/$other.json"); fi
  done
  echo "== $name, load $(cut -d' ' -f1-3 /proc/loadavg)"
  "$doppler" calibrate --backend cpu --devices 2 "${like[@]}" -o "$folder/$name.yaml" >"$folder/$name-calibration.txt"
  "$doppler" fidelity "$folder/$name.json" --topology "$folder/$name.yaml" --backend cpu \
    --assignments "$assignments" --csv "$folder/$name.csv"
done
echo "points and topologies: $folder"
