#!/usr/bin/env python3
"""Draws how the time of the physical simulator grows with the graph.

    physical_benchmark --benchmark_filter=scale --benchmark_format=json > scaling.json
    plot_scaling.py scaling.json [-o scaling.png]

plots the time of one evaluation against the number of operations, for each mode of contention, beside a line of n log n.
Needs matplotlib and no display. Exit code 2: the file holds no such measurements.
"""

import argparse
import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Okabe and Ito's colours, which differ for colour-blind readers too.
COLOURS = {"none": "#0072B2", "serial": "#E69F00", "fair": "#009E73"}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def read_scaling(path):
    """{mode: [(operations, seconds of processor time)]}, by operations."""
    modes = {}
    for row in json.loads(path.read_text())["benchmarks"]:
        parts = row["name"].split("/")
        if row.get("run_type") == "aggregate" or parts[0] != "scale" or len(parts) != 3:
            continue
        modes.setdefault(parts[1], []).append((int(parts[2]), row["cpu_time"] * SECONDS[row["time_unit"]]))
    return {mode: sorted(points) for mode, points in modes.items()}


def plot(modes, path):
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for mode, points in modes.items():
        sizes, times = zip(*points)
        colour = COLOURS.get(mode, "#333333")
        axes.loglog(sizes, times, "o-", color=colour, label=mode)
        # n log n through the geometric mean of the measurements.
        grows = [n * math.log(n) for n in sizes]
        factor = math.exp(sum(math.log(t / g) for t, g in zip(times, grows)) / len(times))
        axes.loglog(sizes, [factor * g for g in grows], "--", color=colour, linewidth=0.8)
    axes.plot([], [], "--", color="#333333", linewidth=0.8, label="n log n")
    axes.set_xlabel("operations")
    axes.set_ylabel("seconds an evaluation, one core")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.legend(title="contention", frameon=False)
    figure.savefig(path, dpi=160)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measurements", type=pathlib.Path, help="JSON of physical_benchmark")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("scaling.png"))
    arguments = parser.parse_args()
    try:
        modes = read_scaling(arguments.measurements)
    except (OSError, ValueError, KeyError) as error:
        print(f"plot_scaling.py: {arguments.measurements}: {error}", file=sys.stderr)
        return 2
    if not modes:
        print(
            f"plot_scaling.py: {arguments.measurements} holds no measurement named scale/MODE/OPERATIONS; make it with "
            "physical_benchmark --benchmark_filter=scale --benchmark_format=json",
            file=sys.stderr,
        )
        return 2
    plot(modes, arguments.output)
    print(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
