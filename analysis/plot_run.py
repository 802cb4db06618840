#!/usr/bin/env python3
"""Draws a Doppler run: its training curves, and the schedule of the best assignment.

    plot_run.py RUN_DIR [-o DIR]

writes training.png and .svg (one pair a graph where a run has several), schedule.png and .svg, and in asynchronous mode
staleness.png and .svg. Needs h5py, numpy and
matplotlib, and no display. What a run does not hold is left out with a sentence; exit code 2: nothing could be
drawn, 3: the figures could not be written.
"""

import argparse
import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy  # noqa: E402
from matplotlib.ticker import EngFormatter, FuncFormatter  # noqa: E402

import load_run  # noqa: E402

LOWER_BOUND = "lower bound"
INK = "#222222"
GREY = "#8a8a8a"
EPISODES = "#9ecae1"
MEAN = "#08519c"
BEST = "#d94801"
GREEDY = "#238b45"
# Okabe and Ito's colours, which differ for colour-blind readers too.
KIND_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"]
LIGHT_COLOURS = {"#E69F00", "#56B4E9", "#F0E442", "#999999"}  # dark text reads better on these
STAGE_SHADES = {1: "#f3f0fa", 2: "#ffffff", 3: "#fdf3ea"}


class Units:
    """How ticks are shown: as seconds where a tick is a picosecond, else as they are."""

    def __init__(self, tick_unit):
        self.seconds = tick_unit == "picoseconds"
        self.factor = 1e-12 if self.seconds else 1
        self.label = "s" if self.seconds else "ticks"
        self.formatter = EngFormatter(unit="s" if self.seconds else "", places=None, sep=" ")

    def text(self, ticks):
        number = EngFormatter(unit="s" if self.seconds else "", places=3, sep=" ")(ticks * self.factor)
        return number.strip() if self.seconds else f"{number.strip()} ticks"


def style():
    plt.rcParams.update(
        {
            "figure.dpi": 120,
            "savefig.dpi": 160,
            "font.size": 10,
            "axes.edgecolor": GREY,
            "axes.labelcolor": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "svg.fonttype": "none",
            "svg.hashsalt": "doppler",
        }
    )


def save(figure, folder, name):
    paths = []
    for suffix in ("png", "svg"):
        path = folder / f"{name}.{suffix}"
        figure.savefig(path, bbox_inches="tight")
        paths.append(path)
    plt.close(figure)
    return paths


# ---- training curves


def running_mean(values, window):
    """The mean of each value and the window - 1 before it (fewer at the start)."""
    sums = numpy.concatenate([[0.0], numpy.cumsum(values, dtype=numpy.float64)])
    ends = numpy.arange(1, len(values) + 1)
    starts = numpy.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def spread_labels(heights, gap):
    """Places for labels as near to their heights as a gap between them allows."""
    order = numpy.argsort(heights)
    places = numpy.array(heights, dtype=float)
    for _ in range(100):
        for low, high in zip(order, order[1:]):
            overlap = gap - (places[high] - places[low])
            if overlap > 0:
                places[low] -= overlap / 2
                places[high] += overlap / 2
    return places


def ratio_text(ticks, references):
    bound = next((bound for name, bound, _ in references if name == LOWER_BOUND), None)
    return f"  ({ticks / bound:.3f} x bound)" if bound and ticks != bound else ""


def draw_references(axes, references, units):
    """Horizontal lines with their names at the right edge; what lies above the axes is named in the corner."""
    bottom, top = axes.get_ylim()
    inside = [(name, ticks, colour) for name, ticks, colour in references if ticks <= top]
    above = [(name, ticks) for name, ticks, _ in references if ticks > top]
    places = spread_labels([ticks for _, ticks, _ in inside], (top - bottom) * 0.045)
    for (name, ticks, colour), place in zip(inside, places):
        is_bound = colour == INK
        axes.axhline(ticks, color=colour, linewidth=1.4 if is_bound else 1, linestyle="-" if is_bound else "--", zorder=1.5)
        axes.annotate(
            f"{name}  {units.text(ticks)}{ratio_text(ticks, references)}",
            xy=(1, ticks),
            xycoords=axes.get_yaxis_transform(),
            xytext=(1.02, place),
            textcoords=axes.get_yaxis_transform(),
            va="center",
            fontsize=8.5,
            color=colour,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0},
            annotation_clip=False,
        )
    if above:
        text = "above the figure: " + ", ".join(f"{name} {units.text(ticks)}" for name, ticks in above)
        axes.text(0.995, 1.015, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color=GREY)


def shade_stages(axes, positions, stages):
    """A background a stage, with its name."""
    changes = numpy.flatnonzero(numpy.diff(stages)) + 1
    begins = numpy.concatenate([[0], changes])
    ends = numpy.concatenate([changes, [len(stages)]])
    # Late episodes of a stage that has ended make many short ones, which would only clutter.
    if len(begins) == 1 or len(begins) > 8:
        return
    for begin, end in zip(begins, ends):
        left, right = positions[begin], positions[end - 1]
        axes.axvspan(left, right, color=STAGE_SHADES.get(int(stages[begin]), "#ffffff"), zorder=0, linewidth=0)
        if begin > 0:
            axes.axvline(left, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        if right - left > 0.04 * (positions[-1] - positions[0]):
            axes.text(
                left, 0.985, " " + load_run.STAGES.get(int(stages[begin]), "?"), transform=axes.get_xaxis_transform(),
                va="top", fontsize=8.5, color=GREY,
            )


def plot_training(name, makespans, stages, greedy, references, units, unit_note):
    """makespans, stages: [episodes]; greedy: [(episodes so far, ticks)]; references: [(name, ticks, colour)]."""
    figure, axes = plt.subplots(figsize=(10, 5.4))
    count = len(makespans)
    positions = numpy.arange(1, count + 1)
    window = max(1, count // 100)
    mean = running_mean(makespans, window)
    best = numpy.minimum.accumulate(makespans)

    shown = numpy.unique(numpy.linspace(0, count - 1, min(count, 6000)).astype(int))
    axes.plot(positions[shown], makespans[shown], ".", markersize=2, color=EPISODES, alpha=0.6, label="episode",
              rasterized=True)
    lines = numpy.unique(numpy.linspace(0, count - 1, min(count, 2000)).astype(int))
    axes.plot(positions[lines], mean[lines], color=MEAN, linewidth=1.8, label="mean" + (f" of {window:,} episodes" if window > 1 else ""))
    steps = numpy.unique(numpy.concatenate([lines, numpy.flatnonzero(numpy.diff(best, prepend=best[0] + 1))]))
    axes.step(positions[steps], best[steps], where="post", color=BEST, linewidth=1.8, label="best so far")
    if greedy:
        axes.plot(*zip(*greedy), "o", markersize=5, markerfacecolor="white", markeredgecolor=GREEDY, markeredgewidth=1.6,
                  label="greedy policy")

    low = min([best[-1]] + [ticks for _, ticks, _ in references])
    high = max(numpy.percentile(makespans, 99), mean.max())
    margin = 0.05 * max(high - low, 1)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(0, count * 1.002 + 1)
    shade_stages(axes, positions, stages)
    draw_references(axes, references, units)

    axes.set_title(f"{name}: makespan while training", pad=22)
    axes.set_xlabel("episodes")
    axes.set_ylabel(f"makespan ({unit_note})")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.formatter(value * units.factor)))
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncol=4, frameon=False, markerscale=1.5)
    return figure


def references_of(summary, name):
    if summary is None:
        return []
    for graph in summary.get("graphs", []):
        if graph.get("name") == name:
            lines = [(line["name"], line["makespan_ticks"], GREY) for line in graph.get("baselines", [])]
            if graph.get("lower_bound_ticks"):
                lines.append((LOWER_BOUND, graph["lower_bound_ticks"], INK))
            return lines
    return []


def staleness_figure(records):
    """How far the weights that played an update's episodes lay behind; None where that is the same for all of an update."""
    records = [record for record in records if record.get("lags")]
    if not any(sum(count > 0 for count in record["lags"]) > 1 for record in records):
        return None
    depth = max(len(record["lags"]) for record in records)
    shares = numpy.zeros((len(records), depth))
    for row, record in enumerate(records):
        shares[row, : len(record["lags"])] = numpy.array(record["lags"]) / max(sum(record["lags"]), 1)
    # Hundreds of bars at most, each the mean of some updates.
    parts = numpy.array_split(numpy.arange(len(records)), min(len(records), 300))
    updates = [records[part[0]]["update"] for part in parts]
    means = numpy.array([shares[part].mean(axis=0) for part in parts])
    figure, axes = plt.subplots(figsize=(10, 3.4))
    colours = plt.cm.Blues(numpy.linspace(0.25, 0.95, depth))
    axes.stackplot(updates, means.T, colors=colours, labels=[str(lag) for lag in range(depth)], step="post")
    fraction = [numpy.mean([records[i].get("effective_sample_fraction", 1) for i in part]) for part in parts]
    axes.plot(updates, fraction, color=BEST, linewidth=1.6, label="effective samples")
    axes.set_title("versions that the weights lay behind")
    axes.set_xlabel("updates")
    axes.set_ylabel("share of the episodes")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(updates[0], updates[-1] + 1)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=min(depth + 1, 10), frameon=False)
    return figure


def training_figures(run, note, units, unit_note):
    """[(file name, figure)]"""
    summary = optional(run.summary, note)
    records = optional(run.metrics, note) or []
    segments = run.segments()
    episodes = run.episodes()
    for warning in run.warnings:
        note(warning)
    figures = []
    if episodes and len(episodes["episode"]):
        usable = ~numpy.isin(episodes["status"], (load_run.DROPPED_INVALID, load_run.FAILED, load_run.EVALUATED))
        graphs = segments[0][1]["graphs"]
        present = numpy.unique(episodes["graph"][usable])
        for graph in present:
            rows = numpy.flatnonzero(usable & (episodes["graph"] == graph))
            name = graphs[graph] if graph < len(graphs) else f"graph {graph}"
            greedy = []
            if len(present) == 1:
                greedy = [(record["episodes"], record["greedy_ticks"]) for record in records
                          if record.get("greedy_ticks") is not None]
            figure = plot_training(name, episodes["makespan_ticks"][rows], episodes["stage"][rows], greedy,
                                   references_of(summary, name), units, unit_note)
            suffix = "" if len(present) == 1 else "-" + re.sub(r"[^A-Za-z0-9._-]+", "_", name)
            figures.append((f"training{suffix}", figure))
    elif records:
        note(f"{run.path}/trajectories: no episodes; the curves are drawn from the updates' means in metrics.jsonl")
        names = [graph["name"] for graph in (summary or {}).get("graphs", [])]
        name = names[0] if len(names) == 1 else "all graphs"
        stage_numbers = {text: number for number, text in load_run.STAGES.items()}
        usable = [record for record in records if record.get("makespan_mean_ticks") is not None]
        greedy = [(number, record["greedy_ticks"]) for number, record in enumerate(usable, 1)
                  if record.get("greedy_ticks") is not None]
        if usable:
            figure = plot_training(name, numpy.array([record["makespan_mean_ticks"] for record in usable]),
                                   numpy.array([stage_numbers.get(record.get("stage"), 2) for record in usable]), greedy,
                                   references_of(summary, name), units, unit_note)
            figure.axes[0].set_xlabel("updates")
            figures.append(("training", figure))
    else:
        note(f"{run.path}: no episodes and no metrics yet; no training curves are drawn")
    staleness = staleness_figure(records)
    if staleness:
        figures.append(("staleness", staleness))
    return figures


# ---- schedule


def kinds_in_order(kinds, durations):
    """Kinds by their total time, longest first."""
    totals = {}
    for kind, duration in zip(kinds, durations):
        totals[kind] = totals.get(kind, 0) + duration
    return sorted(totals, key=lambda kind: (-totals[kind], kind))


def plot_schedule(best, units, unit_note):
    devices = numpy.array(best["assignment"], dtype=int)
    starts = numpy.array(best["start_ticks"], dtype=float) * units.factor
    ends = numpy.array(best["end_ticks"], dtype=float) * units.factor
    kinds = best.get("operation_kinds") or ["operation"] * len(devices)
    names = best.get("operation_names") or [str(i) for i in range(len(devices))]
    makespan = best["makespan_ticks"] * units.factor
    device_count = int(devices.max()) + 1
    ranked = kinds_in_order(kinds, ends - starts)
    named = ranked[: len(KIND_COLOURS) - 1] if len(ranked) > len(KIND_COLOURS) else ranked
    colours = {kind: KIND_COLOURS[i] for i, kind in enumerate(named)}

    figure, axes = plt.subplots(figsize=(11, 1.6 + 0.62 * device_count))
    for device in range(device_count):
        axes.barh(device, makespan, height=0.78, color="#f2f2f2", zorder=1)
        rows = devices == device
        busy = float((ends - starts)[rows].sum())
        share = busy / makespan if makespan > 0 else 0
        axes.text(makespan * 1.012, device, f"{share:.0%} busy, {int(rows.sum())} operations", va="center",
                  fontsize=8.5, color=INK)
    for i, device in enumerate(devices):
        width = ends[i] - starts[i]
        colour = colours.get(kinds[i], KIND_COLOURS[-1])
        axes.barh(device, width, left=starts[i], height=0.78, color=colour, edgecolor="white", linewidth=0.4, zorder=2)
        if makespan > 0 and width / makespan * 130 > len(names[i]) + 1:
            axes.text(starts[i] + width / 2, device, names[i], ha="center", va="center", fontsize=7, zorder=3,
                      color=INK if colour in LIGHT_COLOURS else "white")
    axes.axvline(makespan, color=INK, linewidth=1.2, zorder=3)

    found = ", ".join(
        part for part in (
            f"found by {best['found_by']}" if best.get("found_by") else "",
            f"episode {best['episode']:,}" if best.get("episode") is not None else "",
        ) if part
    )
    axes.set_title(f"{best.get('graph', 'graph')}: best assignment, makespan {units.text(best['makespan_ticks'])}"
                   + (f"\n{found}" if found else ""))
    axes.title.set_fontsize(11)
    axes.set_yticks(range(device_count), [f"device {device}" for device in range(device_count)])
    axes.invert_yaxis()
    axes.set_xlim(0, makespan * 1.001 if makespan > 0 else 1)
    axes.set_xlabel(f"time ({unit_note})")
    axes.xaxis.set_major_formatter(units.formatter)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colours[kind]) for kind in named]
    labels = list(named)
    if len(named) < len(ranked):
        handles.append(plt.Rectangle((0, 0), 1, 1, color=KIND_COLOURS[-1]))
        labels.append("other")
    handles.append(plt.Rectangle((0, 0), 1, 1, color="#e3e3e3"))
    labels.append("idle")
    axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.52 / (0.62 * device_count + 0.4)),
                ncol=min(len(labels), 9), frameon=False)
    return figure


# ---- program


def optional(load, note):
    """What load() gives; None, and its reason told, when the run does not hold it."""
    try:
        return load()
    except load_run.RunError as problem:
        note(str(problem))
        return None


def schedule_figure(run, note, units, unit_note):
    best = optional(run.best, note)
    if best is None:
        return []
    try:
        return [("schedule", plot_schedule(best, units, unit_note))]
    except KeyError as problem:
        note(f"{run.path}/best/assignment.json: the key {problem} is missing; no schedule is drawn")
        return []


def draw(run_dir, folder):
    """Returns the files that were written and what could not be drawn."""
    notes = []
    run = load_run.Run(run_dir)
    segments = run.segments()
    tick_unit = segments[0][1]["tick_unit"] if segments else ""
    units = Units(tick_unit)
    unit_note = "seconds" if units.seconds else "ticks" + (f": {tick_unit}" if tick_unit else "")
    style()
    figures = training_figures(run, notes.append, units, unit_note) + schedule_figure(run, notes.append, units, unit_note)
    folder.mkdir(parents=True, exist_ok=True)
    return [path for name, figure in figures for path in save(figure, folder, name)], notes


def main():
    parser = argparse.ArgumentParser(
        description="Draws the training curves and the best schedule of a Doppler run.",
        epilog="example: plot_run.py runs/chain-mm -o figures",
    )
    parser.add_argument("run_dir")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="folder for the figures (RUN_DIR/figures)")
    arguments = parser.parse_args()
    folder = arguments.output or pathlib.Path(arguments.run_dir) / "figures"
    try:
        paths, notes = draw(arguments.run_dir, folder)
    except load_run.RunError as problem:
        sys.stderr.write(f"plot_run.py: {problem}\n")
        return 2
    except OSError as problem:
        place = problem.filename or folder
        sys.stderr.write(f"plot_run.py: {place}: {problem.strerror or problem}; name a folder that can be written to "
                         "with -o, or make room\n")
        return 3
    for text in notes:
        sys.stderr.write(f"plot_run.py: {text}\n")
    for path in paths:
        print(path)
    if not paths:
        sys.stderr.write(f"plot_run.py: {arguments.run_dir}: nothing to draw\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
