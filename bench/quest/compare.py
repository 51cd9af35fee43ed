#!/usr/bin/env python3
"""compare.py QUEST_BENCH TILEWAVE DATA [OTHER]: times the QuEST API against the command line and against another
build of quest_bench (one linked with QuEST, say), alternating, each in a process of its own; medians.

The command line's time is planning, execution and observation; the API's is from the first gate to the last
observation. Both touch the memory of the state for the first time. DATA holds contest_*.qasm."""
import json
import pathlib
import statistics
import subprocess
import sys

if len(sys.argv) < 4:
    sys.exit(__doc__)
BENCH, TILEWAVE, DATA = sys.argv[1:4]
OTHER = sys.argv[4] if len(sys.argv) > 4 else None
REPEATS = 6


def seconds(*words):
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0])


def command_line(circuit, *flags):
    done = subprocess.run([TILEWAVE, "run", circuit, *flags, "--json"], capture_output=True, text=True, check=True)
    times = json.loads(done.stdout)["timings_s"]
    return times["observe"] if "--expect" in flags else times["plan"] + times["execute"] + times["observe"]


def compare(what, names, runs, repeats=REPEATS):
    times = [[] for _ in runs]
    for turn in range(repeats):
        for k in sorted(range(len(runs)), reverse=turn % 2):  # the first of a pair finds memory in another state
            times[k].append(runs[k]())
    ratios = statistics.median(a / b for a, b in zip(*times))
    medians = [statistics.median(t) for t in times]
    print(f"{what}: {names[0]} {medians[0]:.3f} s, {names[1]} {medians[1]:.3f} s, ratio {ratios:.3f}", flush=True)


for path in sorted(pathlib.Path(DATA).glob("contest_*_2?.qasm")):
    compare(path.stem, ["API", "command line"], [
        lambda: seconds(BENCH, "circuit", str(path)),
        lambda: command_line(str(path), "--probabilities", "all", "--amplitudes", "first:10")])
ansatz, strings = f"{DATA}/contest_ansatz_22.qasm", f"{DATA}/h12.hamiltonian.txt"
if pathlib.Path(strings).exists():
    compare("14,905 Pauli strings", ["API", "command line"], [
        lambda: seconds(BENCH, "energy", ansatz, strings, "0"),
        lambda: command_line(ansatz, "--expect", strings, "--pauli-order", "first")], 3)
if OTHER:
    compare("100,000 gates on 10 qubits", ["API", "other"], [
        lambda: seconds(BENCH, "loop", "10", "100000", "100"),
        lambda: seconds(OTHER, "loop", "10", "100000", "100")])
