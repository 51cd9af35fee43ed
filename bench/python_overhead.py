"""python_overhead.py TILEWAVE: what calling from Python costs, against the command line in the same run.

First and later calls of simulate on 10 qubits and 100 gates; detection events as packed bits into an array against
`tilewave detect --out_format b8` into a file in memory and into /dev/null, which keeps nothing; entropy and maps of arrays against `tilewave entropy` and `tilewave
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

        sampler = tw.compile_detector_sampler(circuit, seed=1)
        sampler.sample(shots, bit_packed=True)  # the array's pages appear
        ours, files, nothing = [], [], []
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            for _ in range(3):  # one after the other in groups: a process takes the caches along
                for _ in range(5):
                    ours.append(timed(lambda: sampler.sample(shots, bit_packed=True)))
                for _ in range(3):
                    for times, out in ((files, file.name), (nothing, "/dev/null")):
                        times.append(timed(lambda: command(shots, out)) - timed(lambda: command(64, out)))
        a, b, c = (statistics.median(times) for times in (ours, files, nothing))
        print(f"detection events, d = {distance}: Python {shots / a:.3g} shots/s; command line into a file in memory "
              f"{shots / b:.3g}, ratio {a / b:.2f}; into /dev/null {shots / c:.3g}, ratio {a / c:.2f}")


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
        for name, ours, theirs in (
                ("entropy 5x5, 16 classes", lambda: tw.entropy(picture, base=None, out=result),
                 ("entropy", image)),
                ("map in place", lambda: tw.map(values, expression, out=values), ("map", array, "--expr", expression))):
            start, times = values.copy(), []
            for _ in range(8):
                np.copyto(values, start)  # a map in place changes what it works on
                times.append(timed(ours))
            a = statistics.median(times[1:])
            b = statistics.median(seconds(*theirs) for _ in range(5))
            print(f"{name}, {side} x {side}: Python {1e3 * a:.2f} ms, command line {1e3 * b:.2f} ms, ratio {a / b:.2f}")


if __name__ == "__main__":
    small_circuits()
    detectors(5, 2_000_000)
    detectors(11, 500_000)
    rasters(2560)
