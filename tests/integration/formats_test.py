#!/usr/bin/python3
"""Compares the HDF5 files of a run with docs/formats.md, and knows nothing else about them.

usage: formats_test.py FORMATS_MD RUN_FILES_CHILD DOPPLER_INSPECT

The child writes a sample run folder (tests/unit/learner/run_files_child.cc). Every object in a file must be in the page's
table, with its type and number of axes, and every line of the table must be found in a file. Then h5py reads values
that are known, and h5dump reads each file as a whole.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy

KINDS = {("u", 1): "uint8", ("i", 4): "int32", ("u", 4): "uint32", ("i", 8): "int64", ("u", 8): "uint64",
         ("f", 4): "float32", ("f", 8): "float64"}


def read_tables(page):
    """{table name: [(pattern, type, axes or None, documented name)]}"""
    tables = {}
    rows = None
    for line in page.splitlines():
        begin = re.match(r"<!-- table: (\w+) -->", line)
        if begin:
            rows = tables.setdefault(begin.group(1), [])
        elif not line.strip():
            rows = None if rows else rows
        elif rows is not None and line.startswith("| `/"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            name = cells[0].strip(" `|")
            shape = cells[2]
            axes = None if shape == "any" else 0 if shape == "scalar" else shape.count(",") + 1
            # A tensor's name may hold slashes, other varying names may not.
            pattern = re.escape(name).replace("<tensor>", "[^@]+")
            pattern = re.sub(r"<\w+>", "[^/@]+", pattern)
            rows.append((re.compile(pattern), cells[1], axes, name))
    return tables


def type_name(dtype):
    if h5py.check_string_dtype(dtype):
        return "variable-length string" if h5py.check_string_dtype(dtype).length is None else "string"
    return KINDS.get((dtype.kind, dtype.itemsize), str(dtype))


def objects_of(file):
    """[(name as in the page, type, axes)] of every attribute and dataset."""
    found = []

    def attributes(path, item):
        for name in item.attrs:
            attribute = item.attrs.get_id(name)
            found.append((f"{path}@{name}", type_name(attribute.dtype), len(attribute.shape)))

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found.append((f"/{name}", type_name(item.dtype), len(item.shape)))
            attributes(f"/{name}", item)
        else:
            attributes(f"/{name}/", item)

    attributes("/", file)
    file.visititems(visit)
    return found


def compare(rows, files):
    problems = []
    used = set()
    for path in files:
        with h5py.File(path, "r", swmr="segment" in path.name, libver="latest") as file:
            for name, kind, axes in objects_of(file):
                row = next((row for row in rows if row[0].fullmatch(name)), None)
                if row is None:
                    problems.append(f"{path.name}: {name} is not documented")
                    continue
                used.add(row[3])
                if row[1] != kind:
                    problems.append(f"{path.name}: {name} is {kind}, documented as {row[1]}")
                if row[2] is not None and row[2] != axes:
                    problems.append(f"{path.name}: {name} has {axes} axes, documented are {row[2]}")
    problems += [f"{row[3]} is documented, but in no file" for row in rows if row[3] not in used]
    return problems


def fnv1a64(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) % 2**64
    return state


def check_checkpoint(path):
    data = path.read_bytes()
    header = dict(line.split(": ") for line in data[:512].decode().splitlines() if ": " in line)
    assert data.startswith(b"doppler-checkpoint\n")
    assert int(header["hdf5_bytes"]) == len(data) - 512
    assert int(header["hdf5_fnv1a64"], 16) == fnv1a64(data[512:])
    with h5py.File(path) as file:
        assert file.attrs["update"] == 7
        assert file.attrs["config_hash"] == 0x8000000000000001
        assert file["config_yaml"][()].decode() == "run:\n  name: probenäme\n"
        tensor = file["parameters/heads.select.weight"]
        assert tensor.shape == (3, 2) and tensor.attrs["position"] == 0
        assert tensor[1, 0] == numpy.float32(2) * numpy.float32(0.1) + numpy.float32(7)
        assert file["optimizer/heads.select.weight/step"][()] == 17
        assert list(file["graphs/0000/best/assignment"]) == [3, 0, 2]
        assert [name.decode() for name in file["graphs/0000/baseline_names"]] == ["critical path", "HEFT"]
        assert bytes(file["recent_versions/0000"]) == b"\x01\x00\xff"


def check_segment(path):
    with h5py.File(path, "r", swmr=True, libver="latest") as file:
        commit = file["commit"][-1]
        assert commit[0] == len(file["commit"])
        assert int(commit[3]) == fnv1a64(commit[:3].astype("<u8").tobytes())
        assert commit[1] == len(file["episodes/episode"]) == 50
        episode = file["episodes/episode"][:]
        assert list(episode) == list(range(80, 130))
        assert all(file["episodes/makespan_ticks"][:] == 1000000 + episode)
        assert all(file["episodes/seed"][:] == episode * numpy.uint64(0x9E3779B97F4A7C15))
        offset, count = file["episodes/decision_offset"][2], file["episodes/decision_count"][2]
        assert count == 229
        rows = slice(offset, offset + count)
        assert list(file["decisions/operation"][rows]) == [(i + 82) % 229 for i in range(229)]
        assert file["decisions/select_log_probability"][offset + 5] == numpy.float32(-0.01) * numpy.float32(5)
        assert file["episodes/decision_offset"][1] == -1 and file["episodes/decision_count"][1] == 0


def check_inspect(program, run):
    """doppler inspect tells the same, and refuses what is no run."""

    def inspect(*arguments):
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)

    report = json.loads(inspect(run, "--json").stdout)
    assert [entry["file"] for entry in report["checkpoints"]] == ["checkpoint-000000000007.h5", "best.h5"]
    assert report["episodes"]["count"] == 130 and report["episodes"]["superseded"] == 20
    assert report["problems"] == []
    episode = json.loads(inspect(run, "--episode", 84, "--json").stdout)
    assert len(episode["decisions"]) == 229
    for arguments, message in (
        ((run / "none",), "there is no such run folder or file"),
        ((run / "best",), "not a run folder"),
        ((run, "--episode", 1000), "holds no such episode"),
        ((run / "foreign.h5",), "foreign.h5"),
        ((), "path"),
    ):
        (run / "best").mkdir(exist_ok=True)
        (run / "foreign.h5").write_text("no HDF5")
        done = inspect(*arguments)
        assert done.returncode == 2 and message in done.stderr, (arguments, done)
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "Example:" in inspect("--help").stdout


def main():
    tables = read_tables(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="doppler-test-") as folder:
        run = pathlib.Path(folder)
        subprocess.run([sys.argv[2], "write-sample", folder], check=True)
        checkpoints = sorted((run / "checkpoints").iterdir())
        segments = sorted((run / "trajectories").iterdir())
        assert len(checkpoints) == 2 and len(segments) == 2, (checkpoints, segments)
        problems = compare(tables["checkpoints"], checkpoints) + compare(tables["trajectories"], segments)
        if problems:
            sys.exit("docs/formats.md and the files differ:\n" + "\n".join(problems))
        check_checkpoint(checkpoints[0])
        check_segment(segments[1])
        for path in checkpoints + segments:
            subprocess.run(["h5dump", str(path)], check=True, stdout=subprocess.DEVNULL)
        check_inspect(sys.argv[3], run)
    documented = sum(len(rows) for rows in tables.values())
    print(f"{documented} documented objects, all as documented")


if __name__ == "__main__":
    main()
