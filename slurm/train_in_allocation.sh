#!/usr/bin/env bash
# What slurm/train.sbatch, train_array.sbatch and gpu_real.sbatch run on the first node of their allocation; they set the variables.
# It begins the run in RUN_DIR or goes on with it, and acts on how that ends:
#
#   0                     the run is done: so is the job
#   2                     the input is wrong: the job ends, starting again would not help
#   75                    stopped early: the job queues again, unless the user cancelled it
#   a program died, or 3  started again here, MAX_RELAUNCHES times at most
set -uo pipefail

say() { echo "train_in_allocation.sh: $*" >&2; }

doppler="$DOPPLER_HOME/build/release/bin/doppler"
if [ ! -x "$doppler" ]; then
  say "$doppler is missing; build it (scripts/build.sh release), or set DOPPLER_HOME to the folder of the project"
  exit 3
fi

# The exit code of srun is the largest of all ranks', and that of a rank which was killed because another ended is larger
# than what the learner said. So the learner's own is written down. The first rank runs on this node.
learner_code_file=$(mktemp)
trap 'rm -f "$learner_code_file"' EXIT

# USR1 comes from --signal, before the time limit. srun hands it on to all ranks; the learner saves a checkpoint and ends
# with 75, the hosts ignore it and end with the learner.
time_is_up=0
srun_pid=
# shellcheck disable=SC2317  # the trap calls it
on_time_limit() {
  time_is_up=1
  if [ -n "$srun_pid" ]; then kill -USR1 "$srun_pid" 2>/dev/null; fi
}
trap on_time_limit USR1
# scancel sends TERM to the ranks and to this shell, which has to outlive them to say what became of the run.
trap : TERM

# Runs in each rank. `exec` where nothing follows. The shell around the learner survives the signals that are meant for it.
# shellcheck disable=SC2016  # expanded by the shell of the rank
rank_script='
  if [ "$SLURM_PROCID" -ne 0 ]; then exec "${@:2}"; fi
  trap : USR1 TERM INT
  "${@:2}"
  code=$?
  echo "$code" >"$1"
  exit "$code"'

# Sets learner_code; empty when the learner was killed. A trap of a shell runs only when its foreground command has ended,
# which would be too late: so srun runs in the background, and `wait` comes back with every signal.
run_programs() {
  local command
  if [ -f "$RUN_DIR/config.yaml" ]; then
    command=("$doppler" resume "$RUN_DIR" --workers "$WORKERS")
  else
    # shellcheck disable=SC2206  # TRAIN_OPTIONS is a list of words
    command=("$doppler" train "$CONFIG" --run-dir "$RUN_DIR" --workers "$WORKERS" ${TRAIN_OPTIONS:-})
  fi
  say "$SLURM_JOB_NUM_NODES nodes: ${command[*]}"
  : >"$learner_code_file"
  # pmix: the others leave each rank alone in a world of its own, or end it. kill-on-bad-exit: a rank that ends badly ends
  # all of them, and so does a minute after the first has ended well; none is left waiting until the time limit.
  # shellcheck disable=SC2086  # STEP_OPTIONS is a list of words
  srun --mpi=pmix --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$((SLURM_JOB_NUM_NODES * ${HOSTS_PER_NODE:-1}))" \
       --ntasks-per-node="${HOSTS_PER_NODE:-1}" --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" --kill-on-bad-exit=1 --wait=60 \
       ${STEP_OPTIONS:-} \
       bash -c "$rank_script" rank "$learner_code_file" "${command[@]}" &
  srun_pid=$!
  if [ "$time_is_up" -eq 1 ]; then kill -USR1 "$srun_pid" 2>/dev/null; fi
  while kill -0 "$srun_pid" 2>/dev/null; do wait "$srun_pid"; done
  srun_pid=
  learner_code=$(cat "$learner_code_file")
}

# "" when Slurm does not answer.
job_state() { squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T 2>/dev/null; }

# A job that ends by itself is over, also when that was because of a signal: it has to ask to be queued again. After scancel
# it is no longer RUNNING, and must not come back.
queue_again() {
  local state
  state=$(job_state)
  if [ "$state" != RUNNING ]; then
    say "the job is ${state:-unknown to Slurm}: not queued again; go on with RUN_DIR=$RUN_DIR sbatch slurm/train.sbatch"
  elif [ "${SLURM_RESTART_COUNT:-0}" -ge "$MAX_REQUEUES" ]; then
    say "queued again $SLURM_RESTART_COUNT times already: look at $RUN_DIR/log.txt, then submit the job anew"
  elif scontrol requeue "$SLURM_JOB_ID"; then
    say "queued again"
  else
    say "Slurm does not queue the job again; go on with RUN_DIR=$RUN_DIR sbatch slurm/train.sbatch"
  fi
  exit 75
}

mkdir -p "$(dirname "$RUN_DIR")"
for ((launch = 0; launch <= MAX_RELAUNCHES; ++launch)); do
  run_programs
  case "$learner_code" in
    0) exit 0 ;;
    2) exit 2 ;;
    75) queue_again ;;
  esac
  # Also a learner that was too young to handle the signal.
  if [ "$time_is_up" -eq 1 ]; then queue_again; fi
  say "the programs ended (${learner_code:-killed}) before the run did"
  # What was wrong may pass: a full disk, a port. In the background, for the same reason as srun.
  sleep "${RELAUNCH_SECONDS:-5}" &
  wait $!
  if [ "$time_is_up" -eq 1 ]; then queue_again; fi
  case "$(job_state)" in RUNNING | "") ;; *) queue_again ;; esac
done
say "given up after $MAX_RELAUNCHES relaunches; look at $RUN_DIR/log.txt, then submit the job anew: the run goes on"
exit 3
