#!/usr/bin/env python3
"""bench/wheel.py FIRST SECOND [--qubits 22] [--rounds 9]: two installed copies of the Python package, timed in turns.

FIRST and SECOND are interpreters (of virtual environments that have the package), such as one with a wheel and one with a build from
source. Each runs in a process of its own that stays; a round times a call of every circuit in one, then in the other, and the next
round begins with the other. Printed is the median of the rounds' ratios first / second.
"""
import argparse
import json
import statistics
import subprocess
import sys

CHILD = r'''
import json, sys, time
import tilewave as tw
n = int(sys.argv[1])
import numpy as np
rng = np.random.default_rng(7)

def qft():
    c = tw.Circuit(n)
    for q in reversed(range(n)):
        c.h(q)
        for k in range(q):
            c.cp(np.pi / 2 ** (q - k), k, q)
    return c

def layers():
    c = tw.Circuit(n)
    for layer in range(8):
        for q in range(n):
            c.u(*rng.uniform(0, 6, 3), q)
        for q in range(layer % 2, n - 1, 2):
            c.cx(q, q + 1)
    return c

circuits = {"qft": qft(), "layers": layers()}
runs = {name: tw.compile(c, effort="best") for name, c in circuits.items()}
calls = {name: run.simulate for name, run in runs.items()}
code = "\n".join(["R 0 1 2 3 4"] + ["DEPOLARIZE1(0.01) 0 2 4\nCX 0 1 2 1 2 3 4 3\nMR 1 3\nDETECTOR rec[-2]\nDETECTOR rec[-1]"] * 20)
sampler = tw.compile_detector_sampler(code, seed=1)
calls["code"] = lambda: sampler.sample(400_000, bit_packed=True)
image = rng.integers(0, 16, (1500, 1500)).astype(np.uint8)
calls["entropy"] = lambda: tw.entropy(image, np.ones((5, 5)))
for call in calls.values():
    call()
print(json.dumps([tw.__file__, sorted(calls)]), flush=True)
for name in sys.stdin:
    start = time.perf_counter()
    calls[name.strip()]()
    print(time.perf_counter() - start, flush=True)
'''


class Child:
    def __init__(self, python, qubits):
        self.process = subprocess.Popen([python, "-c", CHILD, str(qubits)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"error: {python} cannot run the package (its output is above)")
        self.place, self.names = json.loads(line)

    def time(self, name):
        print(name, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--qubits", type=int, default=22)
    parser.add_argument("--rounds", type=int, default=9)
    a = parser.parse_args()
    children = [Child(python, a.qubits) for python in (a.first, a.second)]
    for child in children:
        print(child.place)
    names = children[0].names
    times = {name: ([], []) for name in names}
    for round_number in range(a.rounds):
        for name in names:
            for k in (0, 1) if round_number % 2 == 0 else (1, 0):
                times[name][k].append(children[k].time(name))
    for child in children:
        child.close()
    for name in names:
        first, second = times[name]
        ratio = statistics.median(x / y for x, y in zip(first, second))
        print(f"{name:8}  {1e3 * statistics.median(first):8.2f} ms  {1e3 * statistics.median(second):8.2f} ms  ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
