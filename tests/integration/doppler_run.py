"""What tests of whole runs share: starting programs, waiting for events, and judging what a run left behind.

Budgets are in episodes, so that a run's weights are a function of its configuration; what is compared is compared bit for bit.
Waits are for events (a checkpoint of a certain update is there), each with a generous deadline.

A test program is called as `TEST BIN_DIR ANALYSIS_DIR [unittest arguments]`.
"""

import glob
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv[1]).resolve()
ANALYSIS = pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ANALYSIS))

import h5py  # noqa: E402
import load_run  # noqa: E402

DEADLINE_SECONDS = 240
CONFIG = """
run: {seed: 7, name: test, workers: 2}
graph: {generate: chain-mm}
stages:
  imitation: {episodes: 320}
  simulation: {episodes: 2880}
learner: {batch_episodes: 32, group_episodes: 8, evaluate_every_updates: 10}
checkpoint: {every_updates: 5, every_seconds: 0}
archive: {decisions_per_second: -1}
"""
UPDATES = (320 + 2880) // 32
EPISODES = 320 + 2880


def environment():
    result = dict(os.environ)
    for name in list(result):  # this test may itself run under a launcher
        if name.startswith(("OMPI_", "PMIX_", "PMI_")):
            del result[name]
    return result


def mpi_environment():
    result = environment()
    result.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                  OMPI_MCA_rmaps_base_oversubscribe="1")
    return result


def weights_digest(path):
    """Of all parameters and the optimizer's state."""
    digest = hashlib.sha256()

    def add(name, item):
        if isinstance(item, h5py.Dataset) and name.split("/")[0] in ("parameters", "optimizer"):
            digest.update(name.encode())
            digest.update(item[()].tobytes())

    with h5py.File(path, "r") as file:
        file.visititems(add)
    return digest.hexdigest()


def checkpoint_updates(run_dir):
    names = glob.glob(f"{run_dir}/checkpoints/checkpoint-*.h5")
    return sorted(int(name[-15:-3]) for name in names)


def processes():
    """{pid: (parent, name)} of all that live; a name is cut at 15 characters."""
    result = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf8") as file:
                text = file.read()
        except OSError:
            continue
        name = text[text.index("(") + 1:text.rindex(")")]
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if state != "Z":
            result[int(text.split()[0])] = (int(parent), name)
    return result


def children_of(pid):
    """Live worker processes of a learner or host."""
    return [child for child, (parent, name) in processes().items()
            if parent == pid and name.startswith("doppler-worker")]


def descendants(pid, name):
    """Of a launcher: processes whose name begins so."""
    found = processes()

    def descends(child):
        while child in found:
            child = found[child][0]
            if child == pid:
                return True
        return False

    return [child for child in sorted(found) if found[child][1].startswith(name) and descends(child)]


class RunTest(unittest.TestCase):
    CONFIG = CONFIG

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="doppler-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.config = self.path / "config.yaml"
        self.config.write_text(self.CONFIG, encoding="utf8")
        self.started = []
        self.addCleanup(self.kill_started)

    def kill_started(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, *arguments, launcher=(), env=None):
        process = subprocess.Popen([*launcher, BIN / "doppler", *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=env or environment(), cwd=self.path)
        self.started.append(process)
        return process

    def finish(self, process, expect=0):
        output, errors = process.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(process.returncode, expect, errors)
        return output, errors

    def run_doppler(self, *arguments, expect=0, **options):
        return self.finish(self.start(*arguments, **options), expect)

    def train(self, name, *arguments, **options):
        run_dir = self.path / name
        self.run_doppler("train", self.config, "--run-dir", run_dir, "--quiet", *arguments, **options)
        return run_dir

    def wait_for_update(self, process, run_dir, update):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not any(u >= update for u in checkpoint_updates(run_dir)):
            self.assertLess(time.monotonic(), deadline, "no checkpoint came")
            self.assertIsNone(process.poll(), "the run ended early")
            time.sleep(0.002)

    def final_digest(self, run_dir):
        self.assertEqual(checkpoint_updates(run_dir)[-1], UPDATES)
        return weights_digest(f"{run_dir}/checkpoints/checkpoint-{UPDATES:012}.h5")

    def check_log(self, run_dir):
        """Every trained episode once, none missing."""
        episodes = load_run.Run(run_dir).episodes()
        trained = sorted(int(e) for e, s in zip(episodes["episode"], episodes["status"]) if s == 0)
        self.assertEqual(len(trained), EPISODES)
        self.assertEqual(len(set(trained)), EPISODES)

    @staticmethod
    def rows(run_dir):
        """Of the metrics; the last line of a run that goes on may not be whole yet."""
        text = (run_dir / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def check_summary(self, run_dir):
        summary = json.loads((run_dir / "summary.json").read_text())
        counts = summary["counts"]
        self.assertEqual(counts["outstanding"], 0)
        closed = sum(v for k, v in counts.items() if k not in ("opened", "outstanding"))
        self.assertEqual(counts["opened"], closed)
        return summary


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
