#!/usr/bin/env python3
"""Runs with all three stages: `real_stage_test.py BIN_DIR ANALYSIS_DIR [unittest arguments]`.

Placements run on two cores of this machine, on graphs small enough for milliseconds. What is measured is never compared with
a limit: the machine may do other things besides.
"""

import json
import os
import signal
import subprocess
import time

import doppler_run
import load_run
from doppler_run import DEADLINE_SECONDS

TOPOLOGY = doppler_run.ANALYSIS.parent / "configs/topologies/two-cores.yaml"
CONFIG = f"""
run: {{seed: 3, name: real, workers: 2}}
graph: {{path: graph.json}}
simulation: {{mode: physical, topology: {TOPOLOGY}}}
stages:
  imitation: {{episodes: 64}}
  simulation: {{episodes: 256}}
  real: {{enabled: true, episodes: 96}}
execution: {{repeats: 2, final_repeats: 6}}
learner: {{batch_episodes: 16, group_episodes: 4, epochs: 2, evaluate_every_updates: 5}}
checkpoint: {{every_updates: 1, every_seconds: 0}}
archive: {{decisions_per_second: -1}}
"""
UPDATES = (64 + 256 + 96) // 16
REAL = 3  # number of the stage in the log


def missing_backends():
    """A backend that this build lacks is found out before anything begins."""
    result = subprocess.run([doppler_run.BIN / "doppler", "calibrate", "--backend", "cuda", "--devices", "1", "-o", "-"],
                            capture_output=True, text=True)
    lacks = "this build is without it" in result.stderr
    return [(("execution.backend=cuda",), "execution.backend: this build is without cuda")] if lacks else []


class RealStageTest(doppler_run.RunTest):
    CONFIG = CONFIG

    def setUp(self):
        super().setUp()
        self.run_doppler("graph", "generate", "ffnn", "--devices", 2, "--costs", "physical", "-o", "graph.json",
                         *[word for size in ("batch=256", "inputs=64", "hidden=256", "outputs=64") for word in ("--size", size)])

    def check_run(self, run_dir, lives=1):
        summary = self.check_summary(run_dir)
        self.assertEqual(summary["outcome"], "done")
        self.assertEqual(summary["counts"]["trained"], 64 + 256 + 96)
        episodes = load_run.Run(run_dir).episodes()
        trained = episodes["status"] == 0
        real = trained & (episodes["stage"] == REAL)
        self.assertEqual(int(real.sum()), 96)
        self.assertEqual(len(set(episodes["episode"][trained].tolist())), 64 + 256 + 96)
        # One worker at a time measures; a resumed learner may number it anew.
        self.assertLessEqual(len(set(episodes["worker"][real].tolist())), lives, "workers measured beside each other")
        self.assertGreater(len(set(episodes["worker"][trained].tolist())), 1, "the other stages need no such care")
        graph = summary["graphs"][0]
        # The run's best of the real stage is the smallest that was measured in it.
        measured = trained | (episodes["status"] == 5)
        smallest = episodes["makespan_ticks"][measured & (episodes["stage"] == REAL)].min()
        self.assertEqual(graph["measured_best_seconds"], int(smallest) * 1e-12)
        # What was found before is measured before anything else: the policies' two placements, and baselines up to four.
        first = episodes["episode"][real].min()
        given = (episodes["status"] == 5) & (episodes["stage"] == REAL) & (episodes["episode"] < first)
        self.assertEqual(int(given.sum()), 4)
        # Two runs each, whose spread is told, and none of what was computed.
        counted = measured & (episodes["stage"] == REAL)
        self.assertEqual(set(episodes["repeats"][counted].tolist()), {2})
        self.assertGreater(float(episodes["spread_seconds"][counted].max()), 0)
        self.assertEqual(float(episodes["spread_seconds"][trained & (episodes["stage"] != REAL)].max()), 0)
        return graph

    def test_three_stages_in_one_command(self):
        run_dir = self.train("run")
        graph = self.check_run(run_dir)
        measured = graph["measured"]
        self.assertEqual(measured["rounds"], 6)
        names = [placement["name"] for placement in measured["placements"]]
        self.assertTrue(any(name.startswith("stage III, best") for name in names), names)
        for name in ("policy, best in simulation", "heft", "local-search"):
            self.assertIn(name, names)
        for placement in measured["placements"]:
            self.assertLessEqual(placement["low_seconds"], placement["median_seconds"])
            self.assertLessEqual(placement["median_seconds"], placement["high_seconds"])
        fastest = min((p for p in measured["placements"] if p["learned"]), key=lambda p: p["median_seconds"])
        self.assertEqual(measured["best_learned"], fastest["name"])
        self.assertLessEqual(measured["ratio_low"], measured["ratio"])
        self.assertLessEqual(measured["ratio"], measured["ratio_high"])
        # What is exported is what was measured best, and runs.
        best = json.loads((run_dir / "best/assignment.json").read_text())
        self.assertAlmostEqual(best["makespan_ticks"] * 1e-12, fastest["median_seconds"], places=9)
        self.run_doppler("execute", "graph.json", "--topology", TOPOLOGY, "--assignment", run_dir / "best/assignment.json",
                         "--verify", "--repeats", 2, "--no-control")
        rows = self.rows(run_dir)
        self.assertEqual([row["stage"] for row in rows[-6:]], ["real"] * 6)
        self.assertEqual(rows[-7]["stage"], "simulation")

    def test_deaths_in_the_real_stage(self):
        """kill -9 of the worker that measures, then of the learner; resumed, every episode counts once."""
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet")
        self.wait_for_update(process, run_dir, UPDATES - 5)
        workers = doppler_run.descendants(process.pid, "doppler-executi")
        self.assertEqual(len(workers), 2)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        self.wait_for_update(process, run_dir, UPDATES - 3)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=DEADLINE_SECONDS)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while any(self.alive(worker) for worker in workers):  # they die with their learner
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.run_doppler("resume", run_dir, "--quiet")
        self.check_run(run_dir, lives=2)

    def test_workers_that_join_on_the_machine_do_not_measure(self):
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 1, "--set", "stages.real.episodes=320")
        self.wait_for_update(process, run_dir, UPDATES - 6)
        actor = self.start("actor", "--join", run_dir, "--workers", 1)
        self.finish(process)
        _, errors = self.finish(actor)
        episodes = load_run.Run(run_dir).episodes()
        real = (episodes["status"] == 0) & (episodes["stage"] == REAL)
        self.assertEqual(int(real.sum()), 320)
        self.assertEqual(len(set(episodes["worker"][real].tolist())), 1, errors)

    @staticmethod
    def alive(pid):
        return pid in doppler_run.processes()

    def test_what_cannot_be_run_is_refused(self):
        for settings, message in (
            (("simulation.mode=reference", "simulation.topology="), "stages.real.enabled"),
            (("execution.backend=abacus",), "execution.backend"),
            (("execution.repeats=0",), "execution.repeats"),
            *missing_backends(),
        ):
            flags = [word for setting in settings for word in ("--set", setting)]
            _, errors = self.run_doppler("train", self.config, "--run-dir", self.path / "refused", *flags, expect=2)
            self.assertIn(message, errors)
            self.assertFalse((self.path / "refused").exists())


if __name__ == "__main__":
    doppler_run.main()
