#!/usr/bin/env bash
# Installs what is missing, builds, trains the policies on one machine with visible progress, and prints the comparison
# with the classical schedulers. Can be run again: what is done already costs nothing, and each run gets a new folder.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
scripts/build.sh release programs

run_dir="runs/quickstart-$(date +%Y%m%d-%H%M%S)"
build/release/bin/doppler train configs/quickstart.yaml --run-dir "$run_dir" "$@"

echo
if /usr/bin/python3 analysis/plot_run.py "$run_dir" >/dev/null; then
  echo "curves and Gantt chart: $run_dir/figures"
fi
echo "look further:           build/release/bin/doppler inspect $run_dir"
