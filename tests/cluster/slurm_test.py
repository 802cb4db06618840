#!/usr/bin/env python3
"""The job scripts of slurm/ under a real Slurm of three virtual nodes: `slurm_test.py BIN_DIR [unittest arguments]`.

Skipped, with exit code 77, where Slurm is not installed, the user may not run its daemons, or they do not come up (which
says nothing about the job scripts); with DOPPLER_REQUIRE_SLURM=1 that is a failure.
"""

import glob
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "analysis"))

import load_run  # noqa: E402
import private_slurm  # noqa: E402

SKIPPED = 77
DEADLINE_SECONDS = 60
EPISODES = 320 + 19200
CONFIG = """
run: {seed: 7, name: test, workers: 1}
graph: {generate: chain-mm}
stages:
  imitation: {episodes: 320}
  simulation: {episodes: 19200}
learner: {batch_episodes: 32, group_episodes: 8, evaluate_every_updates: 50}
checkpoint: {every_updates: 20, every_seconds: 0}
archive: {decisions_per_second: 0}
"""


class SlurmTest(unittest.TestCase):
    """One cluster for all tests: starting it is most of the time."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="doppler-slurm-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        cls.slurm = private_slurm.PrivateSlurm(cls.path / "slurm", nodes=3)
        (cls.path / "slurm").mkdir()
        cls.addClassCleanup(cls.slurm.stop)
        try:
            cls.slurm.start()
        except RuntimeError as problem:
            if os.environ.get("DOPPLER_REQUIRE_SLURM") == "1":
                raise
            print(problem, file=sys.stderr)
            cls.slurm.stop()
            cls.folder.cleanup()
            print("skipped: a private Slurm does not start on this machine", file=sys.stderr)
            os._exit(SKIPPED)
        # The scripts look for the programs in the project's build/release: a folder that looks like the project.
        home = cls.path / "home"
        (home / "build/release").mkdir(parents=True)
        (home / "build/release/bin").symlink_to(BIN)
        for name in ("slurm", "configs"):
            (home / name).symlink_to(SOURCE / name)
        cls.home = home
        cls.config = cls.path / "config.yaml"
        cls.config.write_text(CONFIG, encoding="utf8")

    def submit(self, script, *options, **variables):
        settings = {"DOPPLER_HOME": str(self.home), "CONFIG": str(self.config), "WORKERS": "1", "RELAUNCH_SECONDS": "1",
                    # As root, tests only.
                    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}
        output, errors = self.slurm.call(
            "sbatch", "--parsable", "--cpus-per-task=1", "--mem-per-cpu=200M", f"--output={self.path}/%j.out",
            f"--chdir={self.path}", *options, SOURCE / "slurm" / script, **settings)
        self.assertTrue(output.isdigit(), errors)
        return output

    def output(self, job):
        path = self.path / f"{job}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_for(self, what, condition, job):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not (found := condition()):
            if time.monotonic() > deadline:
                self.fail(f"{what} did not come; {self.slurm.job(job)}\n{self.output(job)}\n{self.slurm.logs()}")
            time.sleep(0.02)
        return found

    def wait_for_checkpoint(self, job, run_dir, update):
        def there():
            names = glob.glob(f"{run_dir}/checkpoints/checkpoint-*.h5")
            return any(int(name[-15:-3]) >= update for name in names)
        self.wait_for(f"a checkpoint of update {update}", there, job)

    def wait_for_end(self, job, expect):
        """Until `job` has ended as `expect` says, with its number of restarts."""
        state = self.wait_for("the job's end", lambda: self.finished(job), job)
        self.assertEqual((state["JobState"], state["ExitCode"]), expect, self.output(job) + self.slurm.logs())
        return int(state["Restarts"])

    def finished(self, job):
        state = self.slurm.job(job)
        if state.get("JobState") in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"):
            return state
        return None

    def check_run(self, run_dir):
        """Done; every episode trained once, none missing; all accounted for."""
        summary = json.loads((run_dir / "summary.json").read_text())
        self.assertEqual(summary["outcome"], "done")
        counts = summary["counts"]
        self.assertEqual(counts["opened"], sum(v for k, v in counts.items() if k != "opened"))
        episodes = load_run.Run(run_dir).episodes()
        trained = [int(e) for e, s in zip(episodes["episode"], episodes["status"]) if s == 0]
        self.assertEqual(len(trained), EPISODES)
        self.assertEqual(len(set(trained)), EPISODES)
        return episodes

    def test_three_nodes_to_the_end(self):
        run_dir = self.path / "whole"
        job = self.submit("train.sbatch", "--nodes=3", RUN_DIR=str(run_dir))
        self.assertEqual(self.wait_for_end(job, ("COMPLETED", "0:0")), 0)
        episodes = self.check_run(run_dir)
        # One worker on each host.
        self.assertEqual(set(episodes["worker"].tolist()), {0, 1, 2})
        self.assertIn("3 nodes: ", self.output(job))
        # Submitted once more, there is nothing to do.
        again = self.submit("train.sbatch", "--nodes=2", RUN_DIR=str(run_dir))
        self.wait_for_end(again, ("COMPLETED", "0:0"))
        self.assertIn("the run is done", self.output(again))

    def test_a_dead_host_is_started_again_in_the_same_allocation(self):
        run_dir = self.path / "killed"
        job = self.submit("train.sbatch", "--nodes=3", RUN_DIR=str(run_dir))
        self.wait_for_checkpoint(job, run_dir, 40)
        hosts = self.processes("doppler-actor-host")
        self.assertEqual(len(hosts), 2)
        os.kill(hosts[0], signal.SIGKILL)
        self.assertEqual(self.wait_for_end(job, ("COMPLETED", "0:0")), 0)
        self.check_run(run_dir)
        output = self.output(job)
        self.assertEqual(output.count("before the run did"), 1, output)
        self.assertEqual(output.count("doppler resume"), 1, output)

    def test_a_run_that_dies_again_and_again_is_given_up(self):
        run_dir = self.path / "hopeless"
        job = self.submit("train.sbatch", "--nodes=2", RUN_DIR=str(run_dir), MAX_RELAUNCHES="1")
        for update, launches in ((20, 1), (60, 2)):
            self.wait_for("the launch", lambda: self.output(job).count("2 nodes: ") == launches, job)
            self.wait_for_checkpoint(job, run_dir, update)
            learner = self.wait_for("the learner", lambda: self.processes("doppler-train"), job)
            os.kill(learner[0], signal.SIGKILL)
        self.wait_for_end(job, ("FAILED", "3:0"))
        self.assertIn("given up after 1 relaunches", self.output(job))

    def processes(self, name):
        # The kernel keeps 15 characters.
        return [pid for pid, found in self.slurm.descendants().items() if found == name[:15]]

    def test_before_the_time_limit_the_job_queues_again_and_goes_on(self):
        run_dir = self.path / "requeued"
        job = self.submit("train.sbatch", "--nodes=2", RUN_DIR=str(run_dir))
        self.wait_for_checkpoint(job, run_dir, 40)
        # What --signal=B:USR1 does.
        self.slurm.call("scancel", "--batch", "--signal=USR1", job)
        self.wait_for("the requeue", lambda: self.slurm.job(job).get("JobState") == "PENDING", job)
        self.assertFalse((run_dir / "summary.json").exists() and
                         json.loads((run_dir / "summary.json").read_text())["outcome"] == "done")
        # Slurm lets two minutes pass, nodes refuse a job that comes back within a second; and this time with another
        # number of nodes.
        self.slurm.call("scontrol", "update", f"JobId={job}", "StartTime=now+3", "NumNodes=3-3", "NumTasks=3")
        self.assertEqual(self.wait_for_end(job, ("COMPLETED", "0:0")), 1)
        episodes = self.check_run(run_dir)
        self.assertEqual(set(episodes["worker"].tolist()), {0, 1, 2})
        output = self.output(job)
        self.assertIn("queued again", output)
        self.assertIn("3 nodes: ", output)

    def test_a_cancelled_job_stays_away_and_keeps_its_checkpoint(self):
        run_dir = self.path / "cancelled"
        job = self.submit("train.sbatch", "--nodes=2", RUN_DIR=str(run_dir))
        self.wait_for_checkpoint(job, run_dir, 40)
        self.slurm.call("scancel", job)
        state = self.wait_for("the end", lambda: self.finished(job), job)
        self.assertEqual(state["JobState"], "CANCELLED")
        self.wait_for("the script's end", lambda: not self.slurm.call("squeue", "--noheader", f"--jobs={job}")[0], job)
        self.assertIn("not queued again", self.output(job))
        self.assertEqual(self.slurm.job(job)["JobState"], "CANCELLED")
        self.assertEqual(json.loads((run_dir / "summary.json").read_text())["outcome"], "stopped early")
        # A job of the user's goes on from there, on another number of nodes.
        again = self.submit("train.sbatch", "--nodes=1", RUN_DIR=str(run_dir))
        self.assertEqual(self.wait_for_end(again, ("COMPLETED", "0:0")), 0)
        self.check_run(run_dir)

    def test_wrong_input_is_not_tried_again(self):
        job = self.submit("train.sbatch", "--nodes=2", RUN_DIR=str(self.path / "wrong"),
                          TRAIN_OPTIONS="--set run.sed=3")
        self.wait_for_end(job, ("FAILED", "2:0"))
        output = self.output(job)
        self.assertIn("did you mean", output)
        self.assertEqual(output.count("2 nodes: "), 1, output)

    def test_an_array_of_graphs_and_seeds(self):
        tiny = self.path / "tiny.yaml"
        tiny.write_text(CONFIG.replace("19200", "320"), encoding="utf8")
        job = self.submit("train_array.sbatch", "--array=0-4", CONFIG=str(tiny), GRAPHS="chain-mm ffnn", SEEDS="3 4",
                          RUNS_DIR=str(self.path / "array"))
        self.wait_for("the array's end", lambda: not self.slurm.call("squeue", "--noheader", f"--jobs={job}")[0], job)
        for graph in ("chain-mm", "ffnn"):
            for seed in (3, 4):
                summary = json.loads((self.path / f"array/{graph}-seed{seed}/summary.json").read_text())
                self.assertEqual((summary["outcome"], summary["episodes"]), ("done", 640))
        self.assertEqual(self.slurm.job(f"{job}_4")["ExitCode"], "2:0")

    def test_a_real_stage_with_two_sets_of_devices(self):
        """slurm/gpu_real.sbatch where there is no GPU: calibration, three stages, the comparison at the end."""
        graph = self.path / "real.json"
        subprocess.run([BIN / "doppler", "graph", "generate", "ffnn", "--devices", "2", "--costs", "physical",
                        *(word for size in ("batch=256", "inputs=64", "hidden=256", "outputs=64") for word in ("--size", size)),
                        "-o", graph], check=True, capture_output=True)
        config = self.path / "real.yaml"
        config.write_text("""
run: {seed: 3, name: real}
stages:
  imitation: {episodes: 64}
  simulation: {episodes: 256}
  real: {enabled: true, episodes: 64}
execution: {repeats: 2, final_repeats: 2}
learner: {batch_episodes: 16, group_episodes: 4}
""", encoding="utf8")
        run_dir = self.path / "real-run"
        cpus = {"BACKEND": "cpu", "DEVICES": "2", "CONFIG": str(config), "RUN_DIR": str(run_dir)}
        no_graph = self.submit("gpu_real.sbatch", "--gpus-per-node=0", **cpus)
        self.wait_for_end(no_graph, ("FAILED", "2:0"))
        self.assertIn("GRAPH names no graph file", self.output(no_graph))
        # Two sets of devices, each with a process of its own. On one node: Open MPI's shared memory takes the processes of
        # two virtual nodes for each other's.
        job = self.submit("gpu_real.sbatch", "--nodes=1", "--ntasks-per-node=2", "--gpus-per-node=0", GRAPH=str(graph),
                          GPU_SETS="2", **cpus)
        self.assertEqual(self.wait_for_end(job, ("COMPLETED", "0:0")), 0)
        summary = json.loads((run_dir / "summary.json").read_text())
        self.assertEqual((summary["outcome"], summary["episodes"]), ("done", 384))
        measured = {row["name"] for row in summary["graphs"][0]["measured"]["placements"]}
        self.assertIn("stage III, best", measured)
        self.assertIn("1 nodes: ", self.output(job))
        episodes = load_run.Run(run_dir).episodes()
        real = episodes["stage"] == 3
        self.assertEqual(int((real & (episodes["status"] == 0)).sum()), 64)
        self.assertEqual(summary["graphs"][0]["measured_best_seconds"],
                         int(episodes["makespan_ticks"][real].min()) * 1e-12)
        self.assertIn("1 workers here, 1 other hosts", (run_dir / "log.txt").read_text())
        self.assertEqual(len(set(episodes["worker"][real].tolist())), 2)
        self.assertIn("workers_per_host: 2", (run_dir / "config.yaml").read_text())
        self.assertIn(str(self.path / "real-run.topology.yaml"), (run_dir / "config.yaml").read_text())

    def test_the_smoke_job(self):
        job = self.submit("smoke.sbatch", "--nodes=3", RUN_DIR=str(self.path / "smoke"), SECONDS_OF_TRAINING="4")
        self.wait_for_end(job, ("COMPLETED", "0:0"))
        output = self.output(job)
        self.assertIn("Doppler runs on 3 nodes", output)
        # Each of three ranks.
        self.assertEqual(output.count("a world of 3"), 3, output)

    def test_the_doctor_sees_a_wrong_launcher(self):
        script = self.path / "wrong.sh"
        script.write_text(f"#!/bin/sh\nsrun --mpi=none {BIN}/doppler doctor --run-dir {self.path}\n", encoding="utf8")
        job = self.submit(script, "--nodes=2", "--ntasks=2")
        self.wait_for_end(job, ("FAILED", "3:0"))
        self.assertIn("srun --mpi=pmix", self.output(job))


if __name__ == "__main__":
    if private_slurm.missing_programs():
        print("skipped: not installed:", *private_slurm.missing_programs(),
              "(apt-get install slurm-wlm munge)", file=sys.stderr)
        sys.exit(SKIPPED)
    if os.geteuid() != 0:
        print("skipped: Slurm's daemons run jobs as root only", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
