#!/usr/bin/env python3
"""Times the same circuits through every door of Tilewave: what users get, first run and later runs apart.

    bench/doors.py --qubits 24 --json bench/baselines/cpu_doors.json

Doors: `tilewave bench` (a state that exists, a plan that was searched for), `tilewave run --repeat`, Python's tw.run (with
the package in PYTHONPATH), and a program of the QuEST API compiled against the build. All from |0...0>. Each door is a
process of its own a round, rounds take turns, medians count. A time is planning and running, as each door reports it;
the QuEST program measures from its first gate to an answer.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from circuits import FAMILIES, gpu_name, machine_of, read_qasm, today

ROOT = Path(__file__).resolve().parent.parent
RUNS = 5  # of one process

PYTHON = """
import json, sys, tilewave as tw
circuit = tw.Circuit.from_qasm(open(sys.argv[1]).read())
runs = []
for _ in range(int(sys.argv[2])):
    r = tw.run(circuit, device=sys.argv[3], engine="statevector")
    t = r.timings
    runs.append([t["plan_s"] + t["execute_s"], r.plan["passes"]])
print(json.dumps(runs))
"""

QUEST_HEAD = """
#include <QuEST.h>
#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"default: {' '.join(FAMILIES)}")
    parser.add_argument("--qubits", type=int, default=24)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    parser.add_argument("--without", nargs="*", default=[], help="doors to leave out: python quest")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that imports tilewave")
    parser.add_argument("--json", help="write every number to this file")
    return parser.parse_args()


def output(*words, env=None):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


# -- circuits as C ---------------------------------------------------------------------------------------------------------

def quest_call(name, p, q):
    plain = {"h": "hadamard", "x": "pauliX", "y": "pauliY", "z": "pauliZ", "s": "sGate", "t": "tGate"}
    if name in plain:
        return f"{plain[name]}(q,{q[0]});"
    if name in ("rx", "ry", "rz"):
        return f"rotate{name[1].upper()}(q,{q[0]},{p[0]!r});"
    two = {"cx": f"controlledNot(q,{q[0]},{q[-1]});", "cz": f"controlledPhaseFlip(q,{q[0]},{q[-1]});",
           "swap": f"swapGate(q,{q[0]},{q[-1]});"}
    if name in two:
        return two[name]
    if name in ("cp", "cu1"):
        return f"controlledPhaseShift(q,{q[0]},{q[1]},{p[0]!r});"
    if name == "rzz":
        return f"{{int z[2]={{{q[0]},{q[1]}}}; multiRotateZ(q,z,2,{p[0]!r});}}"
    if name in ("u3", "u", "u2", "p", "u1", "sx", "sdg", "tdg"):
        theta, phi, lam = {"u2": lambda: (math.pi / 2, *p), "p": lambda: (0, 0, p[0]), "u1": lambda: (0, 0, p[0]),
                           "sx": lambda: (math.pi / 2, -math.pi / 2, math.pi / 2), "sdg": lambda: (0, 0, -math.pi / 2),
                           "tdg": lambda: (0, 0, -math.pi / 4)}.get(name, lambda: p)()
        c, s = math.cos(theta / 2), math.sin(theta / 2)
        entries = [c, -s * complex(math.cos(lam), math.sin(lam)), s * complex(math.cos(phi), math.sin(phi)),
                   c * complex(math.cos(phi + lam), math.sin(phi + lam))]
        re_, im = ([repr(getattr(complex(e), part)) for e in entries] for part in ("real", "imag"))
        return (f"{{ComplexMatrix2 m={{.real={{{{{re_[0]},{re_[1]}}},{{{re_[2]},{re_[3]}}}}},"
                f".imag={{{{{im[0]},{im[1]}}},{{{im[2]},{im[3]}}}}}}}; unitary(q,{q[0]},m);}}")
    sys.exit(f"the QuEST door knows no gate '{name}'")


def quest_program(path):
    size, gates = read_qasm(path)
    calls = [quest_call(name, params, qubits) for name, qubits, params in gates]
    return (QUEST_HEAD + "static void gates(Qureg q) {\n" + "\n".join(calls) + "\n}\nint main(void) {\n"
            f"QuESTEnv e = createQuESTEnv(); Qureg q = createQureg({size}, e); double sum = 0;\n"
            f"for (int k = 0; k < {RUNS}; ++k) {{ initZeroState(q); double t = now(); gates(q); sum += getRealAmp(q, 0);"
            ' printf("%.9f\\n", now() - t); }\n'
            'fprintf(stderr, "%g\\n", sum); destroyQureg(q, e); destroyQuESTEnv(e); return 0; }\n')


# -- doors: a list of [seconds, passes or None], the first run first -------------------------------------------------------

def bench(a, path):
    out = json.loads(output(Path(a.build) / "tilewave", "bench", path, "--device", a.device, "--precision", "double", "--input",
                            "zeros", "--no-limit", "--repeats", RUNS, "--json", "-"))
    row = out["results"][0]
    return [[row["first_s"], None]] + [[t, row["passes"]] for t in row["times_s"]]


def command(a, path):
    runs = json.loads(output(Path(a.build) / "tilewave", "run", path, "--device", a.device, "--shots", 0, "--engine", "statevector",
                             "--repeat", RUNS, "--json"))["runs"]
    return [[r["plan_s"] + r["execute_s"], r["passes"]] for r in runs]


def python(a, path):
    return json.loads(output(a.python, "-c", PYTHON, path, RUNS, a.device))


def quest(a, path):
    program = path.with_suffix(".run")
    if not program.exists():
        source = path.with_suffix(".c")
        source.write_text(quest_program(path))
        flags = output("pkg-config", "--cflags", "--libs", "tilewave_quest",
                       env={"PKG_CONFIG_PATH": f"{a.build}:{os.environ.get('PKG_CONFIG_PATH', '')}"}).split()
        output("cc", "-O0", "-std=gnu11", source, *flags, "-o", program)
    return [[float(t), None] for t in output(program, env={"TILEWAVE_DEVICE": a.device}).split()]


def main():
    a = arguments()
    doors = {"bench": bench, "run --repeat": command, "Python": python, "QuEST API": quest}
    for name in a.without:
        doors.pop({"python": "Python", "quest": "QuEST API"}[name])
    families = a.families or FAMILIES
    rows, machine = [], machine_of(Path(a.build) / "tilewave")
    if a.device != "cpu":
        machine["gpu"] = gpu_name()
    with tempfile.TemporaryDirectory() as folder:
        output(Path(a.build) / "tilewave", "bench", *families, "--qubits", a.qubits, "--write", folder)
        print(f"{'circuit':20}" + "".join(f"{d:>34}" for d in doors) + "   (first / second / later ms, later over bench)")
        for family in families:
            path = Path(folder) / f"{family}_{a.qubits}.qasm"
            times = {door: [] for door in doors}
            for _ in range(a.rounds):
                for door, call in doors.items():
                    times[door].append(call(a, path))
            row = {"circuit": path.stem, "doors": {}}
            for door, rounds in times.items():
                kinds = ([r[0][0] for r in rounds], [r[1][0] for r in rounds], [t for r in rounds for t, _ in r[2:]])
                first, second, later = (1e3 * statistics.median(k) for k in kinds)
                row["doors"][door] = {"first_ms": first, "second_ms": second, "later_ms": later, "passes": rounds[-1][-1][1]}
            base = row["doors"]["bench"]["later_ms"]
            for d in row["doors"].values():
                d["over_bench"] = d["later_ms"] / base
            rows.append(row)
            print(f"{row['circuit']:20}" + "".join(
                f"{d['first_ms']:9.1f}{d['second_ms']:9.1f}{d['later_ms']:9.1f}{d['over_bench']:6.2f}x" for d in row["doors"].values()))
    if a.json:
        Path(a.json).write_text(json.dumps({"command": "bench/doors.py " + " ".join(sys.argv[1:]), "qubits": a.qubits,
                                            "device": a.device, "machine": machine, "date": today(), "circuits": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
