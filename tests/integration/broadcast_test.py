#!/usr/bin/env python3
"""Weights by MPI_Ibcast: `broadcast_test.py BIN_DIR ANALYSIS_DIR [unittest arguments]`."""

import json
import os
import pathlib
import signal
import time

import doppler_run
from doppler_run import DEADLINE_SECONDS, mpi_environment

BROADCAST = ("--set", "network.weights_by=broadcast")
THREE_RANKS = {"launcher": ("mpirun", "-n", "3"), "env": mpi_environment()}


def host_of_rank(launcher, rank):
    for pid in doppler_run.descendants(launcher, "doppler-actor-h"):
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return pid
    raise AssertionError(f"no host has rank {rank}")


class BroadcastTest(doppler_run.RunTest):
    def test_the_weights_are_those_of_a_run_by_sends(self):
        sent = self.final_digest(self.train("sends", "--workers", 1, **THREE_RANKS))
        run_dir = self.train("broadcast", "--workers", 1, *BROADCAST, **THREE_RANKS)
        self.assertEqual(self.final_digest(run_dir), sent)
        self.check_log(run_dir)
        self.check_summary(run_dir)
        self.assertEqual(self.rows(run_dir)[-1]["conflated_versions"], 0)

    def test_a_host_that_stands_still_is_named_and_costs_nothing_but_time(self):
        quiet = self.final_digest(self.train("quiet", "--workers", 1))
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 1, *BROADCAST,
                             **THREE_RANKS)
        self.wait_for_update(process, run_dir, 10)
        host = host_of_rank(process.pid, 2)
        os.kill(host, signal.SIGSTOP)
        try:
            self.wait_for_log(process, run_dir, "host 2 has not taken part in broadcast")
        finally:
            os.kill(host, signal.SIGCONT)
        self.finish(process)
        log = (run_dir / "log.txt").read_text()
        self.assertIn("host 2 takes part again", log)
        self.assertNotIn("host 1 has not", log)
        self.assertEqual(self.final_digest(run_dir), quiet)
        self.check_log(run_dir)
        late = self.rows(run_dir)[-1]["late_hosts"]
        self.assertEqual([entry["host"] for entry in late], [2])
        self.assertGreaterEqual(late[0]["seconds"], 2)
        self.assertNotIn("late_hosts", self.rows(run_dir)[0])
        output, _ = self.run_doppler("status", run_dir, "--json")
        self.assertEqual(json.loads(output)["late_hosts"], late)
        output, _ = self.run_doppler("status", run_dir)
        self.assertRegex(output, r"late for weights +host 2, \d+\.\d s in all")

    def test_asynchronous_runs_skip_versions_and_end(self):
        """Whatever is on its way when the run is asked to stop: all ranks agree on the number of broadcasts."""
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 1, *BROADCAST, "--set",
                             "learner.mode=asynchronous", "--set", "stages.simulation.episodes=100000000", **THREE_RANKS)
        self.wait_for_update(process, run_dir, 20)
        host = host_of_rank(process.pid, 1)
        os.kill(host, signal.SIGSTOP)  # so that versions wait, and are overtaken
        try:
            self.wait_for_update(process, run_dir, doppler_run.checkpoint_updates(run_dir)[-1] + 10)
            os.kill(doppler_run.descendants(process.pid, "doppler-train")[0], signal.SIGTERM)
            self.wait_for_log(process, run_dir, "stopped by signal", or_end=True)
        finally:
            os.kill(host, signal.SIGCONT)
        process.communicate(timeout=DEADLINE_SECONDS)  # the launcher makes an exit code of its own
        self.assertGreater(self.rows(run_dir)[-1]["conflated_versions"], 0)
        counts = json.loads((run_dir / "summary.json").read_text())["counts"]
        self.assertEqual(counts["opened"], sum(v for k, v in counts.items() if k != "opened"))

    def wait_for_log(self, process, run_dir, text, or_end=False):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text not in (run_dir / "log.txt").read_text():
            self.assertLess(time.monotonic(), deadline, f"the log does not say: {text}")
            if or_end and (run_dir / "summary.json").exists():
                return
            self.assertIsNone(process.poll(), "the run ended early")
            time.sleep(0.02)


if __name__ == "__main__":
    doppler_run.main()
