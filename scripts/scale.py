#!/usr/bin/env python3
"""How runs scale on this machine: scripts/scale.py [workers] [evaluations] [quality] (default: all). Prints tables.

workers      episodes/s of simulation with 1 and with 2 workers, the learner all but idle
evaluations  episodes/s of 1 and of 64 workers whose evaluations take 100 ms
quality      seconds until a makespan is reached, by workers and learner threads

Takes some five minutes, and an otherwise idle machine to mean anything. Build first: scripts/build.sh release.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOPPLER = ROOT / "build/release/bin/doppler"
# Five operations of 20 ms in a chain: 100 ms on the emulated backend, whatever the placement, but for 10 us a transfer.
CHAIN = {
    "format": "doppler-graph", "format_version": 1, "name": "chain-of-100-ms", "cost_unit": "physical",
    "operations": [{"name": f"o{i}", "kind": "work", "flops": 2e7, "output_bytes": 4} for i in range(5)],
    "edges": [{"source": i, "destination": i + 1} for i in range(4)],
}
SLOW = """
name: slow
devices:
  - {name: slow, count: 2, kind: slow, flops_per_second: 1e9, memory_bandwidth_bytes_per_second: 1e12, launch_overhead_seconds: 0}
links:
  - {between: [slow, slow], latency_seconds: 10e-6, bandwidth_bytes_per_second: 1e12}
"""
QUIET = ["archive.enabled=false", "learner.evaluate_every_updates=0", "checkpoint.every_seconds=600"]


class Run:
    """A run of `doppler train` that is watched from outside and stopped by its budget or once `until(newest row)`."""

    def __init__(self, settings, workers, until=None):
        with tempfile.TemporaryDirectory(prefix="doppler-scale-") as folder:
            run_dir = pathlib.Path(folder) / "run"
            command = [DOPPLER, "train", ROOT / "configs/quickstart.yaml", "--run-dir", run_dir, "--quiet", "--workers", str(workers)]
            for setting in settings:
                command += ["--set", setting]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.busy = []  # (seconds, CPU seconds of the learner)
            metrics = run_dir / "metrics.jsonl"
            while process.poll() is None:
                time.sleep(0.2)
                self.busy.append((time.monotonic(), cpu_seconds(process.pid)))
                if until and (row := newest_row(metrics)) and until(row):
                    process.terminate()
                    break
            _, errors = process.communicate()
            if process.returncode not in (0, 75):
                sys.exit(f"scale.py: {' '.join(map(str, command))} ended with {process.returncode}:\n{errors}")
            self.rows = read_rows(metrics)

    def episodes_per_second(self):
        """Over the run's rows but the first third, in which programs start and caches fill."""
        rows = self.rows[len(self.rows) // 3:]
        if len(rows) < 2:
            sys.exit("scale.py: a run made too few updates to measure its rate")
        return (rows[-1]["episodes"] - rows[0]["episodes"]) / (rows[-1]["time_seconds"] - rows[0]["time_seconds"])

    def learner_share(self):
        """Of a core, over the last two thirds."""
        busy = [entry for entry in self.busy if entry[1] is not None]
        busy = busy[len(busy) // 3:]
        return (busy[-1][1] - busy[0][1]) / (busy[-1][0] - busy[0][0])


def read_rows(path):
    if not path.exists():
        return []
    text = path.read_text()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def newest_row(path):
    """None: there is none yet. Reads no more than it must, beside a run that is timed."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 65536))
        lines = file.read().split(b"\n")[:-1]
    return json.loads(lines[-1]) if len(lines) > 1 else None


def cpu_seconds(pid):
    """Of a process without its children; None when it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def workers_table(options):
    print(f"Simulation of {options.graph or 'chain-mm'}, gradients by the workers, batches of 4096: the learner only adds them up")
    print(f"{'workers':>8} {'episodes/s':>11} {'against 1':>10} {'learner, of a core':>19}")
    graph = [f"graph.path={options.graph}"] if options.graph else ["graph.generate=chain-mm"]
    settings = [*graph, *QUIET, "learner.gradients=workers", "learner.batch_episodes=4096", "learner.group_episodes=32",
                "stages.imitation.enabled=false", f"run.budget_seconds={options.seconds}"]
    first = None
    for workers in (1, 2):
        run = Run(settings, workers)
        rate = run.episodes_per_second()
        first = first or rate
        print(f"{workers:>8} {rate:>11.0f} {rate / first:>9.2f}x {run.learner_share():>18.1%}", flush=True)


def evaluations_table(options):
    print("Evaluations that take 100 ms (emulated backend), each worker measuring")
    print(f"{'workers':>8} {'episodes/s':>11} {'against 1':>10} {'learner, of a core':>19}")
    with tempfile.TemporaryDirectory(prefix="doppler-scale-") as folder:
        graph = pathlib.Path(folder) / "chain.json"
        graph.write_text(json.dumps(CHAIN), encoding="utf8")
        topology = pathlib.Path(folder) / "slow.yaml"
        topology.write_text(SLOW, encoding="utf8")
        first = None
        for workers, seconds in ((1, 4 * options.seconds), (64, options.seconds)):
            # Twice the tickets that 64 workers hold; one worker makes its few updates of them in more time.
            settings = [f"graph.path={graph}", "simulation.mode=physical", f"simulation.topology={topology}", *QUIET,
                        "stages.imitation.enabled=false", "stages.simulation.enabled=false", "stages.real.enabled=true",
                        "execution.backend=emulated", "execution.warmup=0", "execution.repeats=1", "execution.final_repeats=0",
                        "execution.workers_per_host=64", "learner.group_episodes=1",
                        f"learner.batch_episodes={256 if workers > 1 else 32}", f"run.budget_seconds={seconds}"]
            run = Run(settings, workers)
            rate = run.episodes_per_second()
            first = first or rate
            print(f"{workers:>8} {rate:>11.1f} {rate / first:>9.1f}x {run.learner_share():>18.1%}", flush=True)


def quality_table(options):
    target = options.target
    print(f"Until a makespan of {target:g} or less for chain-mm, median of {len(options.seeds)} seeds")
    print(f"{'workers':>8} {'threads':>8} {'gradients':>10} {'seconds':>8} {'episodes':>9} {'reached':>8}")
    for gradients in ("learner", "workers"):
        for workers in (1, 2):
            for threads in (1, 2) if gradients == "learner" else (1,):
                times, episodes = [], []
                for seed in options.seeds:
                    def reached(row):
                        return row["best_ticks"] <= target * 1e10
                    run = Run(["graph.generate=chain-mm", *QUIET, f"run.seed={seed}", f"learner.threads={threads}",
                               f"learner.gradients={gradients}", f"run.budget_seconds={4 * options.seconds}"], workers,
                              until=reached)
                    row = next((row for row in run.rows if reached(row)), None)
                    if row:
                        times.append(row["time_seconds"])
                        episodes.append(row["episodes"])
                missed = [float("inf")] * (len(options.seeds) - len(times))
                print(f"{workers:>8} {threads:>8} {gradients:>10} {statistics.median(times + missed):>8.1f} "
                      f"{statistics.median(episodes + missed):>9.0f} {len(times):>4} of {len(options.seeds)}", flush=True)


TABLES = {"workers": workers_table, "evaluations": evaluations_table, "quality": quality_table}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="which tables; default: all")
    parser.add_argument("--seconds", type=float, default=12, help="of a run; those that need longer take four times as much")
    parser.add_argument("--graph", help="graph file in the paper's format for the table of workers; default: chain-mm")
    parser.add_argument("--target", type=float, default=1210, help="makespan to reach, in the unit of the paper")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    if not DOPPLER.exists():
        sys.exit(f"scale.py: {DOPPLER} is missing; build it: scripts/build.sh release")
    if unknown := set(options.tables) - set(TABLES):
        parser.error(f"unknown table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    for name in options.tables or TABLES:
        TABLES[name](options)
        print()


if __name__ == "__main__":
    main()
