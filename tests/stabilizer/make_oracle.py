"""Writes tests/data/stim: small circuits and what the `stim` package says of them. Run once by hand."""
import pathlib
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
