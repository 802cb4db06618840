"""doppler topology, and doppler simulate in physical mode, as a user meets them.

Run by ctest with the folder of the programs as its argument; nothing but the standard library is needed.
"""

import json
import unittest

from command_line import BAD_INPUT, SOURCE, CommandLineTest, run

# d0 and d1 compute 1 FLOP a second; a link of 1 byte a second joins them.
PAIR = """name: pair
route_reference_bytes: 8
devices:
  - {name: d, count: 2, kind: unit, flops_per_second: 1, memory_bytes: 10}
links:
  - {between: [d0, d1], bandwidth_bytes_per_second: 1}
"""

# a and b take 1 s each and send 4 bytes to c and d, which take 1 s each.
GRAPH = """digraph g {
  a [size="1"]; b [size="1"]; c [size="1"]; d [size="1"];
  a -> c [size="4"];
  b -> d [size="4"];
}
"""

NCCL = """<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" modelid="85">
    <pci busid="0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
    <pci busid="1" class="0x030200" link_speed="16 GT/s" link_width="16"/>
  </cpu>
</system>
"""


class CliTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.pair = self.write("pair.yaml", PAIR)
        self.graph = self.write("graph.dot", GRAPH)


class Topology(CliTest):
    def test_check_counts(self):
        result = run("topology", "check", self.pair)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, f"{self.pair}: 2 devices, 0 switches, 2 links, 0 shared groups\n")
        report = json.loads(run("topology", "check", self.pair, "--json").stdout)
        self.assertEqual((report["devices"], report["links"]), (2, 2))
        self.assertRegex(report["content_hash"], "^[0-9a-f]{16}$")

    def test_every_shipped_topology_is_fine(self):
        for path in sorted((SOURCE / "configs/topologies").glob("*.yaml")):
            self.assertEqual(run("topology", "check", path).returncode, 0, path)

    def test_show_prints_a_bandwidth_matrix_and_routes(self):
        result = run("topology", "show", SOURCE / "configs/topologies/v100x8-dgx1.yaml", "--routes")
        self.assertEqual(result.returncode, 0, result.stderr)
        # gpu0's row: one brick, one, two, two; PCI and QPI for the rest.
        self.assertRegex(result.stdout, r"\n +gpu0 +- +25 +25 +50 +50 +6 +6 +6\n")
        self.assertIn("gpu0 to gpu5: 13 us, 6 GB/s, over gpu0->pcie0 pcie0->cpu0 cpu0->cpu1 cpu1->pcie2 pcie2->gpu5",
                      result.stdout)

    def test_show_as_json(self):
        report = json.loads(run("topology", "show", self.pair, "--json").stdout)
        self.assertEqual(report["routes"][0], {
            "from": "d0", "to": "d1", "bandwidth_bytes_per_second": 1.0, "latency_seconds": 0.0,
            "links": ["d0->d1"], "shared_groups": []})

    def test_mistakes_name_their_place(self):
        wrong = self.write("wrong.yaml", PAIR.replace("memory_bytes", "memory_byte"))
        self.assert_fails(run("topology", "check", wrong), BAD_INPUT,
                          f"doppler topology: {wrong}:4:", "is no key; did you mean 'memory_bytes'?")
        self.assert_fails(run("topology", "check", self.path / "none.yaml"), BAD_INPUT, "no such file")
        self.assert_fails(run("topology", "chek", self.pair), BAD_INPUT, "did you mean 'check'?")

    def test_import_from_nccl(self):
        xml = self.write("nccl.xml", NCCL)
        made = self.path / "made.yaml"
        self.assert_fails(run("topology", "import", xml, "-o", made), BAD_INPUT, f"{xml}:3:5:", "--kind")
        result = run("topology", "import", xml, "--kind", "a100", "-o", made)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("note: ", result.stderr)
        report = json.loads(run("topology", "show", made, "--json").stdout)
        self.assertEqual(report["device_list"][0]["kind"], "a100")
        self.assertEqual(report["routes"][0]["bandwidth_bytes_per_second"], 24e9)


class Simulate(CliTest):
    def simulate(self, *arguments, **options):
        return run("simulate", self.graph, "--topology", self.pair, "--assignments", "-", *arguments, **options)

    def test_contention(self):
        # a 0-1, b 1-2. Free: moves 1-5 and 2-6, d 6-7. Serial: 1-5 and 5-9, d 9-10. Fair: 1-8 and 2-9, d 9-10.
        for mode, makespan in (("none", 7), ("serial", 10), ("fair", 10)):
            result = self.simulate("--contention", mode, stdin="0,0,1,1\n")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, f"{makespan}.000000000000\t{makespan}000000000000\n")

    def test_dispatch_by_order(self):
        orders = self.write("orders.csv", "1,0,3,2\n")
        # b 0-1, a 1-2; moves 1-5 and 5-9: c waits for the link that b's output holds.
        text = self.simulate("--dispatch", "priority", "--orders", orders, "--explain", stdin="0,0,1,1\n").stdout
        self.assertIn("held by output of b (1) to d1", text)
        self.assert_fails(self.simulate("--dispatch", "priority", "--orders", self.write("o", "1,0,3,3\n"),
                                        stdin="0,0,1,1\n"), BAD_INPUT, "order 1: operation 3 stands in it twice")
        self.assert_fails(self.simulate("--orders", orders, stdin="0,0,1,1\n0,0,0,0\n"), BAD_INPUT,
                          "1 orders for 2 assignments")

    def test_explain_names_the_link(self):
        text = self.simulate("--explain", stdin="0,0,1,1\n").stdout
        self.assertIn("critical path of the schedule", text)
        self.assertIn("link d0->d1, held by output of a (0) to d1", text)
        self.assertIn("moving tensors     8.000000000 s   80.0 %", text)

    def test_json_report(self):
        report = json.loads(self.simulate("--json", stdin="0,0,1,1\n0,0,0,0\n").stdout)
        self.assertEqual(report[0]["makespan_seconds"], 10)
        self.assertEqual(report[0]["links"][0], {"name": "d0->d1", "busy_seconds": 8.0, "bytes": 8})
        self.assertEqual(report[0]["devices"][0]["busy_seconds"], 2)
        self.assertEqual(report[1]["makespan_ticks"], 4 * 10**12)
        self.assertEqual(report[1]["transfers"], 0)

    def test_enforced_memory(self):
        small = self.write("small.yaml", PAIR.replace("memory_bytes: 10", "memory_bytes: 4"))
        # d1 holds the copy of a from 1 to 6 and that of b from 5 on: (8 - 4) / 4 = 1, cost 10 s x (1 + 10).
        arguments = ("simulate", self.graph, "--topology", small, "--assignments", "-")
        reported = json.loads(run(*arguments, "--json", "--memory", "report", stdin="0,0,1,1\n").stdout)[0]
        self.assertTrue(reported["feasible"])
        self.assertEqual(reported["cost_seconds"], 10)
        enforced = json.loads(run(*arguments, "--json", stdin="0,0,1,1\n").stdout)[0]  # the default
        self.assertFalse(enforced["feasible"])
        self.assertEqual(enforced["makespan_seconds"], 10)
        self.assertEqual(enforced["largest_overflow_fraction"], 1)
        self.assertEqual(enforced["cost_seconds"], 110)
        self.assertIn("infeasible", run(*arguments, stdin="0,0,1,1\n").stdout)

    def test_noise_of_one_kind_leaves_the_others_alone(self):
        graph = self.write("kinds.dot", GRAPH.replace('a [size="1"]', 'a [size="1", kind="mul"]'))
        trace = self.path / "trace.json"

        def durations(*flags):
            done = run("simulate", graph, "--topology", self.pair, "--assignments", "-", "--trace", trace, *flags,
                       stdin="0,0,1,1\n")
            self.assertEqual(done.returncode, 0, done.stderr)
            events = json.loads(trace.read_text())["traceEvents"]
            return {event["args"]["operation"]: event["dur"] for event in events
                    if event["ph"] == "X" and "operation" in event["args"]}

        quiet = durations()
        self.assertEqual(sorted(quiet), [0, 1, 2, 3])
        noisy = durations("--kind-noise", "mul=0.5")
        self.assertEqual([o for o in quiet if noisy[o] != quiet[o]], [0])
        noisy = durations("--operation-noise", 0.5, "--kind-noise", "mul=0")
        self.assertEqual([o for o in quiet if noisy[o] != quiet[o]], [1, 2, 3])
        bad = self.simulate("--kind-noise", "work", stdin="0,0,1,1\n")
        self.assertEqual(bad.returncode, BAD_INPUT)
        self.assertIn("expected KIND=NUMBER", bad.stderr)

    def test_noise_is_replayed_by_its_seed(self):
        outputs = [self.simulate("--operation-noise", 0.2, "--seed", seed, stdin="0,0,1,1\n").stdout
                   for seed in (1, 1, 2)]
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0], outputs[2])

    def test_trace(self):
        trace = self.path / "trace.json"
        self.assertEqual(self.simulate("--trace", trace, stdin="0,0,1,1\n").returncode, 0)
        events = json.loads(trace.read_text())["traceEvents"]
        rows = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
        self.assertEqual(rows, ["d0", "d1", "d0->d1", "d1->d0"])
        self.assertEqual(sum(event["ph"] == "X" for event in events), 4 + 2)
        self.assertEqual(sum(event["ph"] == "s" for event in events), 2 + 2)
        self.assert_fails(self.simulate("--trace", trace, stdin="0,0,1,1\n0,0,0,0\n"), BAD_INPUT,
                          "exactly one assignment")

    def test_wrong_command_lines(self):
        self.assert_fails(run("simulate", self.graph, "--assignments", "-"), BAD_INPUT,
                          "needs a topology", "--reference")
        self.assert_fails(self.simulate("--devices", 2), BAD_INPUT, "the topology says")
        self.assert_fails(self.simulate("--contention", "some"), BAD_INPUT, "--contention", "none")
        self.assert_fails(run("simulate", self.graph, "--reference", "--devices", 2, "--assignments", "-",
                              "--explain"), BAD_INPUT, "--explain is for the physical mode")
        self.assert_fails(run("simulate", "-", "--topology", "-", "--assignments", self.graph), BAD_INPUT,
                          "can be standard input")
        self.assert_fails(self.simulate(stdin="0,0,1,2\n"), BAD_INPUT, "1:7")

    def test_a_graph_of_durations_is_refused(self):
        text = self.write("text.txt", "2\n\n0, \n1, \n10,5,matmul\n10,5,add\n")
        result = run("simulate", text, "--topology", self.pair, "--assignments", "-", stdin="0,1\n")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("states durations", result.stderr)


if __name__ == "__main__":
    unittest.main()
