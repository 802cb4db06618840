#!/usr/bin/env python3
"""A learner killed -9 at random moments: `killed_learner.py BIN_DIR ANALYSIS_DIR COUNT [asynchronous]`.

Each time it resumes. In the end every committed episode is unique and complete, and in synchronous mode the weights are those
of a run that was left alone.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import doppler_run  # noqa: E402
import load_run  # noqa: E402
from doppler_run import BIN, environment  # noqa: E402


def main():
    count = int(sys.argv[3])
    asynchronous = sys.argv[4:] == ["asynchronous"]
    updates = 60 + 60 * count
    text = doppler_run.CONFIG.replace("simulation: {episodes: 2880}", f"simulation: {{episodes: {updates * 32 - 320}}}")
    if asynchronous:
        text = text.replace("learner: {", "learner: {mode: asynchronous, ")
    randomness = random.Random(time.time_ns())
    with tempfile.TemporaryDirectory(prefix="doppler-soak-") as folder:
        path = pathlib.Path(folder)
        (path / "config.yaml").write_text(text)

        def start(*arguments):
            return subprocess.Popen([BIN / "doppler", *map(str, arguments), "--quiet"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, env=environment(), cwd=path)

        run_dir = path / "run"
        process = start("train", "config.yaml", "--run-dir", run_dir)
        kills = 0
        while kills < count and process.poll() is None:
            time.sleep(randomness.uniform(0.2, 3.0))  # any moment: starting, training, saving
            if process.poll() is not None:
                break
            process.kill()
            process.wait()
            kills += 1
            process = start("resume", run_dir) if (run_dir / "config.yaml").exists() else start(
                "train", "config.yaml", "--run-dir", run_dir)
        assert process.wait() == 0, f"the last life ended with {process.returncode}"
        assert doppler_run.checkpoint_updates(run_dir)[-1] == updates
        counts = json.loads((run_dir / "summary.json").read_text())["counts"]
        assert counts["opened"] == sum(v for k, v in counts.items() if k != "opened"), counts
        assert counts["trained"] == updates * 32, counts
        episodes = load_run.Run(run_dir).episodes()
        trained = episodes["episode"][episodes["status"] == 0].tolist()
        assert len(trained) == len(set(trained)) == counts["trained"], (len(trained), counts)
        if not asynchronous:
            assert start("train", "config.yaml", "--run-dir", path / "quiet").wait() == 0
            digests = {doppler_run.weights_digest(f"{folder}/checkpoints/checkpoint-{updates:012}.h5")
                       for folder in (run_dir, path / "quiet")}
            assert len(digests) == 1, "the weights differ from those of the quiet run"
        print(f"{kills} kills; {counts}; weights {'compared' if asynchronous is False else 'not comparable'}")


if __name__ == "__main__":
    main()
