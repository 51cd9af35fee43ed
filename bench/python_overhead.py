"""python_overhead.py TILEWAVE: what calling from Python costs, against the command line in the same run.

First and later calls of simulate on 10 qubits and 100 gates; detection events as packed bits into an array against
`tilewave detect --out_format b8` into /dev/null, which keeps nothing, and into a file in memory, in turns; entropy and maps of arrays against `tilewave entropy` and `tilewave
map`, whose own times for computing are read. Medians; needs numpy and stim.
"""
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import stim

import tilewave as tw

TILEWAVE = sys.argv[1]
PAIRS = 15


def timed(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def small_circuits():
    rng = np.random.default_rng(0)
    first, later, circuits = [], [], []
    for _ in range(60):
        circuit = tw.Circuit(10)
        for _ in range(100):
            a, b = (int(q) for q in rng.choice(10, 2, replace=False))
            (lambda: circuit.h(a), lambda: circuit.cx(a, b), lambda: circuit.rx(float(rng.random()), a),
             lambda: circuit.u(*map(float, rng.random(3)), a))[rng.integers(4)]()
        circuits.append(circuit)
    for circuit in circuits:
        first.append(timed(lambda: tw.simulate(circuit)))
        later.append(timed(lambda: tw.simulate(circuit)))
    print(f"simulate, 10 qubits, 100 gates: first call {1e6 * statistics.median(first):.0f} us, later calls "
          f"{1e6 * statistics.median(later):.0f} us")


def detectors(distance, shots):
    p = 0.001
    circuit = stim.Circuit.generated("surface_code:rotated_memory_z", distance=distance, rounds=distance,
                                     after_clifford_depolarization=p, before_measure_flip_probability=p,
                                     after_reset_flip_probability=p, before_round_data_depolarization=p)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.stim"
        circuit.to_file(path)

        def command(n, out):
            subprocess.run([TILEWAVE, "detect", "--in", path, "--shots", str(n), "--seed", "1", "--out_format", "b8",
                            "--out", out], check=True)

        def command_time(out):  # without starting and compiling
            return timed(lambda: command(shots, out)) - min(timed(lambda: command(64, out)) for _ in range(2))

        def python_time():  # a process takes the caches along: the second of three
            return sorted(timed(lambda: sampler.sample(shots, bit_packed=True)) for _ in range(3))[1]

        sampler = tw.compile_detector_sampler(circuit, seed=1)
        sampler.sample(shots, bit_packed=True)  # the array's pages appear
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            pairs = [(python_time(), command_time("/dev/null"), command_time(file.name)) for _ in range(PAIRS)]
        a, c, b = (statistics.median(times) for times in zip(*pairs))
        nothing, memory = (statistics.median(pair[0] / pair[k] for pair in pairs) for k in (1, 2))
        print(f"detection events, d = {distance}, {PAIRS} times in turns: Python {shots / a:.3g} shots/s; command line "
              f"into /dev/null {shots / c:.3g}, median of ratios {nothing:.2f}; into a file in memory {shots / b:.3g}, "
              f"{memory:.2f}", flush=True)


def rasters(side):
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 16, (side, side)).astype(np.uint8)
    values = (rng.random((side, side)) * 9 + 1).astype(np.float32)
    expression = "v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1))"
    with tempfile.TemporaryDirectory() as folder:
        image, array, out = (Path(folder) / name for name in ("image.npy", "values.npy", "out.npy"))
        np.save(image, picture)
        np.save(array, values)

        def seconds(*words):
            done = subprocess.run([TILEWAVE, *map(str, words), "-o", out, "--json"], capture_output=True, check=True)
            return json.loads(done.stdout)["seconds"]["compute"]

        result = np.empty(picture.shape, np.float32)
        tw.entropy(picture, out=result)
        for name, ours, theirs in (
                ("entropy 5x5, 16 classes", lambda: tw.entropy(picture, base=None, out=result),
                 ("entropy", image)),
                ("map in place", lambda: tw.map(values, expression, out=values), ("map", array, "--expr", expression))):
            start, pairs = values.copy(), []
            for _ in range(PAIRS):
                np.copyto(values, start)  # a map in place changes what it works on
                ours()
                np.copyto(values, start)
                pairs.append((timed(ours), seconds(*theirs)))
            a, b = (statistics.median(times) for times in zip(*pairs))
            ratio = statistics.median(x / y for x, y in pairs[1:])
            print(f"{name}, {side} x {side}: Python {1e3 * a:.2f} ms, command line {1e3 * b:.2f} ms, median of ratios {ratio:.2f}")


if __name__ == "__main__":
    small_circuits()
    detectors(5, 2_000_000)
    detectors(11, 500_000)
    rasters(2560)
