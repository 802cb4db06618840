#!/usr/bin/env python3
"""Whole runs with real processes: `training_test.py BIN_DIR ANALYSIS_DIR [unittest arguments]`."""

import glob
import json
import os
import random
import signal
import subprocess
import time

import doppler_run
import load_run
from doppler_run import ANALYSIS, BIN, DEADLINE_SECONDS, UPDATES, checkpoint_updates, children_of, environment, mpi_environment


class TrainingTest(doppler_run.RunTest):
    def test_weights_do_not_depend_on_workers_or_ranks(self):
        digests = {}
        for workers in (1, 2, 4):
            run_dir = self.train(f"w{workers}", "--workers", workers)
            digests[f"{workers} workers"] = self.final_digest(run_dir)
            self.check_log(run_dir)
        run_dir = self.train("ranks", "--workers", 1, launcher=("mpirun", "-n", "3"), env=mpi_environment())
        digests["3 ranks"] = self.final_digest(run_dir)
        self.assertEqual(len(set(digests.values())), 1, digests)
        # All three hosts played.
        workers = set(load_run.Run(run_dir).episodes()["worker"].tolist())
        self.assertEqual(workers, {0, 1, 2})
        # Another seed is another run.
        other = self.train("other", "--set", "run.seed=8")
        self.assertNotEqual(self.final_digest(other), digests["1 workers"])

    def test_gradients_of_workers_give_the_same_weights_whoever_computes_them(self):
        spared = ("--set", "learner.gradients=workers")
        digests = {}
        for workers in (1, 3):
            run_dir = self.train(f"g{workers}", "--workers", workers, *spared)
            digests[f"{workers} workers"] = self.final_digest(run_dir)
            self.check_log(run_dir)
            self.check_summary(run_dir)
        digests["3 ranks"] = self.final_digest(
            self.train("granks", "--workers", 1, *spared, launcher=("mpirun", "-n", "3"), env=mpi_environment()))

        run_dir = self.path / "deaths"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", *spared)
        for update in (10, 30):
            self.wait_for_update(process, run_dir, update)
            os.kill(children_of(process.pid)[0], signal.SIGKILL)
        self.wait_for_update(process, run_dir, 50)
        process.kill()
        process.communicate()
        self.run_doppler("resume", run_dir, "--quiet", "--workers", 1)
        digests["deaths and resume"] = self.final_digest(run_dir)
        self.check_log(run_dir)
        self.assertEqual(len(set(digests.values())), 1, digests)

        # Where a batch is one group and nothing is played ahead, the learner computes the very same.
        alone = ("--set", "learner.batch_episodes=8", "--set", "learner.pipeline_depth=0",
                 "--set", "stages.imitation.episodes=80", "--set", f"stages.simulation.episodes={8 * (UPDATES - 10)}")
        own = self.final_digest(self.train("own", *alone))
        self.assertEqual(self.final_digest(self.train("spared", *alone, *spared)), own)

    def test_resume_after_kill_9_equals_the_uninterrupted_run(self):
        quiet = self.final_digest(self.train("quiet"))
        run_dir = self.path / "killed"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet")
        randomness = random.Random(1)
        target = 0
        for _ in range(4):
            target += randomness.randrange(1, 25)
            self.wait_for_update(process, run_dir, min(target, UPDATES - 10))
            process.kill()
            process.communicate()
            process = self.start("resume", run_dir, "--quiet", "--workers", randomness.randrange(1, 4))
        self.finish(process)
        self.assertEqual(self.final_digest(run_dir), quiet)
        self.check_log(run_dir)
        self.check_summary(run_dir)
        rows = self.rows(run_dir)
        self.assertEqual([row["update"] for row in rows], list(range(1, UPDATES + 1)))

    def test_a_signal_stops_resumably(self):
        quiet = self.final_digest(self.train("quiet"))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            run_dir = self.path / f"signal{int(number)}"
            process = self.start("train", self.config, "--run-dir", run_dir, "--quiet")
            self.wait_for_update(process, run_dir, 10)
            process.send_signal(number)
            _, errors = self.finish(process, expect=75)
            self.assertIn("doppler resume", errors)
            self.run_doppler("resume", run_dir, "--quiet")
            self.assertEqual(self.final_digest(run_dir), quiet)

    def test_killed_workers_cost_nothing_but_time(self):
        quiet = self.final_digest(self.train("quiet"))
        run_dir = self.path / "deaths"
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
        summary = self.check_summary(run_dir)
        self.assertEqual(summary["restarts"], kills, errors)
        self.assertEqual(self.final_digest(run_dir), quiet)
        self.check_log(run_dir)

    def test_a_stopped_worker_is_replaced(self):
        quiet = self.final_digest(self.train("quiet"))
        run_dir = self.path / "stopped"
        # Shorter than the shortest lease of a ticket, 10 s, and far longer than anything here takes.
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet",
                             env=environment() | {"DOPPLER_HANG_DEADLINE_MS": "6000"})
        self.wait_for_update(process, run_dir, 10)
        # It keeps its credit, so it is handed a ticket without which its batch cannot close.
        victim = children_of(process.pid)[0]
        os.kill(victim, signal.SIGSTOP)
        began = time.monotonic()
        _, errors = self.finish(process)
        self.assertGreater(time.monotonic() - began, 5)
        self.assertRegex(errors, rf"worker 0\.\d \(process {victim}\) hangs: "
                                 r"no progress for \d+\.\d s while \w+; asked to end")
        self.assertIn(f"(process {victim}) did not end when it was asked to; killed", errors)
        self.assertRegex(errors, rf"\(process {victim}\) was killed by signal 9 .*; restarting in \d+ ms")
        self.assertGreaterEqual(self.check_summary(run_dir)["restarts"], 1)
        self.assertEqual(self.final_digest(run_dir), quiet)
        self.check_log(run_dir)

    def test_a_wrong_deadline_for_hangs_is_refused(self):
        _, errors = self.run_doppler("train", self.config, "--run-dir", self.path / "run", "--quiet", expect=2,
                                     env=environment() | {"DOPPLER_HANG_DEADLINE_MS": "5s"})
        self.assertIn("DOPPLER_HANG_DEADLINE_MS: '5s'", errors)
        self.assertFalse((self.path / "run").exists())

    def test_workers_die_with_a_killed_learner(self):
        run_dir = self.path / "orphans"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet")
        self.wait_for_update(process, run_dir, 5)
        workers = children_of(process.pid)
        self.assertEqual(len(workers), 2)
        process.kill()
        process.communicate()
        deadline = time.monotonic() + DEADLINE_SECONDS
        while any(os.path.exists(f"/proc/{worker}") for worker in workers):
            self.assertLess(time.monotonic(), deadline, "orphans live on")
            time.sleep(0.01)

    def test_results_can_be_used(self):
        self.run_doppler("graph", "generate", "chain-mm", "-o", "graph.txt")
        run_dir = self.train("run", "--set", "graph.path=graph.txt")
        summary = self.check_summary(run_dir)
        graph = summary["graphs"][0]
        names = {baseline["name"] for baseline in graph["baselines"]}
        self.assertTrue({"one-device", "random", "critical-path", "heft"} <= names, names)
        self.assertLessEqual(graph["lower_bound_ticks"], graph["policy_best_ticks"])
        best = json.loads((run_dir / "best/assignment.json").read_text())
        self.assertEqual(best["makespan_ticks"], graph["policy_best_ticks"])
        self.assertEqual(max(best["end_ticks"]), best["makespan_ticks"])

        # The best assignment costs what the run says, by the command line's own simulator.
        (self.path / "assignment.txt").write_text(",".join(map(str, best["assignment"])) + "\n")
        output, _ = self.run_doppler("simulate", "graph.txt", "--reference", "--devices", 4, "--assignments",
                                     "assignment.txt", "--json")
        self.assertEqual(json.loads(output), [{"cost": best["cost"], "makespan_ticks": best["makespan_ticks"]}])

        # The checkpoint's policy places greedily what the last evaluation did; on other device counts it works too.
        checkpoint = f"{run_dir}/checkpoints/checkpoint-{UPDATES:012}.h5"
        output, _ = self.run_doppler("assign", "graph.txt", "--checkpoint", checkpoint, "--devices", 4, "--json")
        placed = json.loads(output)
        self.assertEqual(placed["makespan_ticks"], graph["policy_greedy_ticks"])
        output, _ = self.run_doppler("assign", "graph.txt", "--checkpoint", checkpoint, "--devices", 7,
                                     "--samples", 20, "--json", "--output", "placed.txt")
        placed = json.loads(output)
        self.assertTrue(all(0 <= device < 7 for device in placed["assignment"]))
        output, _ = self.run_doppler("simulate", "graph.txt", "--reference", "--devices", 7, "--assignments",
                                     "placed.txt", "--json")
        self.assertEqual(json.loads(output)[0]["makespan_ticks"], placed["makespan_ticks"])

        output, _ = self.run_doppler("inspect", run_dir, "--json")
        json.loads(output)

    def test_a_run_logs_decisions_that_replay(self):
        run_dir = self.train("run")
        run = load_run.Run(run_dir)
        episodes = run.episodes()
        decisions = run.decisions(episodes, 1)
        self.assertEqual(sorted(decisions["operation"].tolist()), list(range(76)))
        self.run_doppler("graph", "generate", "chain-mm", "-o", "graph.txt")
        assignment = [0] * 76
        for operation, device in zip(decisions["operation"].tolist(), decisions["device"].tolist()):
            assignment[operation] = device
        (self.path / "assignment.txt").write_text(",".join(map(str, assignment)) + "\n")
        output, _ = self.run_doppler("simulate", "graph.txt", "--reference", "--devices", 4, "--assignments",
                                     "assignment.txt", "--json")
        self.assertEqual(json.loads(output)[0]["makespan_ticks"], int(episodes["makespan_ticks"][1]))

    def test_variants_train(self):
        short = ("--set", "stages.imitation.episodes=64", "--set", "stages.simulation.episodes=192")
        for name, settings in {
            "tcp": ["network.transport=tcp"],
            "heft": ["stages.teacher=heft"],
            "best": ["stages.teacher=best"],
            "select-rule": ["model.select=critical-path"],
            "place-rule": ["model.place=earliest-start"],
            "no-table": ["model.operation_table=false"],
            "gdp": ["model.place=one-pass", "model.select=critical-path"],
            "topological": ["model.select=topological"],
            "placeto": ["model.select=topological", "model.place=pooled", "model.encode=per-step"],
            "per-step": ["model.encode=per-step"],
            "per-step select-rule": ["model.encode=per-step", "model.select=critical-path"],
            "per-step place-rule": ["model.encode=per-step", "model.place=earliest-start"],
            "no-imitation": ["stages.imitation.enabled=false"],
            "imitation-only": ["stages.simulation.enabled=false"],
            "reinforce": ["learner.clip_ratio=0", "learner.pipeline_depth=0"],
            "deep": ["learner.pipeline_depth=3", "learner.threads=2"],
            "epsilon": ["model.epsilon=0.2"],
            "workers-joint": ["learner.gradients=workers", "model.select=joint", "model.epsilon=0.1"],
            "workers-gdp": ["learner.gradients=workers", "model.place=one-pass", "model.select=critical-path"],
            "workers-heft": ["learner.gradients=workers", "stages.teacher=heft", "graph.generate=chain-mm,ffnn"],
        }.items():
            with self.subTest(name):
                flags = [flag for setting in settings for flag in ("--set", setting)]
                run_dir = self.train(name, *short, *flags)
                self.check_summary(run_dir)

    def test_messages_at_each_step(self):
        """Weights that depend on nobody who plays or dies, and checkpoints that place."""
        self.run_doppler("graph", "generate", "chain-mm", "-o", "graph.txt")
        short = ("--set", "graph.path=graph.txt", "--set", "stages.imitation.episodes=64",
                 "--set", "stages.simulation.episodes=192", "--set", "model.hidden_width=16",
                 "--set", "model.encode=per-step", "--set", "checkpoint.every_updates=1")
        last = (64 + 192) // 32
        placeto = ("--set", "model.select=topological", "--set", "model.place=pooled")
        for name, kind in (("both", ()), ("placeto", placeto)):
            with self.subTest(name):
                digests = []
                for workers in (1, 2):
                    run_dir = self.train(f"{name}{workers}", *short, *kind, "--workers", workers)
                    digests.append(doppler_run.weights_digest(f"{run_dir}/checkpoints/checkpoint-{last:012}.h5"))
                killed = self.path / f"{name}-killed"
                process = self.start("train", self.config, "--run-dir", killed, "--quiet", *short, *kind)
                self.wait_for_update(process, killed, 3)
                process.kill()
                process.communicate()
                self.run_doppler("resume", killed, "--quiet")
                digests.append(doppler_run.weights_digest(f"{killed}/checkpoints/checkpoint-{last:012}.h5"))
                self.assertEqual(len(set(digests)), 1, digests)

                graph = self.check_summary(run_dir)["graphs"][0]
                checkpoint = f"{run_dir}/checkpoints/checkpoint-{last:012}.h5"
                placed = json.loads(self.run_doppler("assign", "graph.txt", "--checkpoint", checkpoint, "--devices", 4,
                                                     "--json")[0])
                self.assertEqual(placed["makespan_ticks"], graph["policy_greedy_ticks"])
                _, errors = self.run_doppler("assign", "graph.txt", "--checkpoint", checkpoint, "--devices", 7, expect=2)
                self.assertIn("as many devices as it was trained with, which is 4", errors)

    def test_several_graphs_in_one_run(self):
        generated = ("--set", "graph.generate=chain-mm,ffnn")
        run_dir = self.train("run", *generated)
        summary = self.check_summary(run_dir)
        self.assertEqual([graph["name"] for graph in summary["graphs"]], ["chain-mm", "ffnn"])
        for graph, name in zip(summary["graphs"], ("assignment.json", "assignment-0001.json")):
            best = json.loads((run_dir / "best" / name).read_text())
            self.assertEqual((best["graph"], best["makespan_ticks"]), (graph["name"], graph["policy_best_ticks"]))
            self.assertEqual(len(best["assignment"]), graph["operations"])
        rows = self.rows(run_dir)
        for graph, metrics in zip(summary["graphs"], rows[-1]["graphs"]):
            self.assertEqual(metrics["best_ticks"], graph["policy_best_ticks"])
        episodes = load_run.Run(run_dir).episodes()
        counts = [int((episodes["graph"] == number).sum()) for number in (0, 1)]
        self.assertEqual(counts[0], counts[1])

    def test_a_run_begins_with_the_weights_of_another(self):
        first = self.train("first", "--set", "graph.generate=chain-mm,ffnn")
        checkpoint = f"{first}/checkpoints/checkpoint-{UPDATES:012}.h5"
        short = ("--set", "stages.imitation.enabled=false", "--set", "stages.simulation.episodes=64",
                 "--set", "learner.evaluate_every_updates=1", "--set", "learner.pipeline_depth=0")

        def first_mean(name, *flags):
            run_dir = self.train(name, *short, *flags)
            return json.loads((run_dir / "metrics.jsonl").read_text().splitlines()[0])["makespan_mean_ticks"]

        begun = first_mean("tuned", "--set", f"model.initial_checkpoint={checkpoint}")
        self.assertLess(begun, first_mean("new"))
        _, errors = self.run_doppler("train", self.config, "--set", f"model.initial_checkpoint={checkpoint}", "--set",
                                     "model.hidden_width=64", "--run-dir", self.path / "never", expect=2)
        self.assertIn("in the checkpoint and", errors)
        self.assertFalse((self.path / "never").exists())

    def test_refinement_is_told_apart_from_the_policy(self):
        run_dir = self.train("run", "--set", "refinement.evaluations=3000")
        graph = self.check_summary(run_dir)["graphs"][0]
        self.assertLessEqual(graph["refined_ticks"], graph["policy_best_ticks"])
        self.assertEqual(graph["refinement_evaluations"], 3000)
        best = json.loads((run_dir / "best/assignment.json").read_text())
        self.assertEqual((best["makespan_ticks"], best["found_by"]),
                         (graph["refined_ticks"], graph["refined_found_by"]))
        self.run_doppler("graph", "generate", "chain-mm", "-o", "graph.txt")
        placed = json.loads(self.run_doppler(
            "assign", "graph.txt", "--checkpoint", f"{run_dir}/checkpoints/checkpoint-{UPDATES:012}.h5",
            "--devices", 4, "--refine-evaluations", 3000, "--json")[0])
        self.assertLess(placed["makespan_ticks"], placed["policy_makespan_ticks"])

    def test_a_budget_in_seconds_ends_in_time(self):
        started = time.monotonic()
        run_dir = self.train("seconds", "--set", "run.budget_seconds=6")
        # No more than a hint of the bound: what counts is that the schedule ran down.
        self.assertLess(time.monotonic() - started, DEADLINE_SECONDS)
        rows = self.rows(run_dir)
        self.assertEqual(rows[-1]["stage"], "simulation")
        self.assertGreater(rows[-1]["stage_used_fraction"], 0.9)
        self.assertLess(rows[-1]["learning_rate"], 0.005)

    def test_bad_input_is_refused_before_anything_is_written(self):
        good = self.path / "good.txt"
        self.run_doppler("graph", "generate", "chain-mm", "-o", good)
        lines = good.read_text().splitlines()
        files = {
            "truncated.txt": "\n".join(lines[:20]) + "\n",
            "count.txt": "\n".join(["113"] + lines[1:]) + "\n",
            "negative.txt": "\n".join(lines[:4] + ["-1,4,x"] + lines[5:]) + "\n",
            "cycle.txt": "3\n0\n0, 1\n1, 0\n1,1\n1,1\n",
        }
        for name, text in files.items():
            (self.path / name).write_text(text)
        run_dir = self.path / "never"
        cases = [
            (("--set", f"graph.path={self.path / name}"), name) for name in files
        ] + [
            (("--set", "graph.path=missing.txt"), "missing.txt"),
            (("--set", "run.sed=3"), "run.seed"),
            (("--set", "run.seed=x"), "run.seed"),
            (("--set", "simulation.devices=0"), "simulation.devices"),
        ]
        for flags, expected in cases:
            with self.subTest(expected):
                _, errors = self.run_doppler("train", self.config, "--run-dir", run_dir, *flags, expect=2)
                self.assertIn(expected, errors)
                self.assertEqual(len(errors.strip().splitlines()), 1, errors)
                self.assertFalse(run_dir.exists())
        self.run_doppler("train", "missing.yaml", "--run-dir", run_dir, expect=2)
        self.run_doppler("resume", run_dir, expect=2)
        self.assertFalse(run_dir.exists())

    def test_wrong_checkpoints_are_refused(self):
        short = ("--set", "stages.imitation.episodes=64", "--set", "stages.simulation.episodes=64")
        run_dir = self.train("run", *short)
        self.run_doppler("graph", "generate", "chain-mm", "-o", "graph.txt")
        missing = ("assign", "graph.txt", "--checkpoint", "nothing.h5", "--devices", 4)
        self.run_doppler(*missing, expect=2)
        (self.path / "not-a-checkpoint.h5").write_text("hello")
        _, errors = self.run_doppler("assign", "graph.txt", "--checkpoint", "not-a-checkpoint.h5", "--devices", 4,
                                     expect=2)
        self.assertIn("not-a-checkpoint.h5", errors)

        # A finished run is not trained again, an occupied folder not overwritten.
        before = sorted((str(p), p.stat().st_mtime_ns) for p in run_dir.rglob("*") if p.is_file())
        self.run_doppler("train", self.config, "--run-dir", run_dir, *short, expect=2)
        after = sorted((str(p), p.stat().st_mtime_ns) for p in run_dir.rglob("*") if p.is_file())
        self.assertEqual(before, after)

        # The newest checkpoint is damaged: the one before it is taken, and the run says so.
        newest = f"{run_dir}/checkpoints/checkpoint-{checkpoint_updates(run_dir)[-1]:012}.h5"
        with open(newest, "r+b") as file:
            file.seek(5000)
            file.write(b"\xff" * 16)
        _, errors = self.run_doppler("resume", run_dir, "--quiet")
        self.assertIn(os.path.basename(newest), errors)

        # All are damaged: refused.
        for name in glob.glob(f"{run_dir}/checkpoints/*.h5"):
            os.truncate(name, 100)
        _, errors = self.run_doppler("resume", run_dir, "--quiet", expect=2)
        self.assertIn("none of its checkpoints is valid", errors)

    def test_a_changed_graph_is_refused_at_resume(self):
        graph = self.path / "graph.txt"
        self.run_doppler("graph", "generate", "chain-mm", "-o", graph)
        short = ("--set", "stages.imitation.episodes=64", "--set", "stages.simulation.episodes=64")
        run_dir = self.train("run", "--set", f"graph.path={graph}", *short)
        text = graph.read_text()
        graph.write_text(text.replace("1000000000000,4000000000000", "1000000000001,4000000000000", 1))
        _, errors = self.run_doppler("resume", run_dir, "--quiet", expect=2)
        self.assertIn("graph.txt", errors)

    def test_a_changed_configuration_is_refused_at_resume_unless_it_is_wanted(self):
        run_dir = self.train("run")
        config = run_dir / "config.yaml"
        text = config.read_text()
        config.write_text(text.replace("clip_ratio: 0.2", "clip_ratio: 0.3"))
        _, errors = self.run_doppler("resume", run_dir, "--quiet", expect=2)
        self.assertIn("learner.clip_ratio: 0.2, now 0.3", errors)
        self.run_doppler("resume", run_dir, "--quiet", "--allow-changed-config")
        # What makes no other run of it may change.
        config.write_text(text.replace("keep: 3", "keep: 5"))
        self.run_doppler("resume", run_dir, "--quiet", "--allow-changed-config")
        self.run_doppler("resume", run_dir, "--quiet")

    def test_a_finished_run_stays_as_it_is(self):
        run_dir = self.train("run")
        before = {path: path.read_bytes() for path in run_dir.rglob("*.h5")}
        _, errors = self.run_doppler("resume", run_dir)
        self.assertIn("the run is done", errors)
        self.assertEqual({path: path.read_bytes() for path in run_dir.rglob("*.h5")}, before)
        # The other ranks do not wait for a learner that has nothing to do.
        self.run_doppler("resume", run_dir, launcher=("mpirun", "-n", "3"), env=mpi_environment())
        # Nothing is damaged or missing; evaluations have numbers of their own among the episodes.
        report = json.loads(self.run_doppler("inspect", run_dir, "--json")[0])
        self.assertEqual(report["problems"], [])
        self.assertGreater(report["episodes"]["by_status"]["evaluated"], 1)
        # A log that lost its segments is told of, and gone checkpoints are no new run.
        for segment in (run_dir / "trajectories").glob("*.h5"):
            segment.unlink()
        output, _ = self.run_doppler("inspect", run_dir, expect=2)
        self.assertIn("the log holds 0 of them", output)
        for checkpoint in (run_dir / "checkpoints").glob("*.h5"):
            checkpoint.unlink()
        _, errors = self.run_doppler("resume", run_dir, expect=2)
        self.assertIn("its checkpoints are gone", errors)

    def test_results_that_do_not_reach_the_disk_are_no_success(self):
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--set",
                             "stages.simulation.episodes=100000000")
        self.wait_for_update(process, run_dir, 5)
        # Nothing can be written where a file stands in the place of the folder.
        (run_dir / "checkpoints").rename(self.path / "aside")
        (run_dir / "checkpoints").write_text("")
        process.terminate()
        _, errors = self.finish(process, expect=3)
        self.assertIn("the last checkpoint could not be written", errors)
        self.assertIn("doppler resume", errors)

    def test_variants_are_compared_with_equal_budgets(self):
        command = ["/usr/bin/python3", ANALYSIS / "compare.py", self.config, "--bin", BIN, "--episodes", 128,
                   "--seeds", "1,2", "--workers", 1, "--set", "refinement.evaluations=500", "--variant", "full",
                   "--variant", "sel-only:model.place=earliest-start", "-o", "compared"]
        done = subprocess.run([str(part) for part in command], cwd=self.path, env=environment(), capture_output=True,
                              text=True, timeout=DEADLINE_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads((self.path / "compared/results.json").read_text())
        self.assertEqual(list(results), ["full", "sel-only"])
        for name in results:
            best = []
            for seed in (1, 2):
                summary = json.loads((self.path / f"compared/{name}-seed{seed}/summary.json").read_text())
                best.append(summary["graphs"][0]["policy_best_cost"])
            self.assertEqual(results[name]["chain-mm"]["best"], best)
            # What the policy itself began with: the mean of the first two updates behind imitation.
            run_dir = self.path / f"compared/{name}-seed1"
            own = [row["makespan_mean_ticks"] for row in self.rows(run_dir) if row["stage"] == "simulation"][:2]
            graph = json.loads((run_dir / "summary.json").read_text())["graphs"][0]
            per_tick = graph["policy_best_cost"] / graph["policy_best_ticks"]
            first = results[name]["chain-mm"]["first"][0]
            self.assertAlmostEqual(first / (per_tick * sum(own) / len(own)), 1, places=5)
        self.assertEqual(results["full"]["chain-mm"]["episodes"], results["sel-only"]["chain-mm"]["episodes"])
        self.assertTrue((self.path / "compared/curves.png").read_bytes().startswith(b"\x89PNG"))
        for text in ("sel-only", "+-", "1300.07"):  # HEFT
            self.assertIn(text, done.stdout)
        bad = subprocess.run([str(part) for part in [*command, "--variant", "x:model.palce=1"]], cwd=self.path,
                             env=environment(), capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        self.assertEqual(bad.returncode, 2)
        self.assertIn("did you mean 'model.place'", bad.stderr)

    def test_two_learners_cannot_share_a_folder(self):
        run_dir = self.path / "run"
        process = self.start("train", self.config, "--run-dir", run_dir, "--quiet", "--set",
                             "stages.simulation.episodes=100000000")
        self.wait_for_update(process, run_dir, 5)
        _, errors = self.run_doppler("resume", run_dir, "--quiet", expect=2)
        self.assertIn("another process", errors)
        process.terminate()
        self.finish(process, expect=75)

    def test_three_runs_at_once(self):
        short = ("--set", "stages.imitation.episodes=64", "--set", "stages.simulation.episodes=640")
        processes = [self.start("train", self.config, "--run-dir", self.path / f"run{i}", "--quiet", *short)
                     for i in range(3)]
        for process in processes:
            self.finish(process)


if __name__ == "__main__":
    doppler_run.main()
