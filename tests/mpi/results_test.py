"""Amplitudes, probabilities, expectations and shots of N processes are those of one."""
import json
import random
import sys
import tempfile
from pathlib import Path

from launch import HEAD, MPIEXEC, alone, check, end, mpirun_well

RANKS = int(sys.argv[3])


def same_numbers(a, b, what):
    worst = max((abs(x - y) for x, y in zip(a, b)), default=0)
    check(len(a) == len(b) and worst < 1e-12, f"{what}: {len(a)}, {len(b)} numbers, {worst:.1e} apart")


def compare(path, name, words):
    one, many = alone("run", path, *words, "--json"), mpirun_well(RANKS, "run", path, *words, "--json")
    if one[0] or many[0]:
        check(False, f"{name}: exit {one[0]}, {many[0]}: {one[2]} {many[2]}")
        return
    a, b = json.loads(one[1]), json.loads(many[1])
    check(b["ranks"] == RANKS and "processes" in b["device"], f"{name}: ran on {b['device']}")
    check(a["counts"] == b["counts"], f"{name}: counts")
    same_numbers([a["norm"]], [b["norm"]], f"{name}: norm")
    for key in ("probabilities", "joint_probabilities", "expectations"):
        same_numbers(a.get(key, []), b.get(key, []), f"{name}: {key}")
    parts = [[x for z in r.get("amplitudes", []) for x in (z["re"], z["im"])] for r in (a, b)]
    same_numbers(*parts, f"{name}: amplitudes")


def random_circuit(seed, qubits, gates, dynamic):
    r = random.Random(seed)
    lines = [f"qreg q[{qubits}];", f"creg c[{qubits}];"]
    for _ in range(gates):
        a, b, d = r.sample(range(qubits), 3)
        kind = r.randrange(9)
        lines.append([f"h q[{a}];", f"u3({r.uniform(-3, 3)},{r.uniform(-3, 3)},0.4) q[{a}];",
                      f"cx q[{a}],q[{b}];", f"cu1({r.uniform(-3, 3)}) q[{a}],q[{b}];",
                      f"swap q[{a}],q[{b}];", f"ccx q[{a}],q[{b}],q[{d}];", f"x q[{a}];",
                      f"rx({r.uniform(-3, 3)}) q[{a}];", f"rzz({r.uniform(-3, 3)}) q[{a}],q[{b}];"][kind])
        if dynamic and r.random() < 0.08:
            lines.append(r.choice([f"measure q[{a}] -> c[{a}];", f"reset q[{a}];",
                                   f"if(c=={r.randrange(4)}) x q[{b}];"]))
    return HEAD + "\n".join(lines) + "\nmeasure q -> c;\n"


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    code, _, err = alone("bench", "--qubits", 11, "--write", folder)
    check(code == 0, err)
    questions = ["--shots", 5000, "--seed", 11, "--amplitudes", "first:2048", "--probabilities", "all",
                 "--expect", "0.5 XXXXXXXXXXX + 0.2 ZIIIIIIIIIY + 0.1 YIXIIIIIIIZ + 1 IIIIIIIIIIZ"]
    files = sorted(folder.glob("*.qasm"))
    check(len(files) >= 9, f"{len(files)} families")
    thin = 3 if MPIEXEC == "tcp" else 1  # the plans are the same, only the messages travel elsewhere
    for path in files[::thin]:
        compare(path, path.stem, questions)
    for seed in range(3 // thin):
        path = folder / "random.qasm"
        path.write_text(random_circuit(seed, 9, 120, dynamic=False))
        compare(path, f"random {seed}", ["--shots", 5000, "--seed", seed, "--amplitudes", "first:512",
                                         "--probabilities", "8,1,5"])
    for seed in range(5 if thin == 1 else 2):
        path.write_text(random_circuit(seed, 7, 60, dynamic=True))
        compare(path, f"dynamic {seed}", ["--shots", 300, "--seed", seed, "--probabilities", "all"])
    state = folder / "state.npy"
    code, out, err = mpirun_well(RANKS, "run", files[0], "--state", state)
    check(code == 0 and state.stat().st_size > 2048 * 16, f"--state: {code} {err}")
    code, out, err = mpirun_well(RANKS, "run", files[0], "--dry-run")
    check(code == 0 and "sent in" in out, f"--dry-run: {out} {err}")

end()
