#!/usr/bin/env python3
"""Whole runs in asynchronous mode: `asynchronous_test.py BIN_DIR ANALYSIS_DIR [unittest arguments]`.

What is trained when depends on who is fast, so weights are not compared; bounds and books are.
"""

import json
import os
import pathlib
import random
import signal
import time

import doppler_run
import load_run
from doppler_run import DEADLINE_SECONDS, EPISODES, UPDATES, children_of, mpi_environment

CONFIG = doppler_run.CONFIG.replace("learner: {", "learner: {mode: asynchronous, max_staleness: 2, ")


class AsynchronousTest(doppler_run.RunTest):
    CONFIG = CONFIG

    def check_run(self, run_dir, staleness=2, updates=UPDATES, batch=32):
        """Budget used to the last episode, books balanced in every row, nothing trained too late, all of it logged once."""
        summary = self.check_summary(run_dir)
        counts = summary["counts"]
        rows = self.rows(run_dir)
        self.assertEqual([row["update"] for row in rows], list(range(1, updates + 1)))
        for row in rows:
            self.assertLessEqual(len(row["lags"]), staleness + 1, row)
            # With several graphs tickets are of unequal size, so that a batch may exceed its measure by part of one.
            self.assertGreaterEqual(sum(row["lags"]), batch)
            self.assertLess(sum(row["lags"]), batch + 8)
            books = row["counts"]
            closed = sum(v for k, v in books.items() if k != "opened")  # outstanding is among them
            self.assertEqual(books["opened"], closed, row)
            # Admission: what is out can be trained within the bound.
            self.assertLessEqual(books["outstanding"], (staleness + 1) * batch)
            self.assertGreater(row["effective_sample_fraction"], 0)
            self.assertLessEqual(row["effective_sample_fraction"], 1 + 1e-6)
        self.assertEqual(counts["trained"], sum(sum(row["lags"]) for row in rows))
        episodes = load_run.Run(run_dir).episodes()
        for status, name in ((0, "trained"), (1, "dropped_stale")):
            logged = episodes["episode"][episodes["status"] == status].tolist()
            self.assertEqual(len(logged), len(set(logged)))
            self.assertEqual(len(logged), counts[name], name)
        report = json.loads(self.run_doppler("inspect", run_dir, "--json")[0])
        self.assertEqual(report["problems"], [])
        return summary

    def test_runs_end_with_their_books_balanced(self):
        for name, staleness, flags in (
            ("plain", 2, ()),
            ("current", 0, ("--set", "learner.max_staleness=0", "--set", "network.transport=tcp", "--workers", 3)),
        ):
            with self.subTest(name):
                run_dir = self.train(name, *flags)
                self.assertEqual(self.check_run(run_dir, staleness)["counts"]["trained"], EPISODES)
        lags = [row["lags"] for row in self.rows(self.path / "plain")]
        self.assertTrue(any(sum(row[1:]) > 0 for row in lags), "nobody played while the learner trained")
        text, _ = self.run_doppler("status", self.path / "plain")
        self.assertIn("versions behind", text)
        text, _ = self.run_doppler("status", self.path / "plain", "--prometheus")
        self.assertIn('doppler_recent_lag_episodes{run="%s",versions="1"}' % (self.path / "plain"), text)

    def test_ranks_and_several_graphs(self):
        run_dir = self.train("run", "--workers", 1, "--set", "graph.generate=chain-mm,ffnn",
                             launcher=("mpirun", "-n", "3"), env=mpi_environment())
        summary = self.check_run(run_dir)
        self.assertLess(summary["counts"]["trained"], EPISODES + 8 * UPDATES)
        self.assertEqual([graph["name"] for graph in summary["graphs"]], ["chain-mm", "ffnn"])
        workers = set(load_run.Run(run_dir).episodes()["worker"].tolist())
        self.assertEqual(workers, {0, 1, 2})

    def test_a_slow_learner_is_not_overrun(self):
        run_dir = self.train("run", "--set", "model.hidden_width=256", "--set", "stages.simulation.episodes=320",
                             "--set", "learner.max_staleness=3")
        summary = self.check_run(run_dir, 3, (320 + 320) // 32)
        self.assertEqual(summary["counts"]["dropped_stale"], 0)

    def wait_until_it_runs(self, pid):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "R":
            self.assertLess(time.monotonic(), deadline, "the worker does nothing")

    def test_what_a_slow_worker_sends_too_late_is_dropped_and_counted(self):
        run_dir = self.path / "run"
        episodes = 320 + 19200
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--set",
                             "stages.simulation.episodes=19200", "--set", "learner.group_episodes=16")
        # Beyond imitation, which needs every one of its tickets to end.
        self.wait_for_update(process, run_dir, 15)
        victim = children_of(process.pid)[0]
        # Whether it plays at the moment when it is stopped is a matter of luck: until it did.
        for _ in range(25):
            # As many updates without it that what it plays now may not be trained on any more.
            update = doppler_run.checkpoint_updates(run_dir)[-1]
            self.wait_until_it_runs(victim)  # just after a checkpoint it would wait for tickets
            os.kill(victim, signal.SIGSTOP)
            self.wait_for_update(process, run_dir, update + 10)
            os.kill(victim, signal.SIGCONT)
            self.wait_for_update(process, run_dir, update + 15)
            if self.rows(run_dir)[-1]["counts"]["dropped_stale"] > 0:
                break
        self.finish(process)
        summary = self.check_run(run_dir, updates=episodes // 32)
        self.assertEqual(summary["counts"]["trained"], episodes)
        if summary["counts"]["dropped_stale"] == 0:  # what a dropped one does, asynchronous_batches_test checks without luck
            self.skipTest("the worker was never stopped while it played")

    def test_killed_workers_cost_nothing_but_time(self):
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet")
        killed = set()  # one that dies just now is still there
        for update in (5, 15, 25, 35, 45):
            self.wait_for_update(process, run_dir, update)
            for worker in [pid for pid in children_of(process.pid) if pid not in killed][:1]:
                os.kill(worker, (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)[len(killed) % 3])
                killed.add(worker)
        kills = len(killed)
        _, errors = self.finish(process)
        self.assertGreaterEqual(kills, 3)
        self.assertEqual(self.check_run(run_dir)["restarts"], kills, errors)

    def test_a_killed_learner_goes_on_from_its_checkpoint(self):
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet")
        randomness = random.Random(2)
        target = 0
        for life in range(4):
            target += randomness.randrange(1, 25)
            if life > 0:  # an update of this life, which signals and kills do not find starting
                target = max(target, doppler_run.checkpoint_updates(run_dir)[-1] + 5)
            self.wait_for_update(process, run_dir, min(target, UPDATES - 10))
            if life == 1:
                process.send_signal(signal.SIGTERM)
                self.finish(process, expect=75)
            else:
                process.kill()
                process.communicate()
            process = self.start("resume", run_dir, "--quiet", "--workers", randomness.randrange(1, 4))
        self.finish(process)
        summary = self.check_run(run_dir)
        # Each life ended with tickets out; those are what was lost, by number.
        discarded = summary["counts"]["discarded_at_resume"]
        self.assertGreater(discarded, 0)
        self.assertLessEqual(discarded, 4 * 3 * 32)
        self.assertEqual(summary["counts"]["opened"], EPISODES + discarded + summary["counts"]["dropped_stale"])

    def test_a_frozen_host_holds_nobody_up(self):
        """One of three hosts stands still, its workers too: the others get every version and the run goes on."""
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 1, "--set",
                             "stages.simulation.episodes=100000000", launcher=("mpirun", "-n", "3"),
                             env=mpi_environment())
        self.wait_for_update(process, run_dir, 20)
        host = doppler_run.descendants(process.pid, "doppler-actor-h")[0]
        frozen = [host, *doppler_run.children_of(host)]
        self.assertEqual(len(frozen), 2)
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            began = doppler_run.checkpoint_updates(run_dir)[-1]
            frozen_at = time.monotonic()
            self.wait_for_update(process, run_dir, began + 100)
            while time.monotonic() - frozen_at < float(os.environ.get("DOPPLER_FROZEN_SECONDS", "0")):
                time.sleep(0.1)
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        self.wait_for_update(process, run_dir, doppler_run.checkpoint_updates(run_dir)[-1] + 20)
        learner = doppler_run.descendants(process.pid, "doppler-train")[0]
        os.kill(learner, signal.SIGTERM)
        process.communicate(timeout=DEADLINE_SECONDS)  # the launcher makes an exit code of its own
        rows = self.rows(run_dir)
        # While it stood still (and its worker's last ticket with it), the others' weights stayed within the bound.
        self.assertTrue(all(len(row["lags"]) <= 3 for row in rows))
        during = [row for row in rows if began < row["update"] <= began + 100]
        self.assertEqual(len(during), 100)
        log = load_run.Run(run_dir).episodes()
        counts = json.loads((run_dir / "summary.json").read_text())["counts"]
        self.assertEqual(int((log["status"] == 0).sum()), counts["trained"])
        self.assertEqual(counts["failed"] + counts["dropped_invalid"], 0)


if __name__ == "__main__":
    doppler_run.main()
