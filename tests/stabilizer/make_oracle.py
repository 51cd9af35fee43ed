"""Writes tests/data/stim: small circuits and what the `stim` package says of them. Run once by hand."""
import pathlib
import random
import numpy as np
import stim

out = pathlib.Path(__file__).parent.parent / "data" / "stim"
with open(out / "cliffords.txt", "w") as f:
    for name, g in stim.gate_data().items():
        if not g.is_unitary or name in ("SPP", "SPP_DAG"):
            continue
        t = stim.Tableau.from_named_gate(name)
        images = []
        for q in range(len(t)):
            images += [str(t.x_output(q)), str(t.z_output(q))]
        f.write(" ".join([name] + images) + "\n")

noise = dict(after_clifford_depolarization=0.01, before_round_data_depolarization=0.02,
             before_measure_flip_probability=0.03, after_reset_flip_probability=0.01)
circuits = {}
for code in ["surface_code:rotated_memory_x", "surface_code:unrotated_memory_z",
             "repetition_code:memory", "color_code:memory_xyz"]:
    name = code.split(":")[0] + ("_" + code.split(":")[1][:3] if "surface" in code else "")
    circuits[name] = stim.Circuit.generated(code, distance=3, rounds=7, **noise)
circuits["channels"] = stim.Circuit("""
R 0 1 2 3
RX 4 5
PAULI_CHANNEL_1(0.1, 0.05, 0.2) 0 4
PAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) 1 2 4 5
E(0.2) X0 Y1
ELSE_CORRELATED_ERROR(0.3) Z4 X3
X_ERROR(0.6) 3
HERALDED_ERASE(0.2) 1
HERALDED_PAULI_CHANNEL_1(0.1, 0.1, 0.1, 0.1) 2
MR(0.1) 0 0
CX rec[-1] 5 rec[-2] 1
M 1 2 3
MX(0.05) 4 5
MPP(0.1) Z1*Z2 X4*X5
MZZ(0.1) 1 !2
MPAD(0.2) 0 1
""" + "".join(f"DETECTOR rec[-{k}]\n" for k in range(1, 15)) + "OBSERVABLE_INCLUDE(2) rec[-3]\n")
for name, c in circuits.items():
    (out / f"{name}.stim").write_text(str(c) + "\n")
    c.detector_error_model(approximate_disjoint_errors=True).to_file(out / f"{name}.dem")
    shots = 1 << 20
    s = c.compile_detector_sampler(seed=7).sample(shots, append_observables=True).astype(np.float32)
    pairs = s.T @ s
    with open(out / f"{name}.counts", "w") as f:  # ones of every bit and pair of bits
        f.write(f"{shots} {s.shape[1]}\n")
        for i in range(s.shape[1]):
            f.write(" ".join(str(int(v)) for v in pairs[i, : i + 1]) + "\n")

# Splits for matching. A logical CNOT between two rotated surface codes of distance 3, gate by gate: checks of both kinds
# on both sides flip together.
def transversal_cnot(p):
    distance, lines, records = 3, [], 0
    data = [(patch, x, y) for patch in range(2) for x in range(distance) for y in range(distance)]
    index = {q: k for k, q in enumerate(data)}
    checks = []  # patch, basis, the data qubits in the order of the gates
    for patch in range(2):
        for x in range(-1, distance):
            for y in range(-1, distance):
                around = [(patch, x, y), (patch, x, y + 1), (patch, x + 1, y), (patch, x + 1, y + 1)]
                basis = "XZ"[(x + y) % 2]
                inside = sum(q in index for q in around)
                if inside == 4 or (inside == 2 and (x if basis == "X" else y) in (-1, distance - 1)):
                    checks.append((patch, basis, around))
    ancillas = range(len(data), len(data) + len(checks))
    join = lambda qubits: " ".join(map(str, qubits))
    rec = lambda *k: " ".join(f"rec[{r - records}]" for r in k)
    lines.append(f"R {join([*range(len(data)), *ancillas])}\nX_ERROR({p}) {join([*range(len(data)), *ancillas])}")
    plus = join(a for a, c in zip(ancillas, checks) if c[1] == "X")
    first = []  # records of the last round
    for round_ in range(2):
        if round_ == 1:
            pairs = [k for q in data if q[0] == 0 for k in (index[q], index[(1, *q[1:])])]
            lines.append(f"CX {join(pairs)}\nDEPOLARIZE2({p}) {join(pairs)}")
        lines.append(f"DEPOLARIZE1({p}) {join(range(len(data)))}\nH {plus}\nDEPOLARIZE1({p}) {plus}")
        for step in range(4):
            pairs = []
            for a, (patch, basis, around) in zip(ancillas, checks):
                if around[step] in index:
                    pairs += [a, index[around[step]]][::1 if basis == "X" else -1]
            lines.append(f"CX {join(pairs)}\nDEPOLARIZE2({p}) {join(pairs)}")
        lines.append(f"H {plus}\nDEPOLARIZE1({p}) {plus}\nX_ERROR({p}) {join(ancillas)}\nMR {join(ancillas)}")
        last, first = first, range(records, records + len(checks))
        records += len(checks)
        half = len(checks) // 2
        for k, (patch, basis, _) in enumerate(checks):
            if round_ == 0:
                lines += [f"DETECTOR {rec(first[k])}"] * (basis == "Z")
            else:  # X checks of the control and Z checks of the target take the other side's along
                other = [last[(k + half) % len(checks)]] * ((basis == "Z") == (patch == 1))
                lines.append(f"DETECTOR {rec(first[k], last[k], *other)}")
    lines.append(f"X_ERROR({p}) {join(range(len(data)))}\nM {join(range(len(data)))}")
    measured, records = records, records + len(data)
    for k, (patch, basis, around) in enumerate(checks):
        if basis == "Z":
            lines.append(f"DETECTOR {rec(first[k], *(measured + index[q] for q in around if q in index))}")
    for patch in range(2):
        lines.append(f"OBSERVABLE_INCLUDE({patch}) {rec(*(measured + index[(patch, 0, y)] for y in range(distance)))}")
    return stim.Circuit("\n".join(lines))


circuits["transversal_cnot"] = transversal_cnot(0.002)
(out / "transversal_cnot.stim").write_text(str(circuits["transversal_cnot"]) + "\n")
for name in "surface_code_rot", "repetition_code", "transversal_cnot":
    circuits[name].detector_error_model(decompose_errors=True).to_file(out / f"{name}.split.dem")


def random_circuit(rng):
    """Gates, then their inverses, with noise between: outcomes are certain, errors spread everywhere."""
    n, gates = rng.randrange(2, 6), []
    for _ in range(rng.randrange(3, 10)):
        a, b = rng.sample(range(n), 2)
        gates.append(rng.choice([f"H {a}", f"S {a}", f"CX {a} {b}", f"CZ {a} {b}", f"CY {a} {b}", f"ISWAP {a} {b}"]))
    lines = [f"R {' '.join(map(str, range(n)))}"]
    for gate in gates + str(stim.Circuit("\n".join(gates)).inverse()).split("\n"):
        lines.append(gate)
        a, b = rng.sample(range(n), 2)
        if rng.random() < 0.5:
            lines.append(rng.choice([
                f"DEPOLARIZE1(.01) {a}", f"DEPOLARIZE2(.03) {a} {b}", f"Y_ERROR(.02) {a}", f"Z_ERROR(.03) {a}",
                f"PAULI_CHANNEL_1(.01, .02, .03) {a}", f"E(.1) X{a} Y{b}", f"E(.1) Y{a}\nELSE_CORRELATED_ERROR(.2) Z{b} X{a}",
                f"PAULI_CHANNEL_2(.01, 0, .03, 0, 0, 0, .07, .01, 0, 0, .05, .06, 0, .07, 0) {a} {b}",
                f"HERALDED_ERASE(.02) {a}"]))
    lines.append(f"M(0.01) {' '.join(map(str, range(n)))}")
    lines += [f"DETECTOR rec[-{k + 1}]" for k in range(n) if rng.random() < 0.9]
    if rng.random() < 0.5:
        lines.append(f"OBSERVABLE_INCLUDE(0) rec[-{rng.randrange(n) + 1}]")
    return "\n".join(lines) + "\n"


rng = random.Random(5)
with open(out / "splits.txt", "w") as f:  # circuit, then its model or a line that says it has none
    count = 0
    while count < 40:
        text = random_circuit(rng)
        whole = stim.Circuit(text).detector_error_model(approximate_disjoint_errors=True)
        try:
            model = stim.Circuit(text).detector_error_model(approximate_disjoint_errors=True, decompose_errors=True)
        except ValueError:
            model = "refused"
        else:
            merged = stim.DetectorErrorModel("\n".join(str(e).replace(" ^", "") for e in model.flattened()))
            if str(model).count("^") < 2 or {frozenset(map(str, e.targets_copy())) for e in whole if e.type == "error"} != {
                    frozenset(map(str, e.targets_copy())) for e in merged if e.type == "error"}:
                continue  # nothing is split, or stim changes what an error flips
        f.write(f"{text}=\n{model}\n-\n")
        count += 1
