#!/usr/bin/python3
"""Trains variants of a configuration with equal budgets and several seeds, and compares what they find.

    compare.py configs/reference.yaml --set graph.generate=ffnn --budget-seconds 60 --seeds 1,2,3 \\
        --variant full --variant sel-only:model.place=earliest-start -o compared

A variant is NAME or NAME:key=value,key=value. Without --variant the ablations of the policies are compared:
the whole, SEL alone, PLC alone, both in one softmax, no imitation, imitation alone, no identity of shards, no message passing, messages at each step,
all placements in one pass (as GDP), placements one by one in a fixed order (as Placeto), energies without transfers, plain REINFORCE.
Runs stand in OUTPUT/NAME-seedN and are not trained again when they are there already. Prints a table: mean and standard
deviation over the seeds of the mean cost that the policy began and ended with, of its best and greedy cost, of the refined
cost where configured, beside HEFT and local search; results.json holds the numbers, curves.png the best cost against the episodes.
Needs matplotlib and no display. Exit code 2: bad input, or a run failed.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ABLATIONS = [
    "full",
    "sel-only:model.place=earliest-start",
    "plc-only:model.select=critical-path",
    "joint:model.select=joint",
    "no-imitation:stages.imitation.enabled=false",
    "imitation-only:stages.simulation.enabled=false",
    "no-identity:model.identity_features=false,model.operation_table=false,learner.encoder_learning_rate_factor=1",
    "no-table:model.operation_table=false,learner.encoder_learning_rate_factor=1",
    "no-messages:model.message_rounds=0",
    "messages-per-step:model.encode=per-step",
    "gdp:model.place=one-pass,model.select=critical-path,model.operation_table=false,learner.encoder_learning_rate_factor=1",
    "placeto:model.select=topological,model.place=pooled,model.encode=per-step,model.operation_table=false,"
    "learner.encoder_learning_rate_factor=1",
    "no-transfers:stages.simulation.transfer_weight_start=0",
    "reinforce:learner.clip_ratio=0,learner.pipeline_depth=0",
]


def parse_variant(text):
    name, _, settings = text.partition(":")
    settings = [part for part in settings.split(",") if part]
    if not name or "/" in name or any("=" not in part for part in settings):
        print(f"compare.py: --variant {text}: expected NAME or NAME:key=value,key=value", file=sys.stderr)
        raise SystemExit(2)
    return name, settings


def budget_settings(options, settings):
    """All of the budget goes to the stages that take place."""
    if options.budget_seconds:
        found = [f"run.budget_seconds={options.budget_seconds}"]
        if "stages.simulation.enabled=false" in settings:
            found.append("stages.imitation.share_of_seconds=1")
        return found
    if options.episodes:
        only = "imitation" if "stages.simulation.enabled=false" in settings else "simulation"
        return [f"stages.{only}.episodes={options.episodes}"]
    return []


def train(options, name, settings, seed):
    """The summary and the metrics of one run, which is made where it is not there yet."""
    folder = options.output / f"{name}-seed{seed}"
    if not (folder / "summary.json").exists():
        flags = [*options.set, *settings, *budget_settings(options, settings), f"run.seed={seed}"]
        if (folder / "config.yaml").exists():  # a run that was stopped
            command = [options.bin / "doppler", "resume", folder, "--quiet", "--workers", options.workers]
        else:
            command = [options.bin / "doppler", "train", options.config, "--run-dir", folder, "--quiet"]
            command += ["--workers", options.workers]
            for flag in flags:
                command += ["--set", flag]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines() or ["no message"]
            print(f"compare.py: {name}, seed {seed}: {lines[-1]}", file=sys.stderr)
            raise SystemExit(2)
    summary = json.loads((folder / "summary.json").read_text())
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return summary, rows


def collect(options):
    """{variant: {graph: {measure: [value a seed]}}} and {variant: [curve a seed]} of the first graph."""
    results, curves = {}, {}
    for text in options.variant or ABLATIONS:
        name, settings = parse_variant(text)
        for seed in options.seeds:
            summary, rows = train(options, name, settings, seed)
            for graph in summary["graphs"]:
                values = results.setdefault(name, {}).setdefault(graph["name"], {})
                baselines = {row["name"].split(",")[0]: row["cost"] for row in graph["baselines"]}
                measures = {
                    "best": graph.get("policy_best_cost"),
                    "greedy": graph.get("policy_greedy_cost"),
                    "refined": graph.get("refined_cost"),
                    **first_and_last(graph, rows, len(summary["graphs"])),
                    "heft": baselines.get("heft"),
                    "local-search": baselines.get("local-search"),
                    "seconds": summary["wall_seconds"],
                    "episodes": summary["episodes"],
                }
                for measure, value in measures.items():
                    values.setdefault(measure, []).append(value)
            scale = graph_scale(summary)
            curves.setdefault(name, []).append([(row["episodes"], row["best_ticks"] * scale) for row in rows])
            print(f"{name}, seed {seed}: done", file=sys.stderr, flush=True)
    return results, curves


def first_and_last(graph, rows, graph_count):
    """Mean cost of what the policy itself has played, in the first and in the last two updates. With several graphs a row's mean is of no single one."""
    own = [row["makespan_mean_ticks"] for row in rows if row["stage"] != "imitation"]
    if graph_count > 1 or not own or not graph["lower_bound_ticks"]:
        return {"first": None, "last": None}
    scale = graph["lower_bound_cost"] / graph["lower_bound_ticks"]
    return {"first": statistics.fmean(own[:2]) * scale, "last": statistics.fmean(own[-2:]) * scale}


def graph_scale(summary):
    """From ticks to the cost that the report shows, for the first graph."""
    graph = summary["graphs"][0]
    ticks = graph["lower_bound_ticks"]
    return graph["lower_bound_cost"] / ticks if ticks else 1.0


def mean_and_deviation(values):
    known = [value for value in values if value is not None]
    if not known:
        return None
    return statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else 0.0


def print_table(results):
    columns = ["first", "last", "best", "greedy", "refined", "heft", "local-search", "episodes", "seconds"]
    for graph in next(iter(results.values())):
        print(f"\n{graph}")
        print(f"  {'variant':<18}" + "".join(f"{column:>24}" for column in columns))
        for name, graphs in results.items():
            cells = []
            for column in columns:
                found = mean_and_deviation(graphs[graph][column])
                cells.append("-" if found is None else f"{found[0]:.6g} +- {found[1]:.2g}")
            print(f"  {name:<18}" + "".join(f"{cell:>24}" for cell in cells))


def plot(curves, path):
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for number, (name, runs) in enumerate(curves.items()):
        for index, curve in enumerate(runs):
            episodes, costs = zip(*curve)
            axes.plot(episodes, costs, color=f"C{number % 10}", linestyle="-" if number < 10 else "--", alpha=0.8,
                      label=name if index == 0 else None)
    axes.set_xscale("log")
    axes.set_xlabel("episodes")
    axes.set_ylabel("best cost so far, first graph")
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME[:key=value,...]")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="for all variants")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2, 3])
    parser.add_argument("--budget-seconds", type=float, default=0)
    parser.add_argument("--episodes", type=int, default=0, help="instead of seconds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"), help="folder of the programs")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder for the runs and the report")
    options = parser.parse_args()
    names = [parse_variant(text)[0] for text in options.variant]
    if len(set(names)) != len(names):
        print("compare.py: --variant: two variants have one name", file=sys.stderr)
        raise SystemExit(2)
    options.output.mkdir(parents=True, exist_ok=True)
    results, curves = collect(options)
    (options.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print_table(results)
    plot(curves, options.output / "curves.png")
    print(f"\nnumbers: {options.output}/results.json, curves: {options.output}/curves.png")


if __name__ == "__main__":
    main()
