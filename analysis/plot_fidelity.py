"""Scatter plot of simulated against measured makespans, from the CSV of `doppler fidelity --csv`.

    /usr/bin/python3 analysis/plot_fidelity.py points.csv -o fidelity.png
"""

import argparse
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402: after the choice of the backend

COLUMNS = ["simulated_seconds", "measured_seconds", "low_seconds", "high_seconds", "disturbed"]


BAD_INPUT = 2


def fail(message):
    print(f"plot_fidelity.py: {message}", file=sys.stderr)
    sys.exit(BAD_INPUT)


def load(path):
    """The points of a file, as one list for each column; a one-line error where it is none."""
    if not path.is_file():
        fail(f"{path}: there is no such file; give one of doppler fidelity --csv")
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            fail(f"{path}:1: expected the columns {','.join(COLUMNS)}; give a file of doppler fidelity --csv")
        rows = []
        for number, row in enumerate(reader, start=2):
            try:
                rows.append([float(row[column]) for column in COLUMNS])
            except (TypeError, ValueError):
                fail(f"{path}:{number}: expected {len(COLUMNS)} numbers")
    if not rows:
        fail(f"{path}: holds no points")
    return [list(column) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", nargs="+", type=pathlib.Path, help="CSV files of doppler fidelity; one colour each")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="image to write (png, svg, pdf)")
    arguments = parser.parse_args()
    figure, axes = plt.subplots(figsize=(6, 6))
    largest = 0
    for path in arguments.points:
        simulated, measured, low, high, disturbed = load(path)
        spread = [[max(0, m - lo) * 1e3 for m, lo in zip(measured, low)],
                  [max(0, hi - m) * 1e3 for m, hi in zip(measured, high)]]
        axes.errorbar([s * 1e3 for s in simulated], [m * 1e3 for m in measured], yerr=spread, fmt="o", markersize=3,
                      linewidth=0.5, alpha=0.7, label=path.stem)
        marked = [i for i, flag in enumerate(disturbed) if flag]
        if marked:
            axes.plot([simulated[i] * 1e3 for i in marked], [measured[i] * 1e3 for i in marked], "x", color="red",
                      markersize=5, label=f"{path.stem}: disturbed")
        largest = max(largest, *(1e3 * value for value in simulated + measured))
    axes.plot([0, largest], [0, largest], color="gray", linewidth=0.8, label="equal")
    axes.set_xlabel("simulated makespan, ms")
    axes.set_ylabel("measured makespan, ms")
    axes.legend()
    figure.tight_layout()
    figure.savefig(arguments.output, dpi=150)


if __name__ == "__main__":
    main()
