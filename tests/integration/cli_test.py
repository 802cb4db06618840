"""The light programs as a user meets them: output, messages and exit codes.

Run by ctest with the folder of the programs as its argument.
"""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import jsonschema

from command_line import BAD_INPUT, BIN, ENVIRONMENT, SOURCE, CommandLineTest, run

# Operations 0 -> 1 -> 2 behind one input; compute 2, 3, 4 and transfer 10, 20, 30 times 10^10 ticks.
CHAIN = """4
0,{space}
0, 1, {nothing}
1, 2, {nothing}
20000000000,100000000000,matmul
30000000000,200000000000,matmul
40000000000,300000000000,add
""".format(space=" ", nothing="")


class CliTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.graph = self.write("chain.txt", CHAIN)


class Front(CliTest):
    def test_help_lists_every_verb(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for verb in ("train", "resume", "actor", "baseline", "simulate", "execute", "calibrate", "fidelity", "search", "graph", "status", "inspect", "doctor"):
            self.assertIn(f"\n  {verb} ", result.stdout)
        self.assertIn("Example:", result.stdout)

    @unittest.skipUnless((BIN / "doppler-train").exists(), "built without training")
    def test_resume_calls_itself_by_its_verb(self):
        result = run("resume", "no-run")
        self.assertEqual(result.returncode, 2)
        self.assertTrue(result.stderr.startswith("doppler resume: run folder no-run: "), result.stderr)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^doppler \d+\.\d+\.\d+\n$")

    def test_without_a_verb_usage_goes_to_stderr(self):
        result = run()
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertEqual(result.stdout, "")
        self.assertIn("Usage:", result.stderr)

    def test_an_unknown_verb_is_answered_with_the_nearest(self):
        self.assert_fails(run("simulte"), BAD_INPUT, "doppler: 'simulte' is no verb; did you mean 'simulate'?")

    def test_help_of_a_verb(self):
        for arguments in (("help", "graph"), ("graph", "--help")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertIn("Example:", result.stdout)
            self.assertTrue(result.stdout.endswith("\n"))

    def test_a_missing_program_is_a_fault_of_the_installation(self):
        shutil.copy(BIN / "doppler", self.path)
        self.assert_fails(run("train", folder=self.path), ENVIRONMENT, "doppler-train")


class Training(CliTest):
    """Which program `train` and `resume` start, with programs that only print what they were given."""

    def setUp(self):
        super().setUp()
        shutil.copy(BIN / "doppler", self.path)
        for name in ("doppler-train", "doppler-actor-host"):
            self.write(name, f'#!/bin/sh\necho {name} "$@"\n').chmod(0o755)

    def words(self, *arguments, **environment):
        clean = {"OMPI_COMM_WORLD_RANK": "0", "PMIX_RANK": "0", **environment}
        return run(*arguments, folder=self.path, environment=clean).stdout.strip()

    def test_train_and_resume(self):
        self.assertEqual(self.words("train", "c.yaml", "--set", "run.seed=3"),
                         "doppler-train c.yaml --set run.seed=3")
        self.assertEqual(self.words("resume", "runs/a"), "doppler-train resume runs/a")

    def test_later_mpi_ranks_are_actor_hosts(self):
        self.assertEqual(self.words("train", "c.yaml", OMPI_COMM_WORLD_RANK="1"),
                         "doppler-actor-host c.yaml")
        self.assertEqual(self.words("resume", "runs/a", PMIX_RANK="2"),
                         "doppler-actor-host resume runs/a")


class GraphVerb(CliTest):
    def test_check_counts(self):
        result = run("graph", "check", self.graph)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("3 operations, 2 edges, 1 inputs, 0 warnings", result.stdout)

    def test_check_warns_with_line_and_column(self):
        damaged = self.write("damaged.txt", CHAIN.replace("1, 2, \n", "1,2, \n"))
        result = run("graph", "check", damaged, "--json")
        self.assertEqual(result.returncode, 0)
        self.assertIn("damaged.txt:4:2: warning: ", result.stderr)
        self.assertIn("edge 1 -> 2", result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual((report["warnings"][0]["line"], report["warnings"][0]["column"]), (4, 2))
        self.assertEqual(run("graph", "check", damaged, "--strict").returncode, BAD_INPUT)

    def test_standard_input_has_one_name(self):
        self.assertTrue(run("graph", "check", "-", stdin=CHAIN).stdout.startswith("standard input: 3 operations"))
        damaged = CHAIN.replace("1, 2, \n", "1,2, \n")
        for arguments in (("graph", "check", "-"), ("graph", "show", "-"), ("graph", "convert", "-", "-"),
                          ("baseline", "-", "--reference", "--devices", "2", "--algorithm", "heft")):
            self.assertIn("standard input:4:2: warning: ", run(*arguments, stdin=damaged).stderr)
        report = json.loads(run("graph", "check", "-", "--json", stdin=CHAIN).stdout)
        self.assertEqual(report["file"], "standard input")

    def test_check_refuses_damage(self):
        damaged = self.write("damaged.txt", CHAIN.replace("30000000000,", "3x,"))
        self.assert_fails(run("graph", "check", damaged), BAD_INPUT,
                          "doppler graph: ", "damaged.txt:6:1: operation 1: compute: ")

    def test_check_refuses_costs_that_no_time_holds(self):
        huge = self.write("huge.txt", "2\n\n0\n1\n9223372036854775807,0\n1,1\n")
        for arguments in (("graph", "check", huge), ("graph", "show", huge),
                          ("baseline", huge, "--reference", "--devices", "2"),
                          ("simulate", huge, "--reference", "--devices", "2", "--assignments", self.graph)):
            self.assert_fails(run(*arguments), BAD_INPUT, f"{huge}: graph huge: the sum of all", "2^62 ticks")

    def test_a_missing_file_is_bad_input(self):
        self.assert_fails(run("graph", "check", self.path / "absent"), BAD_INPUT, "no such file")
        self.assert_fails(run("graph", "check", self.path), BAD_INPUT, "is a folder")

    def test_show_reports_structure_and_bounds(self):
        report = json.loads(run("graph", "show", "--devices", "1,2", self.graph, "--json").stdout)
        self.assertEqual((report["operations"], report["depth"], report["width"]), (3, 3, 1))
        self.assertEqual(report["symmetry_classes"], 3)
        self.assertEqual(report["total_work_ticks"], 9 * 10**10)
        self.assertEqual(report["critical_path_ticks"], 9 * 10**10)
        # 2 + 10 + 3 + 20 + 4
        self.assertEqual(report["critical_path_with_transfers_ticks"], 39 * 10**10)
        self.assertEqual([bound["makespan_ticks"] for bound in report["lower_bounds"]],
                         [9 * 10**10] * 2)
        self.assertIn("symmetry classes", run("graph", "show", self.graph).stdout)

    def test_generate_writes_a_graph_that_checks(self):
        path = self.path / "g.txt"
        self.assertEqual(run("graph", "generate", "chain-mm", "-o", path).returncode, 0)
        self.assertIn("76 operations, 80 edges, 36 inputs", run("graph", "check", path).stdout)
        text = run("graph", "generate", "chain-mm", "-o", "-").stdout
        self.assertEqual(text, path.read_text())
        self.assertIn("76 operations", run("graph", "check", "-", stdin=text).stdout)

    def test_generate_refuses_an_unknown_workload(self):
        self.assert_fails(run("graph", "generate", "chain_mm", "-o", "-"), BAD_INPUT,
                          "did you mean 'chain-mm'?")

    def test_generate_tells_what_is_missing(self):
        self.assert_fails(run("graph", "generate"), BAD_INPUT, "WORKLOAD is required; --list shows")
        self.assert_fails(run("graph", "generate", "nope"), BAD_INPUT, "workload 'nope' is not known")
        self.assert_fails(run("graph", "generate", "chain-m"), BAD_INPUT, "did you mean 'chain-mm'?")
        self.assert_fails(run("graph", "generate", "chain-mm"), BAD_INPUT, "--output is required")
        self.assertRegex(run("graph", "generate", "--help").stdout, r"--output TEXT REQUIRED")

    def test_an_unwritable_place_is_the_environments_fault(self):
        self.assert_fails(run("graph", "generate", "chain-mm", "-o", "/nonexistent/g.txt"), ENVIRONMENT,
                          "No such file or directory")

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([str(BIN / "doppler"), "graph", "show", str(self.graph)], stdout=full,
                                    stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(result.returncode, ENVIRONMENT)

    def test_flags_are_checked(self):
        self.assert_fails(run("graph"), BAD_INPUT, "doppler graph: ")
        self.assert_fails(run("graph", "shwo", "f"), BAD_INPUT, "did you mean 'show'?")
        self.assert_fails(run("graph", "check", "f", "--jsno"), BAD_INPUT,
                          "--jsno is no option; did you mean '--json'? See --help")

    def test_an_option_like_no_other_is_answered_with_all(self):
        result = run("graph", "check", "f", "--completely-different")
        self.assert_fails(result, BAD_INPUT, "--completely-different is no option; known: ", ". See --help\n")
        names = result.stderr.split("known: ")[1].split(". See")[0].split(", ")
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertIn("--help", names)


class Formats(CliTest):
    """Graphs in the formats of others; what each reader makes of a file is tested with the readers."""

    # Tasks of 3 and 4 units between two dummies.
    STG = "2\n0 0 0\n1 3 1 0\n2 4 1 1\n3 0 1 2\n"
    PIPEDREAM = (
        "node1 -- Conv2d(3, 64) -- forward_compute_time=2.0, backward_compute_time=4.0, "
        "activation_size=1000.0, parameter_size=10.0\n"
        "node2 -- ReLU() -- forward_compute_time=1.0, backward_compute_time=0.5, "
        "activation_size=1000.0, parameter_size=0.0\n"
        "\tnode1 -- node2\n"
    )

    def test_the_text_file_of_the_description_is_read(self):
        description = (SOURCE / "docs" / "graph_formats.md").read_text()
        section = description.split("## The paper's text files\n\n")[1].split("\n\n")[0]
        example = self.write("example.txt", "".join(line.strip() + "\n" for line in section.splitlines()))
        result = run("graph", "check", example)
        self.assertEqual(result.stderr, "")
        self.assertIn("3 operations, 3 edges, 2 inputs, 0 warnings", result.stdout)

    def test_the_format_is_told_by_the_content(self):
        result = run("graph", "check", self.write("a.txt", self.STG))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 operations, 1 edges, 0 inputs, 0 warnings", result.stdout)

    def test_the_format_can_be_forced(self):
        stg = self.write("a.stg", self.STG)
        self.assert_fails(run("graph", "check", stg, "--format", "text"), BAD_INPUT, "a.stg:")
        self.assert_fails(run("graph", "check", stg, "--format", "sgt"), BAD_INPUT,
                          "did you mean 'stg'?")

    def test_what_is_no_graph_is_refused_with_the_formats(self):
        self.assert_fails(run("graph", "check", self.write("a.xml", "<graph/>")), BAD_INPUT,
                          "a.xml:1:1: format: ", "pipedream", "--format")

    def test_show_of_measured_costs(self):
        profile = self.write("p.txt", self.PIPEDREAM)
        report = json.loads(run("graph", "show", profile, "--json", "--devices", "2").stdout)
        self.assertEqual(report["costs"], "physical")
        self.assertAlmostEqual(report["total_work_seconds"], 0.003)
        self.assertEqual(report["parallelism"], 1)
        self.assertAlmostEqual(report["lower_bounds"][0]["makespan_seconds"], 0.003)
        self.assertEqual((report["edge_bytes"], report["input_bytes"]), (1000, 10))

    def test_convert_to_dot_and_back_keeps_the_graph(self):
        dot = self.path / "a.dot"
        again = self.path / "b.txt"
        self.assertEqual(run("graph", "convert", self.graph, dot).returncode, 0)
        self.assertEqual(run("graph", "convert", dot, again).returncode, 0)
        self.assertEqual(again.read_text().splitlines()[2:],
                         self.graph.read_text().splitlines()[2:])

    def test_the_native_format_keeps_the_graph_and_meets_its_schema(self):
        schema = json.loads((SOURCE / "docs" / "graph.schema.json").read_text())
        for costs in ("paper", "physical"):
            native = self.path / f"{costs}.json"
            self.assertEqual(run("graph", "generate", "llama-layer", "--costs", costs, "-o", native).returncode, 0)
            document = json.loads(native.read_text())
            jsonschema.validate(document, schema)
            self.assertIn("group_id", document["operations"][0])
            dot, again = self.path / "a.dot", self.path / "again.json"
            self.assertEqual(run("graph", "convert", native, dot).returncode, 0)
            self.assertEqual(run("graph", "convert", dot, again).returncode, 0)
            self.assertEqual(again.read_bytes(), native.read_bytes())
        document["operations"][3]["flop"] = 1
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(document, schema)
        self.assert_fails(run("graph", "check", self.write("bad.json", json.dumps(document))), BAD_INPUT,
                          "bad.json: /operations/3: key 'flop' is not known; did you mean 'flops'?")

    def test_the_model_of_the_tour_is_cut(self):
        cut = self.path / "cut.json"
        result = run("graph", "shard", SOURCE / "configs/models/two-layers.yaml", "--devices", "4", "--costs", "physical",
                     "-o", cut)
        self.assertEqual(result.returncode, 0, result.stderr)
        operations = json.loads(cut.read_text())["operations"]
        # 2 x 8192 x 4096 x 16384 of the first product, 8 a point of gelu, 2 x 8192 x 16384 x 1024, and sums if any.
        flops = sum(o["flops"] for o in operations if o.get("role") != "reduce")
        self.assertEqual(flops, 2 * 8192 * 4096 * 16384 + 8 * 8192 * 16384 + 2 * 8192 * 16384 * 1024)

    def test_durations_alone_fit_the_text_format(self):
        self.assert_fails(run("graph", "generate", "ffnn", "--costs", "physical", "-o", self.path / "a.txt"),
                          BAD_INPUT, "durations only", ".json")

    def test_convert_to_durations(self):
        profile = self.write("p.graph", self.PIPEDREAM)
        text = self.path / "p.txt"
        result = run("graph", "convert", profile, text, "--durations")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("--bytes-per-second", result.stderr)
        result = run("graph", "convert", profile, text, "--durations", "--bytes-per-second", "1e9")
        self.assertEqual(result.returncode, 0, result.stderr)
        # 2 ms and 1000 bytes at 1 GB/s, in picoseconds.
        self.assertEqual(text.read_text().splitlines()[4], "2000000000,1000000,Conv2d")
        self.assertEqual(run("graph", "check", text).returncode, 0)

    def test_flags_that_make_no_sense_are_refused(self):
        stg = self.write("a.stg", self.STG)
        self.assert_fails(run("graph", "show", stg, "--dimension", "batch"), BAD_INPUT, "NAME=SIZE")
        self.assert_fails(run("graph", "convert", stg, "-", "--to", "gif"), BAD_INPUT, "--to")


class Simulate(CliTest):
    def simulate(self, *arguments, **options):
        return run("simulate", self.graph, "--reference", "--devices", "2", *arguments, **options)

    def test_prints_cost_and_makespan_of_each_line(self):
        result = self.simulate("--assignments", "-", stdin="# two\n0,0,0\n\n0,1,0\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        # 2 + 3 + 4 and 2 + 10 + 3 + 20 + 4, in units of 10^10 ticks.
        self.assertEqual(result.stdout, "9.0\t90000000000\n39.0\t390000000000\n")

    def test_json_keeps_the_order(self):
        placements = self.write("p.csv", "0,1,0\n0,0,0\n")
        report = json.loads(self.simulate("--assignments", placements, "--json").stdout)
        self.assertEqual(report, [{"cost": 39.0, "makespan_ticks": 390000000000},
                                  {"cost": 9.0, "makespan_ticks": 90000000000}])

    def test_a_wrong_assignment_is_reported_at_its_place(self):
        self.assert_fails(self.simulate("--assignments", "-", stdin="0,0,0\n0,2,0\n"), BAD_INPUT,
                          "standard input:2:3: operation 1: device 2 does not exist")
        self.assert_fails(self.simulate("--assignments", "-", stdin="0,0\n"), BAD_INPUT,
                          "2 device ids, but the graph has 3 operations")

    def test_the_physical_mode_needs_a_topology(self):
        self.assert_fails(run("simulate", self.graph, "--devices", "2", "--assignments", "-"), BAD_INPUT,
                          "needs a topology", "--reference")

    def test_flags_are_checked(self):
        self.assert_fails(run("simulate", self.graph, "--devics", "2"), BAD_INPUT,
                          "--devics is no option; did you mean '--devices'?")
        self.assert_fails(run("simulate", self.graph, "--reference", "--assignments", "-"), BAD_INPUT,
                          "--devices is required")
        for devices in ("0", "-1", "x", "1.5", "5000"):
            self.assert_fails(run("simulate", self.graph, "--reference", f"--devices={devices}",
                                  "--assignments", "-"), BAD_INPUT, "devices")

    def test_published_costs(self):
        folder = os.environ.get("DOPPLER_PUBLIC_DATA")
        if not folder:
            self.skipTest("needs DOPPLER_PUBLIC_DATA")
        expected = {
            "gdp_chain_mm_112nodes.txt": (76, "1600.070068359375", "4800.27978515625"),
            "gdp_ffnn_192nodes.txt": (180, "84.18241119384766", "226.78318786621094"),
            "gdp_transformer_block_215nodes.txt": (182, "240.3115234375", "388.6778259277344"),
            "gdp_full_transformer_layer_261nodes.txt": (229, "274.88299560546875", "388.9769592285156"),
        }
        for name, (operations, modulo, one_device) in expected.items():
            lines = "\n".join(",".join(str(o % 4 * spread) for o in range(operations)) for spread in (1, 0))
            result = run("simulate", pathlib.Path(folder) / "doppler" / name, "--reference", "--devices", 4,
                         "--assignments", "-", stdin=lines)
            self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()],
                             [modulo, one_device])


class Baseline(CliTest):
    def baseline(self, *arguments):
        return run("baseline", self.graph, "--reference", "--devices", "2", "--evaluations", "500", *arguments)

    def test_one_table_with_every_algorithm(self):
        result = self.baseline()
        self.assertEqual(result.returncode, 0, result.stderr)
        names = [line.split()[0] for line in result.stdout.splitlines() if line]
        self.assertEqual(names[:13], ["algorithm", "one-device", "random", "round-robin",
                                      "round-robin-topological", "critical-path", "heft", "etf", "peft",
                                      "enum-opt", "local-search", "exhaustive", "lower"])

    def test_json_assignments_cost_what_is_reported(self):
        report = json.loads(self.baseline("--json").stdout)
        self.assertEqual(report["lower_bounds"]["largest"], 9.0)
        lines = "\n".join(",".join(map(str, row["assignment"])) for row in report["baselines"])
        costs = json.loads(run("simulate", self.graph, "--reference", "--devices", "2", "--assignments", "-",
                               "--json", stdin=lines).stdout)
        self.assertEqual([row["cost"] for row in report["baselines"]], [row["cost"] for row in costs])
        self.assertEqual(min(row["cost"] for row in costs), 9.0)

    def test_a_seed_fixes_everything_but_the_time(self):
        def rows():
            report = json.loads(self.baseline("--json", "--seed", "7").stdout)
            return [{k: v for k, v in row.items() if k != "seconds"} for row in report["baselines"]]

        self.assertEqual(rows(), rows())

    def test_output_writes_a_file_an_algorithm(self):
        folder = self.path / "out" / "deep"
        self.assertEqual(self.baseline("--algorithm", "heft", "--output", folder).returncode, 0)
        self.assertEqual([path.name for path in folder.iterdir()], ["heft.json"])
        self.assertEqual(json.loads((folder / "heft.json").read_text())["devices"], 2)

    def test_a_bad_output_folder_is_told_before_the_work(self):
        begun = time.monotonic()
        work = ("--algorithm", "local-search", "--seconds", "30")
        self.assert_fails(self.baseline(*work, "--output", self.graph), BAD_INPUT, "is a file; name a folder")
        for folder in (self.graph / "below", "/proc/doppler"):
            self.assert_fails(self.baseline(*work, "--output", folder), ENVIRONMENT,
                              f"create_directories({folder}): ", "name a folder that can be made")
        self.assertLess(time.monotonic() - begun, 25)

    def test_an_unknown_algorithm_is_answered_with_the_nearest(self):
        result = self.baseline("--algorithm", "hefd")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("did you mean 'heft'?", result.stderr)

    def test_tells_what_is_proven(self):
        rows = {row["name"]: row for row in json.loads(self.baseline("--json").stdout)["baselines"]}
        # One device takes 2 + 3 + 4, the critical path. The chain on devices 0, 1, 0 takes 39.
        self.assertTrue(rows["one-device"]["optimal"])
        self.assertTrue(rows["exhaustive"]["optimal"])
        self.assertFalse(rows["round-robin"]["optimal"])
        self.assertEqual(rows["round-robin"]["cost"], 39.0)

    def test_local_search_begins_from_what_it_is_given(self):
        starts = self.write("starts.csv", "1,0,1\n1,1,1\n")
        # The second start is as fast as the bound, so that nothing else is tried.
        report = json.loads(self.baseline("--algorithm", "local-search", "--starts", starts, "--json").stdout)
        self.assertEqual(report["baselines"][0]["assignment"], [1, 1, 1])
        self.assertEqual(report["baselines"][0]["evaluations"], 2)
        self.assert_fails(self.baseline("--starts", self.write("bad.csv", "0,0\n")), BAD_INPUT,
                          "2 device ids, but the graph has 3 operations")

    def test_the_curve_of_the_search_is_a_table(self):
        script = pathlib.Path(__file__).parents[2] / "analysis" / "search_curve.py"
        result = subprocess.run([sys.executable, str(script), str(self.graph), "--bin", str(BIN), "--budgets", "1,50",
                                 "--seeds", "3", "--", "--reference", "--devices", "2"],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line.split("\t") for line in result.stdout.splitlines()[1:]],
                         [["chain", budget, "9", "9", "9", "3/3"] for budget in ("1", "50")])

    def test_threads_have_a_result_of_their_own_that_is_reproducible(self):
        graph = self.path / "chain_mm.txt"
        self.assertEqual(run("graph", "generate", "chain-mm", "-o", graph).returncode, 0)

        def search(threads):
            report = json.loads(run("baseline", graph, "--reference", "--devices", "4", "--algorithm",
                                    "local-search", "--evaluations", "5000", "--threads", str(threads),
                                    "--json").stdout)
            return report["baselines"][0]["assignment"]

        self.assertEqual(search(2), search(2))
        self.assertNotEqual(search(2), search(1))

    def test_numbers_that_are_none_are_refused(self):
        for flag in ("--seconds", "--operation-noise", "--transfer-noise"):
            for value in ("nan", "-nan", "inf", "1e999"):
                self.assert_fails(self.baseline(f"{flag}={value}"), BAD_INPUT, flag)
        self.assert_fails(self.baseline("--seconds", "nan"), BAD_INPUT, "--seconds: 'nan' is no finite number")
        self.assert_fails(run("graph", "convert", self.graph, "-", "--flops-per-second", "nan"), BAD_INPUT,
                          "--flops-per-second: 'nan' is no finite number")

    def test_ctrl_c_ends_the_search_and_keeps_the_best(self):
        graph = self.path / "chain_mm.txt"
        self.assertEqual(run("graph", "generate", "chain-mm", "-o", graph).returncode, 0)
        process = subprocess.Popen([str(BIN / "doppler-baseline"), str(graph), "--reference", "--devices", "4",
                                    "--algorithm", "local-search", "--evaluations", str(10**12)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("baseline", process.stderr.readline())  # it runs
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertIn("local-search", output)
        self.assertIn("stopped early", output)

    def interrupt(self, *arguments):
        """What a baseline says and returns that would run for hours but gets SIGINT once it has begun."""
        process = subprocess.Popen([str(BIN / "doppler-baseline"), *map(str, arguments)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.assertIn("baseline", process.stderr.readline())  # it runs
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=60)
        return process.returncode, output, messages

    def test_ctrl_c_ends_what_makes_many_tries(self):
        graph = self.path / "chain_mm.txt"
        self.assertEqual(run("graph", "generate", "chain-mm", "-o", graph).returncode, 0)
        endless = str(10**12)
        for algorithm, flag in (("random", "--samples"), ("critical-path", "--tries"), ("exhaustive", "--limit")):
            with self.subTest(algorithm):
                code, output, _ = self.interrupt(graph, "--reference", "--devices", "4", "--algorithm", algorithm,
                                                 flag, endless, "--json")
                self.assertEqual(code, 0)
                rows = json.loads(output)["baselines"]
                self.assertEqual([row["name"] for row in rows], [algorithm])
                self.assertTrue(rows[0]["stopped_early"])

    def test_ctrl_c_leaves_behind_what_makes_one(self):
        # Insertion looks for a gap behind everything that a device does: 200000^2 / 2 intervals, where none is free.
        count = 200000
        wide = self.write("wide.txt", f"{count}\n\n\n\n" + "1,1\n" * count)
        code, output, messages = self.interrupt(wide, "--reference", "--devices", "4", "--algorithm", "heft")
        self.assertEqual(code, 128 + signal.SIGINT)
        self.assertEqual(output, "")
        self.assertIn("doppler baseline: interrupted; without a result: heft", messages)

    def test_the_physical_mode_needs_a_topology(self):
        self.assert_fails(run("baseline", self.graph, "--devices", "2"), BAD_INPUT, "needs a topology", "--reference")
        self.assert_fails(run("baseline", self.graph, "--reference", "--devices", "2", "--contention", "fair"),
                          BAD_INPUT, "--contention is for the physical mode")
        self.assert_fails(run("baseline", self.graph, "--reference"), BAD_INPUT, "--devices is required")

    def test_the_physical_mode_speaks_seconds(self):
        graph = self.path / "chain_mm.dot"
        self.assertEqual(run("graph", "generate", "chain-mm", "--costs", "physical", "-o", graph).returncode, 0)
        topology = self.write("two.yaml", """\
name: two
devices:
  - {name: a, kind: gpu, flops_per_second: 1e12}
  - {name: b, kind: gpu, flops_per_second: 1e12}
links:
  - {between: [a, b], bandwidth_bytes_per_second: 1e10, latency_seconds: 1e-6}
""")
        for contention in ("none", "serial", "fair"):
            result = run("baseline", graph, "--topology", topology, "--contention", contention,
                         "--evaluations", "200", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(result.stdout)
            bound = report["lower_bounds"]["largest"]
            for row in report["baselines"]:
                self.assertAlmostEqual(row["cost"], row["makespan_ticks"] * 1e-12, delta=1e-12)
                self.assertGreaterEqual(row["cost"], bound)
                self.assertTrue(row["feasible"])
        # No bound knows noise.
        noisy = json.loads(run("baseline", graph, "--topology", topology, "--operation-noise", "0.1",
                               "--evaluations", "200", "--json").stdout)
        self.assertIsNone(noisy["lower_bounds"])


class Status(CliTest):
    """A run folder made by hand; tests/unit/learner/run_status_test.cc knows more of them."""

    def setUp(self):
        super().setUp()
        self.write("config.yaml", "graph: {generate: chain-mm}\n")
        row = {"update": 3, "time_seconds": 2.5, "stage": "simulation", "stage_used_fraction": 0.25, "episodes": 192,
               "best_ticks": 13000000000000, "counts": {"opened": 256, "trained": 192, "outstanding": 64}}
        self.metrics = self.write("metrics.jsonl", json.dumps(row) + "\n")

    def test_text_json_and_prometheus(self):
        result = run("status", self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("interrupted (no learner is there; go on with: doppler resume", result.stdout)
        self.assertIn("192 episodes in 3 updates", result.stdout)
        status = json.loads(run("status", self.path, "--json").stdout)
        self.assertEqual((status["state"], status["learner_alive"], status["checkpoint"]),
                         ("interrupted", False, None))
        self.assertEqual(status["graphs"][0]["best_cost"], 1300)
        self.assertIn('stage="simulation"} 0.25\n', run("status", self.path, "--prometheus").stdout)

    def test_watch_ends_with_the_learner(self):
        self.assertIn("interrupted", run("status", self.path, "--watch").stdout)
        with open(self.path / ".lock", "w", encoding="utf8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            watch = subprocess.Popen([BIN / "doppler", "status", self.path, "--watch", "--json", "--interval", "0.1"],
                                     stdout=subprocess.PIPE, text=True)
            self.assertEqual(json.loads(watch.stdout.readline())["state"], "running")
        rest = [json.loads(line)["state"] for line in watch.communicate(timeout=60)[0].splitlines()]
        self.assertEqual(rest[-1], "interrupted")
        self.assertEqual(watch.returncode, 0)

    def test_a_stalled_run_is_called_so(self):
        os.utime(self.metrics, (time.time() - 200, time.time() - 200))
        with open(self.path / ".lock", "w", encoding="utf8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            result = run("status", self.path)
            self.assertEqual(result.returncode, ENVIRONMENT)
            self.assertIn("stalled (a learner is there, but no update has come for", result.stdout)
            self.assertEqual(run("status", self.path, "--stalled-after", 300).returncode, 0)

    def test_what_is_no_run_is_refused(self):
        self.assert_fails(run("status", self.path / "none"), BAD_INPUT, "no config.yaml")
        self.assert_fails(run("status", self.path, "--json", "--prometheus"), BAD_INPUT, "--prometheus")


class Doctor(CliTest):
    def doctor(self, *arguments, **environment):
        # This test may itself run under a launcher.
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "OMPI_", "PMIX_"))}
        result = subprocess.run([BIN / "doppler", "doctor", "--json", *map(str, arguments)], capture_output=True,
                                text=True, timeout=120, env={**clean, **environment}, check=False)
        report = json.loads(result.stdout)
        checks = {check["name"]: check for check in report["checks"]}
        worst = max(("ok", "warning", "failed").index(check["outcome"]) for check in report["checks"])
        self.assertEqual(report["outcome"], ("ok", "warning", "failed")[worst])
        self.assertEqual(result.returncode, ENVIRONMENT if worst == 2 else 0, result.stdout)
        return checks

    def test_every_check_has_an_outcome_and_those_that_are_not_well_a_cure(self):
        checks = self.doctor("--run-dir", self.path / "runs/none/yet")
        for name in ("cores", "threads", "open files", "memory", "host name", "loopback port", "network port", "memfd",
                     "/dev/shm", "MPI", "GPU", "run folder", "file locks", "log", "free disk"):
            self.assertIn(name, checks)
            self.assertEqual(checks[name]["outcome"] == "ok", checks[name]["cure"] == "")
        self.assertEqual(checks["log"]["outcome"], "ok")
        # Nothing is left behind.
        self.assertEqual([p.name for p in self.path.iterdir()], ["chain.txt"])

    def test_ranks_that_do_not_find_each_other(self):
        check = self.doctor("--run-dir", self.path, SLURM_STEP_NUM_TASKS="3")["MPI"]
        self.assertEqual(check["outcome"], "failed")
        self.assertEqual(check["finding"], "a world of 1, where 3 tasks were started")
        self.assertIn("srun --mpi=pmix", check["cure"])

    def test_more_threads_than_cores(self):
        self.assertEqual(self.doctor("--run-dir", self.path, OMP_NUM_THREADS="100000")["threads"]["outcome"], "warning")

    def test_a_place_that_cannot_be_written(self):
        self.assertEqual(self.doctor("--run-dir", "/proc/runs")["run folder"]["outcome"], "failed")


if __name__ == "__main__":
    unittest.main()
