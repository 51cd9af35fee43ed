"""Tilewave against the `stim` package, random circuits included; error_models_differential_test.py has error models.

Usage: differential_test.py PATH/TO/tilewave FOLDER_FOR_THE_ENVIRONMENT
"""
import ctypes
import itertools
import os
import random
import subprocess
import sys
import tempfile

from stim_python import need_stim

need_stim(sys.argv[2])
import numpy as np
import stim

from stim_comparison import ONE, PROGRAM, SEED, TWO, run, run_tests


def sample(command, text, shots, bits, *more):
    out = run([command, "--shots", str(shots), "--seed", "7", "--out_format", "b8", *more], text)
    rows = np.frombuffer(out, dtype=np.uint8).reshape(shots, -1)
    return np.unpackbits(rows, axis=1, bitorder="little")[:, :bits]


def random_circuit(rng, n):
    lines = []
    for _ in range(rng.randrange(5, 60)):
        r = rng.random()
        a, b = rng.sample(range(n), 2)
        if r < 0.35:
            lines.append(f"{rng.choice(ONE)} {a}")
        elif r < 0.75:
            lines.append(f"{rng.choice(TWO)} {a} {b}")
        elif r < 0.82:
            lines.append(f"{rng.choice(['M', 'MX', 'MY', 'MR', 'MRX', 'MRY', 'R', 'RX', 'RY'])} {a}")
        elif r < 0.88:
            lines.append(f"{rng.choice(['MXX', 'MYY', 'MZZ'])} {rng.choice(['', '!'])}{a} {b}")
        else:
            qubits = rng.sample(range(n), rng.randrange(1, min(n, 4) + 1))
            product = "*".join(rng.choice(["", "!"]) + rng.choice("XYZ") + str(q) for q in qubits)
            lines.append(f"{rng.choice(['MPP', 'SPP', 'SPP_DAG'])} {product}")
    lines.append("M " + " ".join(map(str, range(n))))
    text = "\n".join(lines)
    if rng.random() < 0.5:
        text = "H 0\nREPEAT %d {\n%s\n}" % (rng.randrange(1, 4), text)
    return text


def span(rows):
    basis = []
    for r in {int("".join(map(str, r)), 2) for r in rows}:
        for b in basis:
            r = min(r, r ^ b)
        if r:
            basis.append(r)
    basis.sort(reverse=True)
    for i in range(len(basis)):
        for c in basis[i + 1:]:
            basis[i] = min(basis[i], basis[i] ^ c)
    return tuple(basis)


def test_noiseless_circuits_span_the_same_outcomes():
    rng = random.Random(SEED)
    for _ in range(60):
        text = random_circuit(rng, rng.randrange(2, 8))
        c = stim.Circuit(text)
        a = c.compile_sampler(seed=1).sample(512).astype(np.uint8)
        b = sample("sample", text, 512, c.num_measurements, "--engine", rng.choice(["frame", "sparse"]))
        assert span(a ^ a[0]) == span(b ^ b[0]) == span(np.vstack([a, b]) ^ a[0]), text


def stim_says(words, text):
    """What Stim's own command prints: in a copy of this process, which has loaded it."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(text.encode()), given.seek(0)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(given.fileno(), 0), os.dup2(said.fileno(), 1)
                code = stim.main(command_line_args=words)
                sys.stdout.flush(), ctypes.CDLL(None).fflush(None)
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0, words
        said.seek(0)
        return said.read()


def test_flags_say_what_stim_says():
    """Certain outcomes: the same bytes as Stim's own command."""
    text = "X_ERROR(1) 1\nM 0 1\nDETECTOR rec[-1]\nDETECTOR rec[-2]\nOBSERVABLE_INCLUDE(0) rec[-1]\nOBSERVABLE_INCLUDE(2) rec[-2]\n"
    formats = ["01", "b8", "r8", "ptb64", "hits", "dets"]
    cases = [["detect", "--shots", "64", "--out_format", f, *more] for f in formats
             for more in ([], ["--append_observables"], ["--prepend_observables"])]
    cases += [["sample", "--shots", "64", "--out_format", f] for f in formats]
    cases += [["--sample"], ["--sample=3"], ["--sample", "3"], ["--sample=3", "--out_format=hits"], ["--detect=4"], ["--detect", "4"],
              ["--detect=2", "--append_observables"], ["--detect=2", "--out_format=dets"], ["--sample=2", "--frame0"],
              ["--analyze_errors"], ["--analyze_errors", "--fold_loops"], ["--detector_hypergraph"],
              ["sample", "--skip_reference_sample"], ["sample", "--skip_loop_folding"]]
    for words in cases:
        want = stim_says(words, text)
        assert run(words, text) == want, (words, want)
    for name, gate in stim.gate_data().items():
        for alias in gate.aliases:
            described = run(["help", alias.lower()]).decode()
            assert name in described and alias in described, alias
    for topic in formats + ["gates", "formats"]:
        assert run(["help", topic])


def test_formats_and_conversion():
    c = stim.Circuit.generated("surface_code:rotated_memory_z", distance=3, rounds=3,
                               after_clifford_depolarization=0.01)
    bits = c.num_detectors + c.num_observables
    want = sample("detect", str(c), 640, bits, "--append_observables")
    sizes = ["--num_detectors", str(c.num_detectors), "--num_observables", str(c.num_observables)]
    with tempfile.NamedTemporaryFile() as f:
        for a, b in itertools.product(["01", "b8", "r8", "ptb64", "hits", "dets"], repeat=2):
            first = subprocess.run([PROGRAM, "detect", "--shots", "640", "--seed", "7", "--append_observables",
                                    "--out_format", a], input=str(c).encode(), capture_output=True).stdout
            second = subprocess.run([PROGRAM, "convert", "--in_format", a, "--out_format", b] + sizes, input=first,
                                    capture_output=True).stdout
            f.seek(0), f.truncate(), f.write(second), f.flush()
            got = stim.read_shot_data_file(path=f.name, format=b, num_detectors=c.num_detectors,
                                           num_observables=c.num_observables)
            assert (got == want).all(), (a, b)


def rows_of(path, bits):
    rows = np.fromfile(path, dtype=np.uint8).reshape(-1, (bits + 7) // 8)
    return np.unpackbits(rows, axis=1, bitorder="little")[:, :bits]


def test_measurements_without_feedback():
    rng = random.Random(SEED)
    text = """
        R 0 1 2 3
        X_ERROR(0.3) 0
        M 0
        CX rec[-1] 1 sweep[0] 2
        REPEAT 3 {
            X_ERROR(0.2) 1
            MR 1 2
            CX rec[-1] 2 rec[-2] 1
            CZ rec[-2] 3
            H 3
            M !2
            DETECTOR rec[-1] rec[-2]
            DETECTOR rec[-3]
        }
        MX 3
        DETECTOR rec[-1] rec[-2]
        OBSERVABLE_INCLUDE(1) rec[-2]"""
    c = stim.Circuit(text)
    shots, m, bits = 256, c.num_measurements, c.num_detectors + c.num_observables
    records = np.array([[rng.randrange(2) for _ in range(m)] for _ in range(shots)], dtype=np.bool_)
    sweep = np.array([[rng.randrange(2)] for _ in range(shots)], dtype=np.bool_)
    with tempfile.TemporaryDirectory() as folder:
        stim.write_shot_data_file(data=records, path=folder + "/m", format="b8", num_measurements=m)
        stim.write_shot_data_file(data=sweep, path=folder + "/s", format="01", num_measurements=1)
        with open(folder + "/c", "w") as f:
            f.write(text)
        for flags, circuit in ([], c), (["--ran_without_feedback"], c.with_inlined_feedback()):
            want = circuit.compile_m2d_converter().convert(measurements=records, sweep_bits=sweep, append_observables=True)
            got = run(["m2d", "--circuit", folder + "/c", "--in", folder + "/m", "--in_format", "b8", "--sweep", folder + "/s",
                       "--out_format", "b8", "--append_observables", *flags])
            got = np.frombuffer(got, dtype=np.uint8).reshape(shots, -1)
            got = np.unpackbits(got, axis=1, bitorder="little")[:, :bits]
            assert (got == want).all(), flags


def test_errors_that_happened():
    model = "error(0.1) D0 D1\nerror(0.7) D1 L0\nREPEAT 40 {\nerror(0.02) D2 D3 ^ D0 L1\nshift_detectors 1\n}\n" \
            "error(0.5) D4\nerror(1) D1\nerror(0) D0\nerror(0.1) D0 D1\n"
    dem = stim.DetectorErrorModel(model)
    shots, errors, bits = 20000, dem.num_errors, dem.num_detectors + dem.num_observables
    flips = np.zeros((errors, bits), dtype=np.uint8)
    probabilities = []
    for e in (i for i in dem.flattened() if i.type == "error"):
        for t in e.targets_copy():
            if not t.is_separator():
                flips[len(probabilities), t.val + (dem.num_detectors if t.is_logical_observable_id() else 0)] ^= 1
        probabilities.append(e.args_copy()[0])
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--append_observables", "--out_format", "b8", "--shots", str(shots)]
        run(["sample_dem", *flags, "--seed", "3", "--out", folder + "/d", "--err_out", folder + "/e", "--err_out_format", "b8",
             "--obs_out", folder + "/o", "--obs_out_format", "b8"], model)
        drawn, got = rows_of(folder + "/e", errors), rows_of(folder + "/d", bits)
        assert (drawn @ flips % 2 == got).all()
        assert (rows_of(folder + "/o", dem.num_observables) == got[:, dem.num_detectors:]).all()
        for k, p in enumerate(probabilities):
            assert abs(drawn[:, k].sum() - p * shots) <= 6 * (shots * p * (1 - p))**0.5 + 1e-9, (k, p)
        run(["sample_dem", *flags, "--replay_err_in", folder + "/e", "--replay_err_in_format", "b8", "--out", folder + "/r"], model)
        assert (rows_of(folder + "/r", bits) == got).all()
        few = subprocess.run([PROGRAM, "sample_dem", "--shots", str(shots + 1), "--replay_err_in", folder + "/e",
                              "--replay_err_in_format", "b8"], input=model.encode(), capture_output=True)
        assert few.returncode != 0 and b"--shots" in few.stderr, few
        # and the same errors in stim
        want = dem.compile_sampler().sample(shots, recorded_errors_to_replay=drawn.astype(np.bool_))
        assert (np.hstack(want[:2]) == got).all()
        # observables apart
        run(["convert", "--in", folder + "/d", "--in_format", "b8", "--num_detectors", str(dem.num_detectors),
             "--num_observables", str(dem.num_observables), "--out", folder + "/cd", "--out_format", "b8", "--obs_out", folder + "/co",
             "--obs_out_format", "b8"])
        assert (rows_of(folder + "/cd", dem.num_detectors) == got[:, :dem.num_detectors]).all()
        assert (rows_of(folder + "/co", dem.num_observables) == got[:, dem.num_detectors:]).all()


def test_generated_codes():
    noise = dict(after_clifford_depolarization=0.001, before_round_data_depolarization=0.002,
                 before_measure_flip_probability=0.003, after_reset_flip_probability=0.004)
    tasks = ["surface_code:" + t for t in ("rotated_memory_x", "rotated_memory_z", "unrotated_memory_x",
                                           "unrotated_memory_z")] + ["repetition_code:memory", "color_code:memory_xyz"]
    for task, distance, rounds in itertools.product(tasks, [3, 5], [2, 3, 4, 6]):
        for knobs in {}, noise:
            code, name = task.split(":")
            flags = [w for k, v in knobs.items() for w in ("--" + k, str(v))]
            text = run(["gen", "--code", code, "--task", name, "--distance", str(distance), "--rounds", str(rounds)] + flags)
            want = stim.Circuit.generated(task, distance=distance, rounds=rounds, **knobs)
            assert stim.Circuit(text.decode()) == want, (task, distance, rounds, knobs)
    older = run(["--gen=repetition_code", "--task=memory", "--distance=3", "--rounds=2"])
    assert older == run(["gen", "--code", "repetition_code", "--task", "memory", "--distance", "3", "--rounds", "2"])
    assert len(run(["--detect=5"], older.decode())) == 5 * 7
    assert len(run(["--sample=5", "--frame0"], older.decode()).split()) == 5
    assert run(["--detector_hypergraph"], older.decode()) == run(["analyze_errors"], older.decode())


def explanations(text):
    """Symptoms -> the places that cause them, in no order."""
    out = {}
    for part in text.split("ExplainedError {\n")[1:]:
        head, *places = part.split("    CircuitErrorLocation {\n")
        out[head.split("\n")[0]] = sorted(p.split("    }\n")[0] for p in places)
    return out


def test_explanations():
    circuits = [stim.Circuit.generated("surface_code:rotated_memory_x", distance=3, rounds=2, after_clifford_depolarization=0.01,
                                       before_measure_flip_probability=0.01),
                stim.Circuit.generated("color_code:memory_xyz", distance=3, rounds=4, after_clifford_depolarization=0.01,
                                       before_round_data_depolarization=0.01)]
    circuits.append(stim.Circuit("""
        QUBIT_COORDS(1, 2) 0
        R 0 1 2
        X_ERROR(0.1) 0
        CX 0 1
        TICK
        DEPOLARIZE2[tag](0.1) 0 1
        REPEAT 3 {
            REPEAT 2 {
                H 2
                PAULI_CHANNEL_1(0.1, 0, 0.2) 0 2
                TICK
            }
            MR(0.05) 1 2
            DETECTOR(1, 2) rec[-1]
            DETECTOR rec[-2]
            SHIFT_COORDS(1)
        }
        E(0.1) X0 Y1
        ELSE_CORRELATED_ERROR(0.2) Z0 X2
        HERALDED_ERASE(0.1) 0
        HERALDED_PAULI_CHANNEL_1(0.1, 0.1, 0.1, 0.1) 2 1
        MPP(0.1) X0*X0*Z1 Z2
        MZZ(0.1) 0 !1
        M(0.1) !0 1
        DETECTOR rec[-1] rec[-2] rec[-3]
        DETECTOR rec[-4] rec[-5]
        DETECTOR rec[-6] rec[-7]
        OBSERVABLE_INCLUDE(0) rec[-1]"""))
    compared = 0
    for c in circuits:
        want = {}
        try:
            errors = c.explain_detector_error_model_errors()
        except ValueError as e:  # stim 1.15 loses its place in a folded loop
            print(f"stim {stim.__version__} cannot explain one of the circuits: {e}")
            continue
        compared += 1
        for e in errors:
            want.update(explanations(str(e) + "\n"))
        got = explanations(run(["explain_errors"], str(c)).decode())
        assert got == want, [(k, want.get(k), got.get(k)) for k in {**want, **got} if want.get(k) != got.get(k)][:1]
        single = explanations(run(["explain_errors", "--single"], str(c)).decode())
        assert single.keys() == want.keys() and all(len(single[k]) == 1 and single[k][0] in want[k] for k in want)
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("error(0.1) D0\nerror(1) D0 D2 ^ D5 L3\n"), f.flush()
            some = explanations(run(["explain_errors", "--dem_filter", f.name], str(c)).decode())
        assert len(some) == 2 and sorted(map(len, some.values())) == [0, max(map(len, some.values()))]
    assert compared >= 2, "stim explained too few circuits to compare"


if __name__ == "__main__":
    run_tests(globals())
