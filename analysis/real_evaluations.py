#!/usr/bin/python3
"""The real stage against search by measured runs, with equal numbers of them.

    real_evaluations.py configs/three-stages.yaml --graph graph.json --topology here.yaml --evaluations 30,100,300 -o real

For each number N and each seed: a run of the configuration whose real stage measures N placements, and `doppler search` that
measures as many, beginning from the best baseline in simulation. What both found is then measured in turn, round after
round. Prints the median over the seeds of learned / searched (below 1: learning is better) with the smallest and largest. Runs
that are there already are not made again; OUTPUT/results.json holds all numbers. Exit code 2: bad input, or a run failed.
"""

import argparse
import json
import pathlib
import statistics

from comparison_runs import check_same_question, fail, finished_run, run, run_script


def as_line(path):
    """An assignment as one line, of a file that the programs wrote."""
    text = path.read_text()
    return ",".join(map(str, json.loads(text)["assignment"])) if text.lstrip().startswith("{") else text.strip()


def best_baseline(options):
    folder = options.output / "baselines"
    if not folder.exists():
        run([options.bin / "doppler", "baseline", options.graph, "--topology", options.topology, "--output", folder])
    costs = {file: json.loads(file.read_text())["makespan_ticks"] for file in folder.glob("*.json")}
    return min(costs, key=costs.get)


def learn(options, evaluations, seed):
    folder = options.output / f"learn-{evaluations}-seed{seed}"

    def begin():
        # Placements of the earlier stages and the greedy one at the end are measured too.
        candidates = min(options.candidates, max(1, evaluations // 8))
        left = evaluations - candidates - 1
        batch = max(1, min(options.batch, left // 3))
        settings = [f"graph.path={options.graph}", f"simulation.topology={options.topology}", f"execution.backend={options.backend}",
                    f"run.seed={seed}", f"stages.real.episodes={left // batch * batch}", f"learner.batch_episodes={batch}",
                    f"learner.group_episodes={max(k for k in (1, 2, 4, 5, 8) if batch % k == 0)}", f"execution.repeats={options.repeats}",
                    f"execution.candidates={candidates}", "execution.final_repeats=0", "learner.evaluate_every_updates=0",
                    "archive.enabled=false"]
        command = [options.bin / "doppler", "train", options.config, "--run-dir", folder, "--quiet"]
        for setting in settings + options.set:
            command += ["--set", setting]
        return command

    finished_run(options, folder, begin)
    return as_line(folder / "best/assignment.json")


def search(options, evaluations, seed):
    file = options.output / f"search-{evaluations}-seed{seed}.csv"
    if not file.exists():
        run([options.bin / "doppler", "search", options.graph, "--topology", options.topology, "--backend", options.backend,
             "--evaluations", evaluations, "--seed", seed, "--repeats", options.repeats, "--paired", "--starts", best_baseline(options), "-o", file])
    return as_line(file)


def ratio(options, learned, searched):
    """The median of learned / searched within rounds."""
    text = f"{learned}\n{searched}\n" * options.rounds
    output = run([options.bin / "doppler", "execute", options.graph, "--topology", options.topology, "--backend", options.backend,
                  "--assignments", "-", "--repeats", 1, "--warmup", 1, "--no-control", "--json"], input=text)
    seconds = [json.loads(line)["seconds"] for line in output.splitlines()]
    return statistics.median(a / b for a, b in zip(seconds[::2], seconds[1::2]))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--graph", type=pathlib.Path, required=True)
    parser.add_argument("--topology", type=pathlib.Path, required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--evaluations", default="30,100,300", help="numbers, separated by commas (at least 5)")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--batch", type=int, default=16, help="placements of a batch at most")
    parser.add_argument("--candidates", type=int, default=4, help="placements of earlier stages and baselines that are measured first, "
                        "at most (fewer below 32 evaluations)")
    parser.add_argument("--repeats", type=int, default=3, help="measured runs of each placement")
    parser.add_argument("--rounds", type=int, default=15, help="of the comparison")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the configuration")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build/release/bin")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    try:
        options.evaluations = [int(text) for text in options.evaluations.split(",")]
        options.seeds = [int(text) for text in options.seeds.split(",")]
    except ValueError as error:
        fail(f"--evaluations, --seeds: {error}; give whole numbers separated by commas")
    if min(options.batch, options.repeats, options.rounds) < 1:
        fail("--batch, --repeats and --rounds: must be at least 1")
    if min(options.evaluations) < 5:
        fail("--evaluations: must be at least 5")
    options.output.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = parse_arguments()
    check_same_question(options, ("evaluations", "seeds", "rounds"))
    results = {}
    print(f"{'evaluations':>11} {'learned / searched':>18} {'smallest':>9} {'largest':>9}")
    for evaluations in options.evaluations:
        ratios = [ratio(options, learn(options, evaluations, seed), search(options, evaluations, seed)) for seed in options.seeds]
        results[evaluations] = ratios
        print(f"{evaluations:>11} {statistics.median(ratios):>18.4f} {min(ratios):>9.4f} {max(ratios):>9.4f}", flush=True)
    (options.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    run_script(main)
