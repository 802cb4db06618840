#!/usr/bin/env python3
"""Loads the files of a Doppler run (docs/formats.md) into numpy.

As a module:

    run = load_run.Run("runs/chain-mm")
    episodes = run.episodes()              # {column: array}, each episode once
    decisions = run.decisions(episodes, 0) # of the first of them
    run.metrics(), run.summary(), run.best(), run.checkpoint()

As a program: load_run.py RUN_DIR says what the run holds. Needs h5py and numpy. Exit code 2: the run or a file of it is
missing or damaged, and a sentence says which.
"""

import argparse
import json
import pathlib
import re
import sys

import h5py
import numpy

STAGES = {1: "imitation", 2: "simulation", 3: "real"}
STATUSES = {
    0: "trained",
    1: "dropped_stale",
    2: "dropped_invalid",
    3: "dropped_lineage",
    4: "failed",
    5: "evaluated",
}
DROPPED_INVALID, FAILED, EVALUATED = 2, 4, 5
FORMAT_VERSION = 1


class RunError(Exception):
    """What is missing or damaged, and what to do."""


def text_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def fnv1a64(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) % 2**64
    return state


def is_valid_commit_row(row, number):
    return int(row[0]) == number and int(row[3]) == fnv1a64(row[:3].astype("<u8").tobytes())


def committed_rows(commit):
    """(episode rows, decision rows) of the last valid row of /commit."""
    for number in range(len(commit), 0, -1):
        row = commit[number - 1]
        if is_valid_commit_row(row, number):
            return int(row[1]), int(row[2])
    return 0, 0


class Run:
    def __init__(self, run_dir):
        self.path = pathlib.Path(run_dir)
        if not self.path.is_dir():
            raise RunError(f"{run_dir}: there is no such run folder; runs are made by `doppler train`")
        self.warnings = []

    # ---- JSON

    def _json(self, name, purpose):
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{path}: missing; {purpose}") from None
        except json.JSONDecodeError as problem:
            raise RunError(f"{path}:{problem.lineno}:{problem.colno}: not JSON: {problem.msg}") from None

    def summary(self):
        return self._json("summary.json", "it is written at the end of a run")

    def best(self):
        return self._json("best/assignment.json", "it is written when a first assignment was found")

    def metrics(self):
        """One dict a learner update; a last line that was cut by a kill is left out."""
        path = self.path / "metrics.jsonl"
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            raise RunError(f"{path}: missing; it is written while the learner trains") from None
        records = []
        for number, line in enumerate(lines, 1):
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError as problem:
                if number < len(lines):
                    raise RunError(f"{path}:{number}:{problem.colno}: not JSON: {problem.msg}") from None
        return records

    # ---- episodes

    def segments(self):
        """[(path, header)] of the readable segments, ascending; damaged ones become warnings."""
        found = []
        self.warnings = []
        folder = self.path / "trajectories"
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in paths:
            if not re.fullmatch(r"segment-\d{6}\.h5", path.name):
                continue
            try:
                with self._open(path) as file:
                    if file.attrs["format_version"] != FORMAT_VERSION:
                        raise OSError(f"format version {file.attrs['format_version']}, not {FORMAT_VERSION}")
                    rows, decisions = committed_rows(file["commit"][:])
                    found.append(
                        (
                            path,
                            {
                                "lineage": int(file.attrs["lineage"]),
                                "first_episode": int(file.attrs["first_episode"]),
                                "resumed": (int(file.attrs.get("resumed_segment", 0)), int(file.attrs.get("resumed_row", 0))),
                                "tick_unit": text_of(file.attrs["tick_unit"]),
                                "graphs": [name.decode() for name in file["graphs/name"][:]],
                                "rows": rows,
                                "decisions": decisions,
                            },
                        )
                    )
            except (OSError, KeyError) as problem:
                self.warnings.append(f"{path}: left out: {problem}")
        return found

    @staticmethod
    def _open(path):
        try:
            return h5py.File(path, "r", swmr=True, libver="latest")
        except (OSError, ValueError):
            return h5py.File(path, "r")  # a copy in an older format, as h5repack makes

    def episodes(self):
        """{column: array} of all episodes, each once, in the order of the log; `segment` holds the segment's number."""
        segments = self.segments()
        parts = []
        for path, header in segments:
            with self._open(path) as file:
                part = {name: data[: header["rows"]] for name, data in file["episodes"].items()}
            part["segment"] = numpy.full(header["rows"], int(path.stem.split("-")[1]), dtype=numpy.int64)
            later = [other for _, other in segments if other["lineage"] > header["lineage"]]
            keep = numpy.ones(header["rows"], dtype=bool)
            for other in later:
                number, row = other["resumed"]
                keep &= part["episode"] < other["first_episode"]
                own = int(path.stem.split("-")[1])
                if 0 < number <= own:
                    keep[row if number == own else 0:] = False
            counted = (part["lineage"] == header["lineage"]) & (part["status"] != EVALUATED)
            parts.append(({name: values[keep] for name, values in part.items()}, counted[keep]))
        if not parts:
            return {}
        columns = {name: numpy.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
        counted = numpy.concatenate([counted for _, counted in parts])
        # Of counted rows with the same number the first is kept.
        places = numpy.flatnonzero(counted)
        keep = ~counted
        keep[places[numpy.unique(columns["episode"][places], return_index=True)[1]]] = True
        return {name: values[keep] for name, values in columns.items()}

    def decisions(self, episodes, row):
        """{column: array} of the decisions of one row of episodes(); empty arrays when they were not logged."""
        path = self.path / "trajectories" / f"segment-{int(episodes['segment'][row]):06d}.h5"
        offset = int(episodes["decision_offset"][row])
        count = int(episodes["decision_count"][row])
        rows = slice(max(offset, 0), max(offset, 0) + count)
        with self._open(path) as file:
            return {name: data[rows] for name, data in file["decisions"].items()}

    # ---- checkpoints

    def checkpoints(self):
        """Paths by update number, ascending."""
        folder = self.path / "checkpoints"
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        return [path for path in paths if re.fullmatch(r"checkpoint-\d{12}\.h5", path.name)]

    def checkpoint(self, path=None):
        """{"attributes": {...}, "counts": {...}, "config_yaml": text, "parameters": {name: array}} of the newest valid one."""
        candidates = [pathlib.Path(path)] if path else list(reversed(self.checkpoints()))
        reasons = []
        for candidate in candidates:
            try:
                return self._read_checkpoint(candidate)
            except RunError as problem:
                reasons.append(str(problem))
        raise RunError("; ".join(reasons) or f"{self.path}/checkpoints: holds no checkpoint")

    @staticmethod
    def _read_checkpoint(path):
        try:
            data = path.read_bytes()
        except OSError as problem:
            raise RunError(f"{path}: {problem.strerror}") from None
        header = dict(re.findall(rb"^(\w+): (\w+)$", data[:512], re.MULTILINE))
        if not data.startswith(b"doppler-checkpoint\n"):
            raise RunError(f"{path}: not a Doppler checkpoint")
        if int(header.get(b"format_version", 0)) != FORMAT_VERSION:
            raise RunError(f"{path}: not of format version {FORMAT_VERSION}")
        if int(header.get(b"hdf5_bytes", 0)) != len(data) - 512:
            raise RunError(f"{path}: damaged, its size is not what was written")
        if int(header.get(b"hdf5_fnv1a64", b"0"), 16) != fnv1a64(data[512:]):
            raise RunError(f"{path}: damaged, its hash is not what was written")
        with h5py.File(path, "r") as file:
            parameters = {}

            def collect(name, item):
                if isinstance(item, h5py.Dataset):
                    parameters[name] = (int(item.attrs["position"]), item[()])

            file["parameters"].visititems(collect)
            ordered = sorted(parameters, key=lambda name: parameters[name][0])
            return {
                "path": path,
                "attributes": dict(file.attrs),
                "counts": {name: int(value) for name, value in file["counts"].attrs.items()},
                "config_yaml": file["config_yaml"][()].decode(),
                "parameters": {name: parameters[name][1] for name in ordered},
            }


def describe(run):
    """What a run holds, as lines of text."""
    lines = []

    def add(what, describe_it):
        try:
            lines.append(f"{what}: {describe_it()}")
        except RunError as problem:
            lines.append(f"{what}: {problem}")

    def episodes_text():
        episodes = run.episodes()
        if not episodes:
            return "none"
        ran = ~numpy.isin(episodes["status"], (DROPPED_INVALID, FAILED))
        makespans = episodes["makespan_ticks"][ran]
        text = f"{len(episodes['episode'])}, {int((episodes['decision_offset'] >= 0).sum())} with their decisions"
        if len(makespans):
            text += f"; makespan min {makespans.min()}, mean {makespans.mean():.0f}, max {makespans.max()} ticks"
        return text

    add("updates", lambda: str(len(run.metrics())))
    add("episodes", episodes_text)
    add("best", lambda: f"{run.best()['makespan_ticks']} ticks, found by {run.best()['found_by']}")
    add("newest checkpoint", lambda: str(run.checkpoint()["path"].name))
    add("summary", lambda: ", ".join(graph["name"] for graph in run.summary()["graphs"]))
    return lines + run.warnings


def main():
    parser = argparse.ArgumentParser(
        description="Says what the files of a Doppler run hold.",
        epilog="example: load_run.py runs/chain-mm",
    )
    parser.add_argument("run_dir")
    parser.add_argument("--count-episodes", action="store_true", help="print the number of episodes and no more")
    arguments = parser.parse_args()
    try:
        run = Run(arguments.run_dir)
        if arguments.count_episodes:
            print(len(run.episodes().get("episode", ())))
        else:
            print("\n".join(describe(run)))
    except RunError as problem:
        sys.stderr.write(f"load_run.py: {problem}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
