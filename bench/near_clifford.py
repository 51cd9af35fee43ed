#!/usr/bin/env python3
"""Times near-Clifford circuits against clifft and symft: results are compared first, then attempted shots a second, one thread.

    bench/near_clifford.py [--peers PYTHON] [--only EXPRESSION] [--seconds S] [--rounds N] [--json FILE]

PYTHON is an interpreter (3.12 or later) with the packages clifft and symft; without it Tilewave runs alone. Programs take turns;
a rate is the median of the rounds. Ours is a whole process less a start (the same command with 64 shots), theirs the call that
samples, compiled and warm. Cultivation and distillation are post-selected on all detectors. Of clifft and symft each mode that
the package offers is timed and the best counts: clifft scalar and with 64 lanes, symft compiled and batched. Shots with a given
number of faults (`--only faults` for them alone) are those of --faults and of clifft's sample_k_survivors; symft has none.
"""
import argparse
import json
import math
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TILEWAVE = ROOT / "build" / "release" / "tilewave"
CIRCUITS = ROOT / "tests" / "data" / "near_clifford"
# name, file, post-selected, faults of a shot (any where it is None)
CASES = [
    ("cultivation d=3", "msc_d3_inject_cultivate_p1e-3", True, None),
    ("cultivation d=5", "msc_d5_inject_cultivate_p1e-3", True, None),
    ("distillation", "distillation", True, None),
    ("coherent d=3, 1 round", "coherent_d3_r1", False, None),
    ("coherent d=3, 3 rounds", "coherent_d3_r3", False, None),
    ("coherent d=5, 1 round", "coherent_d5_r1", False, None),
    ("coherent d=5, 5 rounds", "coherent_d5_r5", False, None),
    ("cultivation d=3, 2 faults", "msc_d3_inject_cultivate_p1e-3", True, 2),
    ("cultivation d=3, 3 faults", "msc_d3_inject_cultivate_p1e-3", True, 3),
    ("cultivation d=5, 3 faults", "msc_d5_inject_cultivate_p1e-3", True, 3),
    ("cultivation d=5, 5 faults", "msc_d5_inject_cultivate_p1e-3", True, 5),
]

# Runs in the interpreter of the peers. Each line of its input is a JSON request; `shots` 0 compiles only.
PEER = r"""
import json, sys, time
programs = {}
def clifft_run(path, post, lanes, shots, faults):
    import clifft, numpy
    key = (path, post)
    if key not in programs:
        text = open(path).read()
        count = clifft.sample(clifft.compile(text), 1, seed=1).detectors.shape[1]
        # Coherent noise has no reference shot: its detectors are told as they are.
        programs[key] = (clifft.compile(text, normalize_syndromes=True, postselection_mask=[1] * count) if post
                         else clifft.compile(text))
    if shots == 0: return {}
    call = clifft.sample_survivors if post else clifft.sample
    more = {}
    if faults is not None: call, more = clifft.sample_k_survivors, {"k": faults}
    start = time.perf_counter()
    r = call(programs[key], shots, seed=shots, batch_size=lanes, **more)
    seconds = time.perf_counter() - start
    kept = int(r.passed_shots) if post else int((~numpy.any(r.detectors, axis=1)).sum())
    return {"seconds": seconds, "kept": kept}
def symft_run(path, post, backend, shots, faults):
    import symft
    if faults is not None: raise ValueError("shots have any number of faults")
    key = (path, post, backend)
    if key not in programs:
        programs[key] = symft.Circuit(path=path).compile_counts_sampler(
            cpu_backend=backend, postselect_detectors=post, reference_sample=True)
    if shots == 0: return {}
    start = time.perf_counter()
    r = programs[key].sample(shots)
    return {"seconds": time.perf_counter() - start, "kept": r["accepted"] if post else None}
for line in sys.stdin:
    tool, path, post, mode, shots, faults = json.loads(line)
    try:
        out = (clifft_run if tool == "clifft" else symft_run)(path, post, mode, shots, faults)
    except Exception as e:
        out = {"error": str(e)}
    print(json.dumps(out), flush=True)
"""
MODES = [("clifft", 1), ("clifft", 64), ("symft", "compiled"), ("symft", "legacy")]


class Peers:
    def __init__(self, python):
        self.process = subprocess.Popen([python, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, tool, path, post, mode, shots, faults):
        self.process.stdin.write(json.dumps([tool, str(path), post, mode, shots, faults]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def ours(path, post, shots, faults=None):
    words = [TILEWAVE, "detect", "--in", path, "--shots", str(shots), "--seed", str(shots), "--quiet", "--threads", "1"]
    words += ["--postselect", "all", "--out_format", "counts"] if post else ["--out", "/dev/null", "--out_format", "b8"]
    words += [] if faults is None else ["--faults", faults]
    start = time.perf_counter()
    out = subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "kept": int(re.search(r"^kept (\d+)", out, re.M)[1]) if post else None}


def kept_by_us(path, shots, faults):
    """Shots without a detector: by post-selection, whatever is timed."""
    return ours(path, True, shots, faults)["kept"]


def shots_for(run, seconds):
    """So many shots take about that long."""
    shots = 64
    while True:
        took = run(shots)["seconds"]
        if took > seconds / 4 or shots > 1 << 32:
            return max(64, int(shots * seconds / max(took, 1e-9)) // 64 * 64)
        shots *= 4 if took < seconds / 40 else 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="an interpreter with clifft and symft")
    parser.add_argument("--only", default="", help="circuits whose names match")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a run, about")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="writes the rows")
    arguments = parser.parse_args()
    peers = Peers(arguments.peers) if arguments.peers else None
    rows = []
    print("| attempted shots a second, one thread | clifft | symft | Tilewave | ratio to the better |\n|---|---|---|---|---|")
    for name, file, post, faults in CASES:
        if not re.search(arguments.only, name):
            continue
        path = CIRCUITS / (file + ".stim")
        runs = {("tilewave", ""): lambda shots: ours(path, post, shots, faults)}
        for tool, mode in MODES if peers else []:
            if "error" not in peers.run(tool, path, post, mode, 0, faults):
                runs[tool, mode] = lambda shots, tool=tool, mode=mode: peers.run(tool, path, post, mode, shots, faults)
        shots = {key: shots_for(run, arguments.seconds) for key, run in runs.items()}
        # Results first: shares of shots without a detector agree within five standard deviations.
        kept = {}
        for key, run in runs.items():
            found = run(shots[key])["kept"] if key[0] != "tilewave" else kept_by_us(path, shots[key], faults)
            if found is not None:
                kept[key] = found
        a, of_a = kept["tilewave", ""], shots["tilewave", ""]
        for key, b in kept.items():
            p = (a + b) / (of_a + shots[key])
            sigma = math.sqrt(max(p * (1 - p), 1 / shots[key]) * (1 / of_a + 1 / shots[key]))
            if abs(a / of_a - b / shots[key]) > 5 * sigma:
                sys.exit(f"error: {name}: {key} keeps {b / shots[key]}, Tilewave {a / of_a}")
        start = statistics.median(ours(path, post, 64, faults)["seconds"] for _ in range(5))
        rates = {key: [] for key in runs}
        for _ in range(arguments.rounds):
            for key, run in runs.items():
                seconds = run(shots[key])["seconds"] - (start if key[0] == "tilewave" else 0)
                rates[key].append(shots[key] / max(seconds, 1e-9))
        best = {}
        for (tool, _), values in rates.items():
            best[tool] = max(best.get(tool, 0), statistics.median(values))
        rows.append({"name": name, "post_selected": post, "kept": a / of_a, "shots_per_second": best}
                    | ({} if faults is None else {"faults": faults}))

        def show(tool):
            return f"{best[tool]:.3g}" if tool in best else "-"

        others = [best[tool] for tool in ("clifft", "symft") if tool in best]
        ratio = f"{best['tilewave'] / max(others):.1f}" if others else "-"
        print(f"| {name} | {show('clifft')} | {show('symft')} | {show('tilewave')} | {ratio} |", flush=True)
    if arguments.json:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), platform.machine())
        pathlib.Path(arguments.json).write_text(
            json.dumps({"cpu": cpu, "date": time.strftime("%Y-%m-%d"), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
