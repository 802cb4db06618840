"""doppler execute, calibrate and fidelity, as a user meets them.

Run by ctest with the folder of the programs as its argument; nothing but the standard library is needed.
"""

import json
import subprocess
import unittest

from command_line import BAD_INPUT, BIN, CommandLineTest, run

# 1 FLOP takes 1 ns, 1 byte 1 ns.
PAIR = """name: pair
devices:
  - {name: d, count: 2, kind: unit, flops_per_second: 1e9, copy_engines_out: 1, memory_bytes: 1000000}
links:
  - {between: [d0, d1], bandwidth_bytes_per_second: 1e9}
"""

# a and b take 1 ms each and send 4000 bytes to c and d, which take 1 ms each.
GRAPH = """digraph g {
  a [size="1000000"]; b [size="1000000"]; c [size="1000000"]; d [size="1000000"];
  a -> c [size="4000"];
  b -> d [size="4000"];
}
"""


class ExecutionTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.pair = self.write("pair.yaml", PAIR)
        self.graph = self.write("graph.dot", GRAPH)

    def execute(self, *arguments, stdin=""):
        return run("execute", self.graph, "--topology", self.pair, *arguments, stdin=stdin)

    def test_both_backends_measure_an_assignment(self):
        one = self.write("one.csv", "0,1,1,0\n")
        for backend in ("emulated", "cpu"):
            result = self.execute("--assignment", one, "--backend", backend, "--repeats", 3, "--json", "--verify",
                                  "--explain", "--trace", self.path / "trace.json")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(result.stdout)
            self.assertEqual(report["status"], "done")
            self.assertEqual(report["backend"], backend)
            self.assertEqual(len(report["samples_seconds"]), 3)
            self.assertLessEqual(report["low_seconds"], report["seconds"])
            self.assertGreaterEqual(report["high_seconds"], report["seconds"])
            self.assertTrue(report["equal_to_one_device"])
            self.assertEqual(report["transfers"], 2)  # a to d1, b to d0
            self.assertEqual(report["operations"]["synthetic"], 4)  # kinds that are not known
            self.assertIn("critical path of the schedule", report["explanation"])
            self.assertIn("between steps", report["explanation"])  # what the executor took
            events = json.loads((self.path / "trace.json").read_text())["traceEvents"]
            self.assertEqual(sum(event["ph"] == "X" for event in events), 6)  # 4 operations, 2 transfers
            if backend == "emulated":  # it cannot be faster than 2 ms and the 4 us of a transfer
                self.assertGreaterEqual(report["seconds"], 0.002004)

    def test_assignments_from_standard_input_come_back_line_by_line(self):
        # The next line is sent only when the result of the one before is there.
        with subprocess.Popen(
                [str(BIN / "doppler"), "execute", str(self.graph), "--topology", str(self.pair), "--assignments", "-",
                 "--backend", "emulated", "--repeats", "1", "--json"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            seconds = []
            for line in ("0,0,0,0", "0,1,0,1", "# a comment", "1,1,1,1"):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                if line.startswith("#"):
                    continue
                result = json.loads(process.stdout.readline())
                self.assertEqual(result["status"], "done")
                seconds.append(result["seconds"])
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)
        self.assertGreaterEqual(seconds[0], 0.004)  # four operations of 1 ms on one device
        self.assertGreaterEqual(seconds[1], 0.002)
        self.assertGreaterEqual(seconds[2], 0.004)

    def test_what_does_not_fit_and_what_takes_too_long_is_a_result(self):
        small = self.write("small.yaml", PAIR.replace("memory_bytes: 1000000", "memory_bytes: 100"))
        lines = self.write("lines.csv", "0,1,0,1\n")
        result = run("execute", self.graph, "--topology", small, "--assignments", lines, "--backend", "emulated")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "-\t-\t-\tout of memory\n")
        result = self.execute("--assignments", lines, "--backend", "emulated", "--timeout", "1e-4", "--no-control")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "-\t-\t-\ttimed out\n")

    def test_a_calibrated_topology_simulates_what_is_measured(self):
        # The emulated machine takes 5 us for each operation and 1 ns a FLOP.
        truth = self.write("truth.yaml", PAIR.replace("copy_engines_out: 1", "launch_overhead_seconds: 5e-6"))
        found = self.path / "found.yaml"
        result = run("calibrate", "--backend", "emulated", "--topology", truth, "--like", self.graph,
                     "--largest-transfer", 65536, "-o", found)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("median error", result.stdout)
        self.assertIn("d0 -> d1", result.stdout)
        lines = self.write("lines.csv", "0,0,0,0\n")
        result = run("simulate", self.graph, "--topology", found, "--assignments", lines, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        simulated = json.loads(result.stdout)[0]["makespan_seconds"]
        self.assertGreater(simulated, 0.003)  # four operations of 1.005 ms; less only if the fit were wrong
        self.assertLess(simulated, 0.1)  # a wrong unit would be off by a thousand; a busy machine is not
        points = self.path / "points.csv"
        result = run("fidelity", self.graph, "--topology", found, "--backend", "emulated", "--assignments", 4,
                     "--search", 20, "--csv", points, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["assignments"], 4)
        self.assertEqual(report["synthetic_operations"], 4)
        self.assertGreater(report["median_simulated_over_measured"], 0.01)
        self.assertEqual(points.read_text().count("\n"), 5)

    def test_search_measures_what_it_tries(self):
        best = self.path / "best.csv"
        starts = self.write("starts.csv", "0,0,0,0\n")
        flags = ("--topology", self.pair, "--backend", "emulated", "--evaluations", 40, "--repeats", 1, "--warmup", 0)
        result = run("search", self.graph, *flags, "--starts", starts, "-o", best, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["evaluations"], 40)
        self.assertEqual(best.read_text().strip(), ",".join(map(str, report["assignment"])))
        # What it says of its best is not less than what the simulator, which the emulated machine obeys, says.
        result = run("simulate", self.graph, "--topology", self.pair, "--assignments", best, "--json")
        self.assertGreaterEqual(report["best_seconds"], json.loads(result.stdout)[0]["makespan_seconds"])
        self.assert_fails(run("search", self.graph, *flags, "--starts", self.write("wrong.csv", "0,9,0,0\n")), BAD_INPUT, "wrong.csv:1:3")

    def test_bad_input_is_told_with_its_place(self):
        one = self.write("one.csv", "0,1,1,0\n")
        self.assert_fails(run("calibrate", "--devices", 2, "--topology", self.pair, "-o", "x"), BAD_INPUT, "either --devices")
        self.assert_fails(run("fidelity", self.graph, "--topology", self.path / "no.yaml"), BAD_INPUT, "no.yaml")
        self.assert_fails(self.execute("--assignment", one, "--backend", "cuba"), BAD_INPUT, "'cuba' is no backend")
        self.assert_fails(self.execute(), BAD_INPUT, "give either --assignment FILE for one or --assignments")
        self.assert_fails(self.execute("--assignments", one, "--explain"), BAD_INPUT, "--explain is about one")
        self.assert_fails(self.execute("--assignment", one, "--repeats", 0), BAD_INPUT, "--repeats")
        self.assert_fails(self.execute("--assignment", self.path / "none.csv"), BAD_INPUT, "none.csv")
        durations = self.write("durations.stg", "2\n0 0 0\n1 3 1 0\n2 4 1 1\n3 0 1 2\n")
        for verb in (("execute", "--assignment", one), ("fidelity",), ("search",)):
            result = run(verb[0], durations, "--topology", self.pair, *verb[1:])
            self.assert_fails(result, BAD_INPUT, "durations.stg: states durations", "FLOPs and bytes")
        wrong = self.execute("--assignments", "-", "--backend", "emulated", "--repeats", 1, stdin="0,1,0,1\n\n0,2,0,1\n")
        self.assert_refused(wrong, BAD_INPUT, "standard input:3:3")
        self.assertEqual(wrong.stdout.count("\n"), 1, "the result before it is there")


if __name__ == "__main__":
    unittest.main()
