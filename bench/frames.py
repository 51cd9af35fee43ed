#!/usr/bin/env python3
"""Times Tilewave against Stim on error-correction circuits: one run, the two in turns, one thread, output to the null device.

    bench/frames.py [--quick] [--only EXPRESSION] [--json FILE] [--markdown]

The rotated surface code, rounds = distance, the same probability on all four noise channels. A rate is shots over the time that
those shots take beyond a start (the same command with 64 shots); the median of the rounds counts, and a ratio is taken in every
round. Stim comes from the package index into build/release/stim_python, as for the tests.
"""
import argparse
import json
import os
import pathlib
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "stabilizer"))
from stim_python import need_stim  # noqa: E402

TILEWAVE = ROOT / "build" / "release" / "tilewave"
ENVIRONMENT = ROOT / "build" / "release" / "stim_python"
ROUNDS, PAIRS = 5, 15  # PAIRS of our own runs: their ratio is near one, and machines are shared


def seconds(command):
    start = time.perf_counter()
    subprocess.run([str(w) for w in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def resources(command):
    """Seconds and peak megabytes of a command."""
    start = time.perf_counter()
    process = subprocess.Popen([str(w) for w in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: {command} failed")
    return took, usage.ru_maxrss / 1000


def rate(program, command, circuit, shots, flags=(), fmt="b8"):
    words = [program, command, "--in", circuit, "--out", "/dev/null", "--out_format", fmt, *flags]
    small = seconds(words + ["--shots", "64"])
    return shots / max(1e-9, seconds(words + ["--shots", str(shots)]) - small)


def median(values):
    return statistics.median(values)


class Bench:
    def __init__(self, folder, quick, only):
        self.only = only
        self.folder = pathlib.Path(folder)
        self.quick = quick
        self.rows = []
        self.stim = ENVIRONMENT / "bin" / "stim"
        if not self.stim.exists():
            self.stim = pathlib.Path(sys.prefix) / "bin" / "stim"

    def circuit(self, distance, p):
        path = self.folder / f"d{distance}_p{p}.stim"
        if not path.exists():
            noise = [w for k in ("after_clifford_depolarization", "before_round_data_depolarization",
                                 "before_measure_flip_probability", "after_reset_flip_probability")
                     for w in ("--" + k, str(p))]
            subprocess.run([TILEWAVE, "gen", "--code", "surface_code", "--task", "rotated_memory_z", "--distance",
                            str(distance), "--rounds", str(distance), "--out", path, *noise], check=True)
        return path

    def compare(self, what, command, path, shots, flags=(), scale=1):
        """Both programs in turns; ours gets `scale` times as many shots."""
        if not re.search(self.only, what):
            return
        shots = shots // (8 if self.quick else 1) // 64 * 64
        stim, ours, ratio = [], [], []
        for _ in range(3 if self.quick else ROUNDS):
            stim.append(rate(self.stim, command, path, shots))
            ours.append(rate(TILEWAVE, command, path, shots * scale, ["--threads", "1", *flags]))
            ratio.append(ours[-1] / stim[-1])
        self.add(what, stim=median(stim), tilewave=median(ours), ratio=median(ratio))

    def ours(self, what, path, shots, flags=(), fmt="b8"):
        """Ours with other flags or another format against one thread and b8, in turns."""
        if not re.search(self.only, what):
            return
        shots = shots // (8 if self.quick else 1) // 64 * 64
        base, other = [], []
        for k in range(3 if self.quick else PAIRS):
            for runs, words in ((base, (["--threads", "1"],)), (other, (flags or ["--threads", "1"], fmt)))[:: -1 if k % 2 else 1]:
                runs.append(rate(TILEWAVE, "detect", path, shots, *words))
        self.add(what, base=median(base), tilewave=median(other), ratio=median([o / b for o, b in zip(other, base)]))

    def add(self, what, **numbers):
        self.rows.append({"what": what, **numbers})
        print(f"{what:38} " + "  ".join(f"{k} {v:.4g}" for k, v in numbers.items()), file=sys.stderr, flush=True)

    def run(self):
        shots = {3: 4_000_000, 5: 3_000_000, 11: 600_000, 25: 60_000, 31: 24_000}
        for d, n in shots.items():
            self.compare(f"detect d={d} p=0.001", "detect", self.circuit(d, 0.001), n, scale=4)
        for d in 11, 31:
            self.compare(f"detect d={d} p=0.01", "detect", self.circuit(d, 0.01), shots[d] // 4, scale=2)
        for d in 11, 31:
            self.compare(f"detect d={d}, frame engine", "detect", self.circuit(d, 0.001), shots[d], ["--engine", "frame"], 2)
            self.compare(f"sample d={d}", "sample", self.circuit(d, 0.001), shots[d], scale=2)
        for d in 11, 31:
            path = self.folder / f"d{d}.dem"
            subprocess.run([TILEWAVE, "analyze_errors", "--in", self.circuit(d, 0.001), "--out", path], check=True)
            self.compare(f"sample_dem d={d}", "sample_dem", path, shots[d] // 2, scale=8)
        for d in 11, 31:
            self.ours(f"two threads over one, d={d}", self.circuit(d, 0.001), shots[d] * 24, ["--threads", "2"])
        for fmt in "01", "r8", "ptb64", "hits", "dets":
            for d in 11, 31:
                self.ours(f"{fmt} over b8, d={d}", self.circuit(d, 0.001), shots[d] * 4, fmt=fmt)
        for flags in [], ["--decompose_errors"]:
            self.whole("analyze_errors d=31" + "".join(" " + f for f in flags),
                       ["analyze_errors", "--in", self.circuit(31, 0.001), "--out", "/dev/null", *flags])
        self.whole("reference sample, 10,000 qubits", ["sample", "--shots", "2", "--in", self.random_clifford(10_000, 20),
                                                       "--out", "/dev/null"])

    def whole(self, what, command):
        """Seconds and memory of a command from start to end; Stim runs once when it is slow."""
        if not re.search(self.only, what):
            return
        rounds = 3 if self.quick else ROUNDS
        stim = [resources([self.stim, *command])]
        stim += [resources([self.stim, *command]) for _ in range(rounds - 1) if stim[0][0] < 8]
        ours = [resources([TILEWAVE, *command]) for _ in range(rounds)]
        (stim_s, stim_mb), (ours_s, ours_mb) = ([median(column) for column in zip(*runs)] for runs in (stim, ours))
        self.add(what, stim_s=stim_s, tilewave_s=ours_s, stim_MB=stim_mb, tilewave_MB=ours_mb, ratio=stim_s / ours_s)

    def random_clifford(self, qubits, layers):
        """Layers of random one-qubit gates and a random matching of CX, then everything is measured."""
        path = self.folder / f"random_{qubits}_{layers}.stim"
        gates = ("I X Y Z C_XYZ C_ZYX H H_XY H_YZ S S_DAG SQRT_X SQRT_X_DAG SQRT_Y SQRT_Y_DAG").split()
        rng = random.Random(1)
        lines = []
        for _ in range(layers):
            targets = {}
            for q in range(qubits):
                targets.setdefault(rng.choice(gates), []).append(q)
            lines += [gate + " " + " ".join(map(str, on)) for gate, on in targets.items()]
            order = list(range(qubits))
            rng.shuffle(order)
            lines.append("CX " + " ".join(map(str, order)))
        path.write_text("\n".join(lines + ["M " + " ".join(map(str, range(qubits)))]) + "\n")
        return path


def short(x):
    for unit, size in ("M", 1e6), ("k", 1e3):
        if x >= size:
            return f"{x / size:.3g} {unit}"
    return f"{x:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="an eighth of the shots, three rounds")
    parser.add_argument("--only", default="", help="the lines that match this expression")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/frames.md")
    arguments = parser.parse_args()
    if not TILEWAVE.exists():
        sys.exit(f"error: {TILEWAVE} is not there: build it with ./tw --version")
    need_stim(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, arguments.quick, arguments.only)
        bench.run()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
               platform.processor())
    if arguments.json:
        file = pathlib.Path(arguments.json)
        rows = json.loads(file.read_text())["rows"] if arguments.only and file.exists() else []
        rows = [r for r in rows if r["what"] not in {b["what"] for b in bench.rows}] + bench.rows
        file.write_text(json.dumps({"command": "bench/frames.py", "cpu": cpu, "rows": rows}, indent=1) + "\n")
        bench.rows = rows
    if arguments.markdown:
        print("| shots a second, one thread | Stim | Tilewave | ratio |\n|---|---|---|---|")
        for r in bench.rows:
            if "stim" in r:
                print(f"| {r['what']} | {short(r['stim'])} | {short(r['tilewave'])} | {r['ratio']:.1f} |")
        print("\n| from start to end | Stim | Tilewave | ratio |\n|---|---|---|---|")
        for r in bench.rows:
            if "stim_s" in r:
                print(f"| {r['what']} | {r['stim_s']:.3g} s, {r['stim_MB']:.0f} MB | {r['tilewave_s']:.3g} s, "
                      f"{r['tilewave_MB']:.0f} MB | {r['ratio']:.1f} |")
        print("\n| of our own | base | this | ratio |\n|---|---|---|---|")
        for r in bench.rows:
            if "base" in r:
                print(f"| {r['what']} | {short(r['base'])} | {short(r['tilewave'])} | {r['ratio']:.2f} |")


if __name__ == "__main__":
    main()
