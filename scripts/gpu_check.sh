#!/usr/bin/env bash
# scripts/gpu_check.sh [FOLDER]: checks and measures real execution on the GPUs of this machine and writes
# FOLDER/report.md (default: gpu-report). Needs CMake, the CUDA Toolkit and a C++20 compiler, and nothing else: it builds
# real execution alone, into build/gpu. Exit codes: 0 all checks passed, 1 one failed, 77 there is no GPU.
#
# CMAKE_CUDA_ARCHITECTURES   what to compile for (default: the GPU at hand)
# DOPPLER_GPU_CHECK_BACKEND  cuda; with cpu everything runs without a GPU, and without CUDA
# DOPPLER_GPU_CHECK_DEVICES  1,2,4: how many virtual devices share the GPUs
# DOPPLER_GPU_CHECK_QUICK    1: small sizes, a minute
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${1:-gpu-report}"
backend="${DOPPLER_GPU_CHECK_BACKEND:-cuda}"
devices="${DOPPLER_GPU_CHECK_DEVICES:-1,2,4}"
build="build/gpu"
mkdir -p "$folder"
report="$folder/report.md"
quick=()
if [ -n "${DOPPLER_GPU_CHECK_QUICK:-}" ]; then quick=(--quick); fi

if [ "$backend" = cuda ]; then
  nvcc="$(PATH="${CUDA_HOME:-/usr/local/cuda}/bin:$PATH" command -v nvcc || true)"
  if [ -z "$nvcc" ]; then
    echo "gpu_check: there is no nvcc; install the CUDA Toolkit, or name it in CUDA_HOME" >&2
    exit 3
  fi
  cuda=(-DDP_WITH_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc")
  if [ -n "${CMAKE_CUDA_ARCHITECTURES:-}" ]; then
    cuda+=(-DCMAKE_CUDA_ARCHITECTURES="$CMAKE_CUDA_ARCHITECTURES")
  elif command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1; then
    cuda+=(-DCMAKE_CUDA_ARCHITECTURES=native)
  fi
else
  cuda=(-DDP_WITH_CUDA=OFF)
fi
cmake -S . -B "$build" -DDP_GPUEXEC_ALONE=ON -DDP_WITH_OPENBLAS=OFF -DDP_WERROR=OFF -DDP_ARCH=native \
  -DCMAKE_BUILD_TYPE=Release "${cuda[@]}" >"$folder/configure.txt"
cmake --build "$build" --parallel "$(nproc)" >"$folder/build.txt"
program="$build/tests/doppler-gpu-check"

code=0
"$program" correctness --backend "$backend" --count 6 --devices 1 --quick >/dev/null 2>"$folder/messages.txt" || code=$?
if [ "$code" -eq 77 ]; then
  echo "gpu_check: built, but there is no GPU that this process may use; nothing was checked" >&2
  exit 77
fi

failed=0
run_part() {
  echo "gpu_check: $1" >&2
  local code=0
  "$program" "$@" --backend "$backend" --output "$folder" "${quick[@]}" >>"$report" 2>>"$folder/messages.txt" || code=$?
  if [ "$code" -ne 0 ]; then
    echo "**$1 ended with exit code $code**; see messages.txt" | tee -a "$report" >&2
    failed=1
  fi
}
{
  echo "# Real execution on this machine"
  echo
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,memory.total,driver_version,clocks.sm,temperature.gpu --format=csv || true
  fi
  echo
} >"$report"
run_part correctness --count 500 --devices "$devices"
run_part overhead --devices "$devices"
run_part products
run_part calibration --devices "$devices"
run_part fidelity --count 100 --devices "$devices"

echo "gpu_check: 100 assignments from standard input" >&2
"$program" random --backend "$backend" --count 100 --devices 2 "${quick[@]}" >"$folder/assignments.csv"
"$program" assignments --backend "$backend" --devices 2 "${quick[@]}" <"$folder/assignments.csv" >"$folder/results.tsv"
done_count="$(grep -c 'done$' "$folder/results.tsv" || true)"
{
  echo "## Assignments from standard input"
  echo
  echo "$done_count of 100 were measured; results.tsv has a line for each."
  echo
} >>"$report"
if [ "$done_count" -ne 100 ]; then failed=1; fi

# Races and wrong addresses in kernels, where the toolkit brings the tool.
sanitizer="$(PATH="${CUDA_HOME:-/usr/local/cuda}/bin:$PATH" command -v compute-sanitizer || true)"
if [ "$backend" = cuda ] && [ -n "$sanitizer" ]; then
  echo "## compute-sanitizer" >>"$report"
  for tool in memcheck racecheck initcheck; do
    echo "gpu_check: $tool" >&2
    if "$sanitizer" --tool "$tool" --error-exitcode 9 "$program" correctness --count 9 --devices 2 \
      >"$folder/$tool.txt" 2>&1; then
      printf '\n- %s: nothing found' "$tool" >>"$report"
    else
      printf '\n- **%s: see %s.txt**' "$tool" "$tool" >>"$report"
      failed=1
    fi
  done
  echo >>"$report"
fi
echo "gpu_check: $report" >&2
exit "$failed"
