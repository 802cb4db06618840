#!/usr/bin/env bash
# The long versions of the fault tests, and a report: scripts/soak.sh [FOLDER] (default: soak-<date>).
# Takes some 20 minutes on two cores; DOPPLER_SOAK_SCALE=0.1 shortens all of it, 10 makes a night of it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 3
root=$PWD
bin=$root/build/release/bin
scale=${DOPPLER_SOAK_SCALE:-1}
out=${1:-soak-$(date +%Y%m%d-%H%M%S)}
mkdir -p "$out" || exit 3
out=$(cd "$out" && pwd)
[ -x "$bin/doppler-train" ] || { echo "soak.sh: build first: scripts/build.sh release" >&2; exit 3; }
failed=0

scaled() {  # seconds or counts
  awk -v n="$1" -v s="$scale" 'BEGIN { v = int(n * s); print (v < 1 ? 1 : v) }'
}

# name, then the command; its output goes to a file of that name.
try() {
  local name=$1 began=$SECONDS
  shift
  if "$@" >"$out/$name.txt" 2>&1; then
    printf 'ok      %-34s %5d s\n' "$name" $((SECONDS - began)) | tee -a "$out/report.txt"
  else
    printf 'FAILED  %-34s %5d s  see %s\n' "$name" $((SECONDS - began)) "$out/$name.txt" | tee -a "$out/report.txt"
    failed=1
  fi
}

python=/usr/bin/python3
# shellcheck disable=SC2317  # called through try
faults() {
  DOPPLER_FAULT_SECONDS=$(scaled "$1") $python tests/integration/faults_test.py "$bin" analysis -k "$2"
}

echo "doppler soak, scale $scale, $(nproc) cores, $(date -u +%FT%TZ)" | tee "$out/report.txt"
try storm_of_deaths faults 60 storm
try bad_network faults 60 bad_network
try full_disk faults 1 full_disk
try few_open_files faults 1 few_open
try three_runs_at_once $python tests/integration/training_test.py "$bin" analysis -k three_runs
try learner_killed_20_times $python tests/soak/killed_learner.py "$bin" analysis "$(scaled 20)"
try learner_killed_asynchronous $python tests/soak/killed_learner.py "$bin" analysis "$(scaled 20)" asynchronous
try strangers env DOPPLER_STRANGER_SECONDS="$(scaled 60)" $python tests/integration/elastic_test.py "$bin" analysis -k strangers
try hosts_come_and_go $python tests/integration/elastic_test.py "$bin" analysis -k come
try frozen_host env DOPPLER_FROZEN_SECONDS="$(scaled 10)" $python tests/integration/asynchronous_test.py "$bin" analysis -k frozen
try slow_learner_memory $python tests/soak/flat_memory.py "$bin" analysis "$(scaled 300)"
try resume_trial "$bin/doppler" train configs/reference.yaml --set graph.generate=chain-mm --run-dir "$out/trial" \
  --verify-resume "$(scaled 300)" "$(scaled 200)" --quiet
if [ -d build/release/tests/cluster ] || command -v slurmctld >/dev/null; then
  try slurm ctest --test-dir build/release -R slurm_test --output-on-failure
fi
cat "$out"/slow_learner_memory.txt >>"$out/report.txt"
echo "report: $out/report.txt"
exit $failed
