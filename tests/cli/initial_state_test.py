#!/usr/bin/env python3
"""A run that starts from a state in a file: the two halves of a circuit are the whole."""
import cmath
import random
import struct
import tempfile
from pathlib import Path

from program import HEAD, Checker, tilewave
from raster_files import npy_bytes

INPUT, USAGE = 4, 2
c = Checker()
r = random.Random(9)
QUBITS = 5


def gates(count):
    lines = []
    for _ in range(count):
        a, b = r.sample(range(QUBITS), 2)
        lines.append(r.choice([f"u3({r.uniform(0, 3)},{r.uniform(0, 3)},0.4) q[{a}];", f"cx q[{a}],q[{b}];",
                               f"cu1(0.7) q[{a}],q[{b}];"]))
    return lines


def circuit(lines):
    return HEAD + f"qreg q[{QUBITS}]; creg c[{QUBITS}];\n" + "\n".join(lines) + "\n"


def state_bytes(amplitudes, code="<c16"):
    order, kind = code[0], "d" if code.endswith("16") else "f"
    numbers = [x for a in amplitudes for x in (a.real, a.imag)]
    return npy_bytes((len(amplitudes),), code, struct.pack(f"{order}{len(numbers)}{kind}", *numbers))


def amplitudes(done):
    return [complex(z["re"], z["im"]) for z in done.json()["amplitudes"]]


def same(a, b, allowed=1e-13):
    return len(a) == len(b) and max(abs(x - y) for x, y in zip(a, b)) < allowed


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    state = folder / "state.npy"
    all_of = ["--amplitudes", f"first:{2**QUBITS}", "--json"]
    for k in range(6):
        first, second = gates(25), gates(25)
        whole = tilewave("run", "FILE", *all_of, text=circuit(first + second))
        done = tilewave("run", "FILE", "--state", state, text=circuit(first))
        c.check(done.code == 0, f"first half: {done.err}")
        for words in ([], ["--ranks", 2], ["--ranks", 4]):
            half = tilewave("run", "FILE", *all_of, "--initial-state", state, *words, text=circuit(second))
            c.check(half.code == 0 and same(amplitudes(half), amplitudes(whole)), f"{k} {words}: {half.err}")
        half = tilewave("run", "FILE", *all_of, "--initial-state", state, "--precision", "single", text=circuit(second))
        c.check(same(amplitudes(half), amplitudes(whole), 1e-5), f"{k}: into single precision")
    # bit k of the number of an amplitude is qubit k, in every type of the file
    basis = 0b01101
    for code in ("<c16", ">c16", "<c8", ">c8"):
        state.write_bytes(state_bytes([float(x == basis) + 0j for x in range(2**QUBITS)], code))
        done = tilewave("run", "FILE", "--initial-state", state, "--probabilities", "all", "--json", text=circuit([]))
        c.check(done.json()["probabilities"] == [float(basis >> q & 1) for q in range(QUBITS)], f"{code}: {done.out}")
    # what is known of |0...0> is not known of it: resets, conditions, measurements, other engines
    psi = [cmath.exp(0.3j * x) * (1 + x % 3) for x in range(2**QUBITS)]
    norm = sum(abs(a) ** 2 for a in psi) ** 0.5
    psi = [a / norm for a in psi]
    state.write_bytes(state_bytes(psi))
    p = [sum(abs(a) ** 2 for x, a in enumerate(psi) if x >> q & 1) for q in range(QUBITS)]
    asks = ["--probabilities", "all", "--json", "--initial-state", state]
    done = tilewave("run", "FILE", *asks, "--engine", "density", text=circuit(["h q[0]; h q[0];"]))
    c.check(same(done.json()["probabilities"], p), f"a density matrix: {done.err}")
    done = tilewave("run", "FILE", *asks, "--shots", 4000, "--seed", 1, text=circuit(["reset q[2];"]))
    c.check(same(done.json()["probabilities"], p[:2] + [0] + p[3:], 0.05), f"a reset: {done.out} {done.err}")
    text = circuit(["measure q[1] -> c[1]; if(c==2) x q[3];"])
    done = tilewave("run", "FILE", *asks, "--shots", 4000, "--seed", 1, text=text)
    both = sum(abs(a) ** 2 for x, a in enumerate(psi) if (x >> 1 ^ x >> 3) & 1)
    c.check(abs(done.json()["probabilities"][3] - both) < 0.05, f"a measurement: {done.out} {done.err}")
    shots = tilewave("run", "FILE", "--initial-state", state, "--shots", 100000, "--seed", 4, "--json",
                     text=circuit(["measure q -> c;"])).json()["counts"]
    c.check(all(abs(shots.get(f"{x:05b}", 0) / 1e5 - abs(a) ** 2) < 0.01 for x, a in enumerate(psi)), "shots")
    # refused
    def refused(data, reason, *words):
        state.write_bytes(data)
        bad = tilewave("run", "FILE", "--initial-state", state, *words, text=circuit(["h q[0];"]))
        c.check(bad.code == INPUT and reason in bad.err and len(bad.err.splitlines()) == 1, f"{bad.code} {bad.err}")
    refused(state_bytes(psi[:16]), "2^5")
    refused(npy_bytes((32,), "<f8", bytes(256)), "complex64")
    refused(state_bytes([2 * a for a in psi]), "norm")
    refused(state_bytes([complex("nan")] * 32), "norm")
    refused(state_bytes(psi)[:-3], "truncated")
    refused(b"no array", "npy")
    bad = tilewave("run", "FILE", "--initial-state", folder / "none.npy", text=circuit([]))
    c.check(bad.code == INPUT and "none.npy" in bad.err, f"{bad.code} {bad.err}")
    state.write_bytes(state_bytes(psi))
    for words in (["--engine", "stabilizer", "--shots", 5], ["--state", state]):
        bad = tilewave("run", "FILE", "--initial-state", state, *words, text=circuit(["h q[0];"]))
        c.check(bad.code == USAGE, f"{words}: {bad.code} {bad.err}")
c.finish()
