#!/usr/bin/python3
"""analysis/load_run.py and plot_run.py on a made-up run.

usage: analysis_test.py ANALYSIS_FOLDER RUN_FILES_CHILD [KEEP_FIGURES_IN]
"""

import json
import math
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

ANALYSIS = pathlib.Path(sys.argv[1])
CHILD = sys.argv[2]
KEEP = sys.argv[3] if len(sys.argv) > 3 else None
sys.path.insert(0, str(ANALYSIS))
import load_run  # noqa: E402


def write_best(run):
    """A schedule of 60 operations on 4 devices that leaves gaps."""
    generator = random.Random(1)
    free = [0] * 4
    best = {"assignment": [], "start_ticks": [], "end_ticks": [], "operation_names": [], "operation_kinds": [],
            "order": list(range(60)), "graph": "chain", "episode": 1234, "seed": 5, "found_by": "policy sample"}
    for i in range(60):
        device = generator.randrange(4)
        start = free[device] + generator.randrange(0, 3000)
        free[device] = start + generator.randrange(5000, 60000)
        best["assignment"].append(device)
        best["start_ticks"].append(start)
        best["end_ticks"].append(free[device])
        best["operation_names"].append(f"op{i}")
        best["operation_kinds"].append(generator.choice(["matmul", "matmul", "add", "reduce"]))
    best["makespan_ticks"] = max(free)
    (run / "best").mkdir()
    (run / "best/assignment.json").write_text(json.dumps(best))


def write_metrics(run):
    lines = []
    for update in range(1, 201):
        mean = 1000000 + 500 * math.exp(-update / 60)
        record = {"time_seconds": update * 0.5, "stage": "imitation" if update < 20 else "simulation", "update": update,
                  "version": update, "episodes": update * 64, "makespan_mean_ticks": mean,
                  "makespan_min_ticks": int(mean - 100), "best_ticks": int(mean - 100), "entropy": 1.0,
                  "learning_rate": 0.01, "gradient_norm": 0.5, "episodes_per_second": 128.0, "counts": {}}
        if update % 50 == 0:
            record["greedy_ticks"] = int(mean - 50)
        lines.append(json.dumps(record))
    (run / "metrics.jsonl").write_text("\n".join(lines) + '\n{"time_sec')


def write_summary(run):
    baselines = [("one device", 4000000), ("critical path", 1000120), ("HEFT", 1000070), ("ETF", 1000075)]
    graph = {"name": "chain", "lower_bound_ticks": 999950, "policy_greedy_ticks": 1000010, "policy_best_ticks": 1000000,
             "baselines": [{"name": name, "makespan_ticks": ticks, "ratio_to_lower_bound": ticks / 999950}
                           for name, ticks in baselines]}
    (run / "summary.json").write_text(json.dumps({"graphs": [graph], "episodes": 130}))


def program(name, *arguments):
    return subprocess.run(["/usr/bin/python3", str(ANALYSIS / name), *map(str, arguments)], capture_output=True,
                          text=True, check=False)


class Analysis(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="doppler-test-")
        self.run_dir = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def write_log(self):
        subprocess.run([CHILD, "write-sample", str(self.run_dir)], check=True)

    def test_episodes_are_the_same_as_the_log_was_written_from(self):
        self.write_log()
        run = load_run.Run(self.run_dir)
        episodes = run.episodes()
        # Lineage 0 played 0 .. 99, lineage 1 played 80 .. 129 (again).
        self.assertEqual(list(episodes["episode"]), list(range(130)))
        self.assertEqual(list(episodes["lineage"]), [0] * 80 + [1] * 50)
        self.assertEqual(list(run.decisions(episodes, 84)["operation"]), [(i + 84) % 229 for i in range(229)])
        self.assertEqual(len(run.decisions(episodes, 85)["operation"]), 0)

    def test_checkpoints_come_back_and_damage_is_found(self):
        self.write_log()
        run = load_run.Run(self.run_dir)
        checkpoint = run.checkpoint()
        self.assertEqual(checkpoint["attributes"]["update"], 7)
        self.assertEqual(list(checkpoint["parameters"])[0], "heads.select.weight")
        self.assertEqual(checkpoint["counts"]["trained"], 60)
        path = run.checkpoints()[0]
        data = bytearray(path.read_bytes())
        data[2000] ^= 1
        path.write_bytes(data)
        with self.assertRaisesRegex(load_run.RunError, "damaged"):
            run.checkpoint()

    def test_a_damaged_segment_is_left_out_with_a_warning(self):
        self.write_log()
        (self.run_dir / "trajectories/segment-000003.h5").write_bytes(b"no HDF5")
        run = load_run.Run(self.run_dir)
        self.assertEqual(len(run.episodes()["episode"]), 130)
        self.assertIn("segment-000003.h5: left out", run.warnings[0])

    def test_a_cut_last_line_of_metrics_is_left_out(self):
        write_metrics(self.run_dir)
        self.assertEqual(len(load_run.Run(self.run_dir).metrics()), 200)

    def test_everything_is_drawn(self):
        self.write_log()
        write_metrics(self.run_dir)
        write_summary(self.run_dir)
        write_best(self.run_dir)
        done = program("plot_run.py", self.run_dir, "-o", self.run_dir / "figures")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        figures = {path.name: path for path in (self.run_dir / "figures").iterdir()}
        self.assertEqual(sorted(figures), ["schedule.png", "schedule.svg", "training.png", "training.svg"])
        for name in ("schedule.png", "training.png"):
            self.assertTrue(figures[name].read_bytes().startswith(b"\x89PNG"))
        training = figures["training.svg"].read_text(encoding="utf-8")
        for text in ("lower bound", "critical path", "HEFT", "best so far", "greedy policy", "above the figure: one device",
                     "episodes", "makespan (seconds)"):
            self.assertIn(text, training)
        schedule = figures["schedule.svg"].read_text(encoding="utf-8")
        for text in ("device 3", "matmul", "idle", "time (seconds)", "found by policy sample"):
            self.assertIn(text, schedule)
        if KEEP:
            for path in figures.values():
                shutil.copy(path, KEEP)

    def test_metrics_alone_are_drawn(self):
        write_metrics(self.run_dir)
        done = program("plot_run.py", self.run_dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("summary.json: missing", done.stderr)
        self.assertIn("assignment.json: missing", done.stderr)
        self.assertTrue((self.run_dir / "figures/training.png").exists())

    def test_figures_that_cannot_be_written_are_told_in_one_line(self):
        write_metrics(self.run_dir)
        (self.run_dir / "file").write_text("")
        for folder in (self.run_dir / "file", self.run_dir / "file/below", "/proc/doppler"):
            done = program("plot_run.py", self.run_dir, "-o", folder)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(f"plot_run.py: {folder}: ", done.stderr)
        # As on a full disk: no file may grow beyond 4096 bytes.
        done = subprocess.run(["/usr/bin/python3", str(ANALYSIS / "plot_run.py"), str(self.run_dir)], check=False,
                              capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("figures: File too large; name a folder", done.stderr)

    def test_what_is_missing_is_told(self):
        for name in ("load_run.py", "plot_run.py"):
            done = program(name, self.run_dir / "none")
            self.assertEqual(done.returncode, 2)
            self.assertIn("there is no such run folder", done.stderr)
        done = program("plot_run.py", self.run_dir)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing to draw", done.stderr)
        self.assertEqual(program("load_run.py", self.run_dir).returncode, 0)

    def test_plot_of_fidelity(self):
        with tempfile.TemporaryDirectory() as folder:
            points = pathlib.Path(folder) / "points.csv"
            points.write_text("simulated_seconds,measured_seconds,low_seconds,high_seconds,disturbed\n"
                              "0.1,0.12,0.11,0.13,0\n0.2,0.2,0.2,0.2,1\n")
            figure = pathlib.Path(folder) / "fidelity.png"
            done = program("plot_fidelity.py", points, "-o", figure)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(figure.read_bytes()[:4], b"\x89PNG")
            points.write_text("a,b\n1,2\n")
            done = program("plot_fidelity.py", points, "-o", figure)
            self.assertEqual(done.returncode, 2)
            self.assertIn("points.csv:1: expected the columns", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
