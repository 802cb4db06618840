#!/usr/bin/env python3
"""What breaks while a run goes on: `faults_test.py BIN_DIR ANALYSIS_DIR [unittest arguments]`.

Short versions; scripts/soak.sh takes the same for longer (DOPPLER_FAULT_SECONDS).
"""

import json
import os
import random
import re
import resource
import signal
import subprocess
import time

import doppler_run
import load_run
from doppler_run import DEADLINE_SECONDS, children_of, environment
from tcp_proxy import TcpProxy

SECONDS = float(os.environ.get("DOPPLER_FAULT_SECONDS", "5"))
ENDLESS = ("--set", "stages.simulation.episodes=100000000")


class FaultsTest(doppler_run.RunTest):
    def stop_and_compare(self, process, run_dir, *flags):
        """Stops the run, and holds it to one that makes as many updates without any trouble."""
        process.send_signal(signal.SIGTERM)
        _, errors = self.finish(process, expect=75)
        updates = doppler_run.checkpoint_updates(run_dir)[-1]
        quiet = self.path / f"quiet-{run_dir.name}"
        self.run_doppler("train", self.config, "--run-dir", quiet, "--quiet", *ENDLESS, "--stop-after-updates", updates,
                         *flags, expect=75)
        digests = [doppler_run.weights_digest(f"{run}/checkpoints/checkpoint-{updates:012}.h5")
                   for run in (quiet, run_dir)]
        self.assertEqual(digests[0], digests[1])
        summary = json.loads((run_dir / "summary.json").read_text())
        counts = summary["counts"]
        self.assertEqual(counts["opened"], sum(v for k, v in counts.items() if k != "opened"))
        self.assertEqual(counts["trained"], updates * 32)
        self.assertEqual(counts["failed"] + counts["dropped_invalid"] + counts["dropped_stale"], 0)
        episodes = load_run.Run(run_dir).episodes()
        trained = episodes["episode"][episodes["status"] == 0].tolist()
        self.assertEqual(len(trained), counts["trained"])
        self.assertEqual(len(set(trained)), counts["trained"])
        return summary, errors

    def test_a_storm_of_deaths(self):
        """A random worker by a random signal every half second: restarts = kills, nothing lost, the same weights."""
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 3, *ENDLESS)
        self.wait_for_update(process, run_dir, 5)
        randomness = random.Random(3)
        killed = set()  # one that dies just now is still there
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            # One that finished an episode since it was started: others back off, and would be given up.
            workers = [pid for pid in children_of(process.pid) if pid not in killed]
            if len(workers) == 3:
                victim = randomness.choice(workers)
                os.kill(victim, randomness.choice((signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)))
                killed.add(victim)
            self.assertIsNone(process.poll())
            update = doppler_run.checkpoint_updates(run_dir)[-1]
            time.sleep(0.5)
            self.wait_for_update(process, run_dir, update + 5)
        # The last one killed is back.
        deadline = time.monotonic() + DEADLINE_SECONDS
        while len([pid for pid in children_of(process.pid) if pid not in killed]) < 3:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        summary, errors = self.stop_and_compare(process, run_dir)
        self.assertGreaterEqual(len(killed), 3)
        self.assertEqual(summary["restarts"], len(killed), errors)

    def test_a_bad_network(self):
        """A host behind connections that stall, are delayed, cut and reset: no loss, no duplicate, the same weights."""
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 1, "--set",
                             "network.transport=tcp", *ENDLESS)
        self.wait_for_update(process, run_dir, 5)
        join = run_dir / "join"
        text = join.read_text()
        port = int(re.search(r"network_endpoint tcp://127.0.0.1:(\d+)", text).group(1))
        with TcpProxy(port) as proxy:
            join.write_text(text.replace(f":{port}", f":{proxy.port}"))
            host = self.start("actor", "--join", run_dir, "--workers", 2)
            deadline = time.monotonic() + DEADLINE_SECONDS
            while not any(entry["host"] == 1 and entry["episodes"] > 0
                          for row in self.rows(run_dir) for entry in row.get("hosts", [])):
                self.assertLess(time.monotonic(), deadline, "the host does not play")
                time.sleep(0.05)
            proxy.treat_badly(SECONDS, seed=1)
            self.assertGreater(proxy.connections, 4)
            # It recovers: what it plays counts again.
            before = self.played_by(run_dir, 1)
            deadline = time.monotonic() + DEADLINE_SECONDS
            while self.played_by(run_dir, 1) <= before:
                self.assertLess(time.monotonic(), deadline, "the host does not play any more")
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            self.assertGreater(self.rows(run_dir)[-1]["reissued_tickets"], 0, "nothing was lost on the way")
            host.send_signal(signal.SIGTERM)
            self.finish(host)
            self.stop_and_compare(process, run_dir)

    def played_by(self, run_dir, host):
        for row in reversed(self.rows(run_dir)):
            for entry in row.get("hosts", []):
                if entry["host"] == host:
                    return entry["episodes"]
        return 0

    def test_a_full_disk(self):
        """Training goes on, says so, keeps the last good checkpoint, and is no success."""
        disk = self.path / "disk"
        disk.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", disk],
                                               capture_output=True).returncode != 0:
            self.skipTest("a small file system takes a privilege to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        run_dir = disk / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", *ENDLESS)
        deadline = time.monotonic() + DEADLINE_SECONDS
        log = run_dir / "log.txt"
        while not (log.exists() and "could not be written" in log.read_text(errors="replace")):
            self.assertLess(time.monotonic(), deadline, "the disk did not fill")
            self.assertIsNone(process.poll(), "the run ended")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = self.finish(process, expect=3)
        self.assertIn("look for a full disk", errors)
        self.assertGreater(len(doppler_run.checkpoint_updates(run_dir)), 0)
        self.assertGreater(load_run.Run(run_dir).checkpoint()["attributes"]["update"], 0)

    def test_few_open_files(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        def train(workers):
            return subprocess.run([doppler_run.BIN / "doppler", "train", self.config, "--run-dir", self.path / str(workers),
                                   "--quiet", "--workers", str(workers), "--stop-after-updates", "20"],
                                  env=environment(), capture_output=True, text=True, preexec_fn=limit,
                                  timeout=DEADLINE_SECONDS)

        refused = train(60)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("only 64 files may be open at a time", refused.stderr)
        self.assertFalse((self.path / "60").exists())
        self.assertEqual(train(8).returncode, 75)

    def test_the_trial_of_resume(self):
        output, _ = self.run_doppler("train", self.config, "--run-dir", self.path / "trial", "--verify-resume", 12, 8)
        self.assertIn("equal to the last bit after 20 updates", output)
        self.assertRegex(output, r"\((\d*[1-9]\d*) were played again\)")
        _, errors = self.run_doppler("train", self.config, "--run-dir", self.path / "asynchronous", "--verify-resume", 12, 8,
                                     "--set", "learner.mode=asynchronous", expect=2)
        self.assertIn("learner.mode: synchronous", errors)
        _, errors = self.run_doppler("train", self.config, "--run-dir", self.path / "small", "--verify-resume", 120, 8,
                                     expect=3)
        self.assertIn("exit code 0 instead of 75", errors)


if __name__ == "__main__":
    doppler_run.main()
