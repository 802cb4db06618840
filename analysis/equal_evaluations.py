#!/usr/bin/python3
"""Learning against search at equal numbers of evaluations.

    equal_evaluations.py configs/few-evaluations.yaml --graph graph.txt --evaluations 1000,10000 --seeds 1,2,3,4,5 -o equal

For each number N of evaluations and each seed: a run of the configuration with N evaluations in all (imitation, episodes
and refinement), and `doppler baseline --algorithm local-search` with N. A share of N (--refine-share) refines, the rest
are episodes; a run needs at least one batch of them. Prints the median over the seeds of the policy's best sample, of the refined placement and of local search,
and how far learning is below (-) or above (+) search. Runs that are there already are not made again; OUTPUT/results.json
holds all numbers. Needs no display. Exit code 2: bad input, or a run failed.
"""

import argparse
import json
import pathlib
import statistics

from comparison_runs import check_same_question, fail, finished_run, run, run_script


def episodes_of(evaluations, options):
    """(imitation, simulation, refinement); whole batches of episodes, and what is left refines."""
    batch = options.batch
    share = options.refine_share if options.refine_share is not None else (0.2 if evaluations >= 3000 else 0.9)
    episodes = int(evaluations * (1 - share)) // batch * batch
    episodes = max(episodes, batch)
    imitation = min(options.imitation, episodes // 4 // batch * batch)
    return imitation, episodes - imitation, evaluations - episodes


def learn(options, evaluations, seed):
    folder = options.output / f"learn-{evaluations}-seed{seed}"

    def begin():
        imitation, simulation, refinement = episodes_of(evaluations, options)
        settings = [f"graph.path={options.graph}", f"run.seed={seed}", "run.budget_seconds=0", "archive.enabled=false",
                    f"learner.batch_episodes={options.batch}", f"refinement.evaluations={refinement}"]
        # Of few episodes the best must be learned quickly; of many it would be learned too soon.
        imitate = min(1, options.self_imitation * 10000 / evaluations)
        settings.append(f"stages.simulation.self_imitation_start={imitate:.4g}")
        for stage, count in (("imitation", imitation), ("simulation", simulation)):
            settings += [f"stages.{stage}.episodes={count}", f"stages.{stage}.enabled={'true' if count else 'false'}"]
        command = [options.bin / "doppler", "train", options.config, "--run-dir", folder, "--quiet", "--workers", options.workers]
        for setting in settings + options.set:
            command += ["--set", setting]
        return command

    graph = finished_run(options, folder, begin)["graphs"][0]
    return graph["policy_best_cost"], graph.get("refined_cost", graph["policy_best_cost"])


def search(options, evaluations, seed):
    file = options.output / f"search-{evaluations}-seed{seed}.json"
    if not file.exists():
        text = run([options.bin / "doppler", "baseline", options.graph, *options.machine, "--algorithm", "local-search",
                    "--evaluations", evaluations, "--seed", seed, "--json"])
        file.write_text(text)
    return json.loads(file.read_text())["baselines"][0]["cost"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--graph", required=True, help="graph file")
    parser.add_argument("--machine", default="--reference --devices 4", help="flags of doppler baseline that say what it runs on, as the configuration does")
    parser.add_argument("--evaluations", default="100,300,1000,3000,10000,30000", help="numbers, separated by commas (at least 64)")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--refine-share", type=float, help="share of the evaluations that refine (default: a fifth of 3,000 and more, nine tenths of fewer, from which a new policy learns too little)")
    parser.add_argument("--self-imitation", type=float, default=0.1, help="stages.simulation.self_imitation_start for 10,000 evaluations; "
                        "for N it is 10,000 / N of that, and at most 1")
    parser.add_argument("--imitation", type=int, default=256, help="episodes of imitation at most; never more than a quarter of the episodes")
    parser.add_argument("--batch", type=int, default=16, help="episodes of a batch")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the configuration")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build/release/bin")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.machine = options.machine.split()
    try:
        options.evaluations = [int(text) for text in options.evaluations.split(",")]
        options.seeds = [int(text) for text in options.seeds.split(",")]
    except ValueError as error:
        fail(f"--evaluations, --seeds: {error}; give whole numbers separated by commas")
    if options.batch < 1:
        fail("--batch: must be at least 1")
    if min(options.evaluations) < 4 * options.batch or not 0 <= (options.refine_share or 0) < 1:
        fail(f"--evaluations must be at least {4 * options.batch}, four batches, and --refine-share in [0, 1)")
    options.output.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = parse_arguments()
    check_same_question(options, ("evaluations", "seeds", "workers"))
    results = {}
    print(f"{'evaluations':>11} {'policy':>10} {'refined':>10} {'search':>10} {'against search':>15}")
    for evaluations in options.evaluations:
        policy, refined = zip(*[learn(options, evaluations, seed) for seed in options.seeds])
        searched = [search(options, evaluations, seed) for seed in options.seeds]
        results[evaluations] = {"policy": policy, "refined": refined, "search": searched}
        medians = [statistics.median(values) for values in (policy, refined, searched)]
        print(f"{evaluations:>11} {medians[0]:>10.5g} {medians[1]:>10.5g} {medians[2]:>10.5g} {100 * (medians[1] / medians[2] - 1):>+14.2f}%", flush=True)
    (options.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    run_script(main)
