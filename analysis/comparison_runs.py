"""What the scripts that compare learning with search share: programs that run, results that are kept, and how they end."""

import hashlib
import json
import pathlib
import signal
import subprocess
import sys


def fail(message):
    """Ends the script that was started; bad input, or a run failed."""
    print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    raise SystemExit(2)


def run(command, **options):
    """What the command writes to standard output."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["no message"]
        fail(f"{' '.join(str(part) for part in command[:3])}: {lines[-1]}")
    return result.stdout


def finished_run(options, folder, begin):
    """The summary of the run in `folder`, which is begun (by the command that begin() returns) or gone on with until it is done."""
    summary = folder / "summary.json"
    if not summary.exists() or json.loads(summary.read_text())["outcome"] != "done":
        run([options.bin / "doppler", "resume", folder, "--quiet"] if (folder / "config.yaml").exists() else begin())
    return json.loads(summary.read_text())


def check_same_question(options, free):
    """Results that are there already must answer the same question; options named in `free` may differ."""
    question = {key: value for key, value in vars(options).items() if key not in ("bin", "output", *free)}
    question["graph_sha256"] = hashlib.sha256(pathlib.Path(options.graph).read_bytes()).hexdigest()
    file = options.output / "question.json"
    text = json.dumps(question, indent=1, default=str)
    if file.exists() and file.read_text() != text:
        fail(f"{options.output}: holds results for another graph or other settings (question.json); give another -o")
    file.write_text(text)


def run_script(main):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the run that goes on is ended with the script
    try:
        main()
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
