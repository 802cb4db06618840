#!/usr/bin/env python3
"""A learner far slower than its workers: `flat_memory.py BIN_DIR ANALYSIS_DIR SECONDS`.

Whoever lets results pile up grows; the memory of all processes must stay flat, in both modes. The first third is warming up.
"""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import doppler_run  # noqa: E402
from doppler_run import BIN, environment  # noqa: E402

ALLOWED = 1.10  # of the largest of the first third


def resident_bytes(pid):
    for line in open(f"/proc/{pid}/status", encoding="utf8"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(mode, seconds, folder):
    # A wide encoder makes the learner slow; small groups keep workers waiting for it at every ticket.
    text = doppler_run.CONFIG.replace("learner: {", f"model: {{hidden_width: 512}}\nlearner: {{mode: {mode}, ")
    config = folder / f"{mode}.yaml"
    config.write_text(text)
    process = subprocess.Popen([BIN / "doppler-train", config, "--run-dir", folder / mode, "--quiet", "--set",
                                "stages.simulation.episodes=100000000", "--set", "archive.decisions_per_second=10"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=environment())
    samples = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(seconds / 100)
        assert process.poll() is None, "the run ended"
        workers = doppler_run.children_of(process.pid)
        if workers:  # it has begun
            samples.append([resident_bytes(pid) for pid in (process.pid, *workers)])
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 75
    third = len(samples) // 3
    for role, pick in (("learner", lambda s: s[0]), ("workers", lambda s: max(s[1:]))):
        before = max(pick(sample) for sample in samples[:third])
        after = max(pick(sample) for sample in samples[third:])
        print(f"{mode} {role}: {before / 1e6:.1f} MB in the first third, {after / 1e6:.1f} MB after")
        assert after <= before * ALLOWED, f"{mode} {role} grows"


def main():
    with tempfile.TemporaryDirectory(prefix="doppler-soak-") as folder:
        for mode in ("synchronous", "asynchronous"):
            measure(mode, float(sys.argv[3]) / 2, pathlib.Path(folder))


if __name__ == "__main__":
    main()
