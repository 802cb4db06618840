#!/usr/bin/env python3
"""Prints what local search reaches with budgets of so many evaluations: the curve that a policy is compared with.

    search_curve.py GRAPH... [--bin build/bin] [--budgets 100,300,1000] [--seeds 5] [-- FLAGS OF doppler baseline]

For each budget a search of its own, since a budget shapes the search; the median, least and largest cost over the seeds.
The flags default to --reference --devices 4. Needs nothing but the standard library.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

BUDGETS = [100, 300, 1000, 3000, 10000, 30000, 100000]
FLAGS = ["--reference", "--devices", "4"]


def search(program, graph, flags, budget, seed):
    """The row of local search in the report of doppler baseline."""
    command = [program, graph, *flags, "--algorithm", "local-search", "--evaluations", budget, "--seed", seed, "--json"]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr.strip())
    return json.loads(result.stdout)["baselines"][0]


def main():
    arguments, flags = sys.argv[1:], FLAGS
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", metavar="GRAPH")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/bin"), help="folder of the programs")
    parser.add_argument("--budgets", type=lambda text: [int(part) for part in text.split(",")], default=BUDGETS)
    parser.add_argument("--seeds", type=int, default=5, help="how many, counted from 1")
    options = parser.parse_args(arguments)

    print("graph\tevaluations\tmedian\tleast\tlargest\tproven optimal")
    for graph in options.graphs:
        for budget in options.budgets:
            rows = [
                search(options.bin / "doppler-baseline", graph, flags, budget, seed)
                for seed in range(1, options.seeds + 1)
            ]
            costs = [row["cost"] for row in rows]
            optimal = sum(row["optimal"] for row in rows)
            print(
                f"{pathlib.Path(graph).stem}\t{budget}\t{statistics.median(costs):.9g}\t{min(costs):.9g}"
                f"\t{max(costs):.9g}\t{optimal}/{len(rows)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
