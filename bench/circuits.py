"""What the benches share: families of circuits, circuits as lists of gates, and the machine they run on."""
import json
import math
import os
import platform
import random
import re
import subprocess
import time

FAMILIES = ["qft", "ghz", "ghz_qft", "random", "supremacy", "quantum_volume", "ising", "qaoa", "bv"]


def _angle(text):
    return float(eval(text, {"__builtins__": {}}, {"pi": math.pi}))  # our own files


def read_qasm(path):
    """(number of qubits, [(name, qubits, parameters)]) of a file written by `tilewave bench --write`."""
    gates, size = [], 0
    for line in path.read_text().splitlines():
        if found := re.fullmatch(r"qreg q\[(\d+)\];", line):
            size = int(found[1])
        elif found := re.fullmatch(r"(\w+)(?:\(([^)]*)\))? (q\[.*);", line):
            params = [_angle(p) for p in found[2].split(",")] if found[2] else []
            gates.append((found[1], [int(q) for q in re.findall(r"\[(\d+)\]", found[3])], params))
    return size, gates


def brickwork(num_qubits, layers, seed, clifford=False, measured=False):
    """OpenQASM 2: layers of random gates on every qubit and cx on neighbours, which change from layer to layer."""
    rng = random.Random(seed)
    lines = ["OPENQASM 2.0;", 'include "qelib1.inc";', f"qreg q[{num_qubits}];"]
    lines += [f"creg c[{num_qubits}];"] if measured else []
    for layer in range(layers):
        for q in range(num_qubits):
            angles = ",".join(repr(rng.uniform(-math.pi, math.pi)) for _ in range(3))
            lines.append(f"{rng.choice(['h', 's', 'sdg'])} q[{q}];" if clifford else f"u3({angles}) q[{q}];")
        lines += [f"cx q[{q}],q[{q + 1}];" for q in range(layer % 2, num_qubits - 1, 2)]
    lines += [f"measure q[{q}] -> c[{q}];" for q in range(num_qubits)] if measured else []
    return "\n".join(lines) + "\n"


def machine_of(program):
    """The machine and its limit, measured now."""
    done = subprocess.run([program, "bench", "ghz", "--qubits", "4", "--repeats", "1", "--json", "-"],
                          capture_output=True, check=True)
    return json.loads(done.stdout)["machine"]


def today():
    return time.strftime("%Y-%m-%d")


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def gpu_name():
    """Of the first device."""
    words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError) as problem:
        raise SystemExit(f"error: there is no NVIDIA GPU to measure: {problem}") from None
