#!/usr/bin/env python3
"""Hosts that come and go, and strangers: `elastic_test.py BIN_DIR ANALYSIS_DIR [unittest arguments]`."""

import os
import random
import re
import signal
import socket
import stat
import threading
import time

import doppler_run
import load_run
from doppler_run import DEADLINE_SECONDS, children_of

STRANGER_SECONDS = float(os.environ.get("DOPPLER_STRANGER_SECONDS", "1.5"))


class ElasticTest(doppler_run.RunTest):
    def join(self, run_dir, *flags):
        return self.start("actor", "--join", run_dir, "--workers", 1, *flags)

    def wait_until(self, condition, what, process=None):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            if process is not None:
                self.assertIsNone(process.poll(), f"{what}: the run ended early")
            time.sleep(0.005)

    def log_text(self, run_dir):
        path = run_dir / "log.txt"
        return path.read_text() if path.exists() else ""

    def wait_for_log(self, run_dir, pattern, process=None, count=1):
        self.wait_until(lambda: len(re.findall(pattern, self.log_text(run_dir))) >= count, pattern, process)

    def wait_for_worker_of(self, host, run_dir, process):
        """Until the newest list of hosts shows that one with episodes."""

        def is_there():
            rows = [row for row in self.rows(run_dir)[-2000:] if "hosts" in row] if (run_dir / "metrics.jsonl").exists() else []
            return any(entry["host"] == host and entry["episodes"] > 0 for row in rows for entry in row["hosts"])

        self.wait_until(is_there, f"host {host} plays", process)

    def test_weights_do_not_depend_on_who_comes_and_goes(self):
        settings = ("--set", "stages.simulation.episodes=9600")
        updates = (320 + 9600) // 32
        quiet = self.train("quiet", *settings)
        run_dir = self.path / "elastic"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 1, *settings)
        self.wait_for_update(process, run_dir, 5)
        # One that stays, one that leaves when asked, one that is killed with its worker, and its worker once before.
        # The one that stays would not wait for a learner, but there is one.
        stays, leaves, killed = self.join(run_dir, "--wait", 0), self.join(run_dir), self.join(run_dir)
        self.wait_for_log(run_dir, r"joins the run with 1 workers", process, 3)
        for host in (1, 2, 3):
            self.wait_for_worker_of(host, run_dir, process)
        self.wait_until(lambda: children_of(killed.pid), "a worker to kill")
        os.kill(children_of(killed.pid)[0], signal.SIGKILL)
        leaves.send_signal(signal.SIGTERM)
        _, errors = self.finish(leaves)
        self.assertIn("left the run", errors)
        update = doppler_run.checkpoint_updates(run_dir)[-1]
        self.wait_for_update(process, run_dir, update + 10)
        killed.kill()
        killed.communicate()
        self.finish(process)
        _, errors = self.finish(stays)
        self.assertIn("the run has ended", errors)
        self.assertFalse((run_dir / "join").exists())

        digests = [doppler_run.weights_digest(f"{run}/checkpoints/checkpoint-{updates:012}.h5")
                   for run in (quiet, run_dir)]
        self.assertEqual(digests[0], digests[1])
        summary = self.check_summary(run_dir)
        self.assertEqual(summary["counts"]["trained"], 320 + 9600)
        self.assertEqual(summary["counts"]["failed"], 0)
        self.assertEqual(len(set(load_run.Run(run_dir).episodes()["worker"].tolist())), 4)
        text, _ = self.run_doppler("status", run_dir)
        self.assertRegex(text, r"host \d +\S+ +1 workers")
        prometheus, _ = self.run_doppler("status", run_dir, "--prometheus")
        self.assertIn("doppler_host_workers{", prometheus)

    def test_a_host_goes_over_to_the_next_life_of_the_run(self):
        run_dir = self.path / "run"
        settings = ("--set", "learner.mode=asynchronous", "--set", "network.join=network")
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--workers", 1, "--set",
                             "stages.simulation.episodes=100000000", *settings)
        self.wait_for_update(process, run_dir, 5)
        text = (run_dir / "join").read_text()
        self.assertEqual(stat.S_IMODE((run_dir / "join").stat().st_mode), 0o600)
        self.assertIn("network_endpoint tcp://", text)
        # As from another machine: the local endpoint is not for it.
        (run_dir / "join").write_text(re.sub("place .*", "place elsewhere", text))
        host = self.join(run_dir)
        self.wait_for_log(run_dir, "host 1 .* joins", process)
        self.wait_for_worker_of(1, run_dir, process)
        process.kill()
        process.communicate()
        process = self.start("resume", run_dir, "--quiet", "--workers", 1)
        self.wait_for_log(run_dir, "host 1 .* joins", process, 2)
        process.send_signal(signal.SIGTERM)
        self.finish(process, expect=75)
        _, errors = self.finish(host)
        self.assertIn("the run was resumed", errors)
        self.assertRegex(errors, r"learner at tcp://")

    def test_a_folder_without_a_run_is_refused(self):
        _, errors = self.run_doppler("actor", "--join", self.path / "nothing", expect=2)
        self.assertIn("there is no such folder", errors)
        (self.path / "empty").mkdir()
        _, errors = self.run_doppler("actor", "--join", self.path / "empty", expect=2)
        self.assertIn("there is no config.yaml in it", errors)
        (self.path / "empty/config.yaml").write_text("{}")
        (self.path / "empty/summary.json").write_text('{\n  "outcome": "done",\n')
        _, errors = self.run_doppler("actor", "--join", self.path / "empty", expect=2)
        self.assertIn("the run is done", errors)
        _, errors = self.run_doppler("actor", "--join", self.path, "--wait", 0, expect=3)
        self.assertIn("no learner came within 0 s", errors)
        (self.path / "join").write_text("something else\n")
        _, errors = self.run_doppler("actor", "--join", self.path, expect=2)
        self.assertIn("its first line", errors)

    def test_strangers_are_refused_and_counted_and_cost_nothing(self):
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--set", "network.transport=tcp",
                             "--set", "stages.simulation.episodes=100000000", "--set", "checkpoint.keep=10000")
        self.wait_for_update(process, run_dir, 5)
        endpoint = re.search(r"tcp://127.0.0.1:(\d+)", self.log_text(run_dir))
        port = int(endpoint.group(1))
        sent = 0
        stop = threading.Event()

        def attack(seed):
            nonlocal sent
            randomness = random.Random(seed)
            # What ZeroMQ says first: a greeting of version 3 that asks for CURVE as a client, or for no security at all.
            greetings = [b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") + b"\0" + bytes(31)
                         for mechanism in (b"CURVE", b"NULL")]
            while not stop.is_set():
                first = randomness.choice([b"", *greetings])
                huge = b"\x06" + (1 << 60).to_bytes(8, "big")  # a command that says it is 2^60 bytes long
                rest = randomness.choice([b"", huge, randomness.randbytes(randomness.randrange(1, 2000))])
                try:
                    with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
                        stranger.sendall(first + rest)
                        stranger.shutdown(socket.SHUT_WR)
                        while stranger.recv(4096):
                            pass
                except OSError:
                    pass  # it hung up, as it should
                sent += 1

        attackers = [threading.Thread(target=attack, args=(seed,)) for seed in range(3)]
        for attacker in attackers:
            attacker.start()
        began = time.monotonic()
        # Some seconds, in which the run goes on.
        update = doppler_run.checkpoint_updates(run_dir)[-1]
        self.wait_until(lambda: sent >= 200 and time.monotonic() - began > STRANGER_SECONDS, "enough attempts", process)
        self.wait_for_update(process, run_dir, update + 50)
        stop.set()
        for attacker in attackers:
            attacker.join()
        self.wait_until(lambda: self.rows(run_dir)[-1]["refused_connections"] >= sent, "all are counted", process)
        self.assertEqual(self.rows(run_dir)[-1]["refused_connections"], sent)
        process.send_signal(signal.SIGTERM)
        self.finish(process, expect=75)
        # Their noise reached nobody: no worker died, and the weights are those of the quiet run.
        self.assertEqual(self.rows(run_dir)[-1]["restarts"], 0)
        middle = doppler_run.weights_digest(run_dir / "checkpoints" / "checkpoint-000000000010.h5")
        reference = self.path / "reference"
        self.run_doppler("train", self.config, "--run-dir", reference, "--quiet", "--set",
                         "stages.simulation.enabled=false")
        self.assertEqual(middle, doppler_run.weights_digest(reference / "checkpoints" / "checkpoint-000000000010.h5"))
        text, _ = self.run_doppler("status", run_dir)
        self.assertIn(f"{sent} connections refused", text)


if __name__ == "__main__":
    doppler_run.main()
