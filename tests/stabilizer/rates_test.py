"""A million shots against the `stim` package: the rate of every bit and of every pair of bits within 5 sigma, corrected for
the number of comparisons, for every noise channel and for surface, repetition and color codes, with both engines. Then the
traps of the language, where probabilities are 0 or 1: bit for bit.

Usage: rates_test.py PATH/TO/tilewave FOLDER_FOR_THE_ENVIRONMENT
"""
import statistics
import subprocess
import sys
import tempfile

from stim_python import need_stim

need_stim(sys.argv[2])
import numpy as np
import stim

from stim_comparison import PROGRAM, run_tests

SHOTS = 1 << 20
NOISE = dict(after_clifford_depolarization=0.01, before_round_data_depolarization=0.01,
             before_measure_flip_probability=0.02, after_reset_flip_probability=0.01)


def ours(command, text, shots, bits, *flags):
    out = subprocess.run([PROGRAM, command, "--shots", str(shots), "--seed", "11", "--out_format", "b8", *flags],
                         input=text.encode(), capture_output=True)
    assert out.returncode == 0, (text, out.stderr.decode())
    return np.frombuffer(out.stdout, dtype=np.uint8).reshape(shots, -1)


def pair_counts(packed, bits):
    """Ones of every bit (diagonal) and of both bits of every pair."""
    total = np.zeros((bits, bits))
    for part in np.array_split(packed, 16):
        x = np.unpackbits(part, axis=1, bitorder="little")[:, :bits].astype(np.float32)
        total += x.T @ x
    return total


def limit(comparisons):
    """As unlikely for any of them as 5 sigma is for one."""
    normal = statistics.NormalDist()
    return -normal.inv_cdf(normal.cdf(-5) / comparisons)


def compare(name, a, b):
    a, b = a / SHOTS, b / SHOTS
    mean = (a + b) / 2
    sigma = np.sqrt(np.maximum(mean * (1 - mean), 2 / SHOTS) * 2 / SHOTS)
    worst = float((abs(a - b) / sigma).max())
    assert worst < limit(a.size), (name, worst, limit(a.size))
    return worst


def codes():
    for task in ["surface_code:rotated_memory_z", "surface_code:unrotated_memory_x", "repetition_code:memory",
                 "color_code:memory_xyz"]:
        yield task, stim.Circuit.generated(task, distance=3, rounds=4, **NOISE)


CHANNELS = {
    "X_ERROR": "X_ERROR(0.1) 0 1 2 3 4 5", "Y_ERROR": "Y_ERROR(0.2) 0 1 2 3 4 5", "Z_ERROR": "Z_ERROR(0.05) 0 1 2 3 4 5",
    "DEPOLARIZE1": "DEPOLARIZE1(0.2) 0 1 2 3 4 5", "DEPOLARIZE1 above 3/4": "DEPOLARIZE1(0.9) 0 1 2 3 4 5",
    "DEPOLARIZE2": "DEPOLARIZE2(0.1) 0 1 2 3 4 5 1 4",
    "PAULI_CHANNEL_1": "PAULI_CHANNEL_1(0.1, 0.02, 0.3) 0 1 2 3 4 5",
    "PAULI_CHANNEL_2": "PAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) 0 1 2 3 4 5",
    "E": "E(0.2) X0 Y1 Z4\nELSE_CORRELATED_ERROR(0.4) X2 Z5\nELSE_CORRELATED_ERROR(0.1) Y3\nE(0.05) X0",
    "HERALDED_ERASE": "HERALDED_ERASE(0.2) 0 !1 4\nCX rec[-1] 2 rec[-3] 3",
    "HERALDED_PAULI_CHANNEL_1": "HERALDED_PAULI_CHANNEL_1(0.02, 0.1, 0.05, 0.2) !0 1 4\nCZ rec[-2] 4",
    "measurement noise": "H 3\nMR(0.1) 0 0 !1\nMX(0.2) 5\nMXX(0.03) 3 4\nMPP(0.05) Z0*Z1 !X4*X5\nMPAD(0.2) 0 1\nMY(0.1) 2",
    "rare": "X_ERROR(0.0001) 0 1 2\nDEPOLARIZE2(0.00002) 2 3 4 5",
    "likely": "X_ERROR(0.999) 0 1 2\nZ_ERROR(0.75) 4 5\nDEPOLARIZE2(0.9375) 2 3",
}


def test_channels():
    for name, text in CHANNELS.items():
        text = f"RX 4 5\n{text}\nCX 0 1 4 2\nM 0 1 2 3\nMX 4\nMY 5"
        circuit = stim.Circuit(text)
        bits = circuit.num_measurements
        want = pair_counts(circuit.compile_sampler(seed=5).sample(SHOTS, bit_packed=True), bits)
        for engine in "frame", "sparse":
            got = pair_counts(ours("sample", text, SHOTS, bits, "--engine", engine), bits)
            print(f"  {name}, {engine}: {compare((name, engine), want, got):.2f} sigma, "
                  f"{limit(want.size):.2f} allowed", flush=True)


def test_codes():
    for name, circuit in codes():
        bits = circuit.num_detectors + circuit.num_observables
        sampler = circuit.compile_detector_sampler(seed=5)
        want = pair_counts(sampler.sample(SHOTS, append_observables=True, bit_packed=True), bits)
        for engine in "frame", "sparse":
            got = pair_counts(ours("detect", str(circuit), SHOTS, bits, "--engine", engine, "--append_observables"), bits)
            print(f"  {name}, {engine}: {compare((name, engine), want, got):.2f} sigma, "
                  f"{limit(want.size):.2f} allowed", flush=True)
        model = circuit.detector_error_model()
        got = pair_counts(ours("sample_dem", str(model), SHOTS, bits, "--append_observables"), bits)
        print(f"  {name}, sample_dem: {compare((name, 'sample_dem'), want, got):.2f} sigma", flush=True)


TRAPS = {
    "a repeated target in one MR": "X 0\nMR 0 0 !0\nM 0",
    "an inverted measurement": "X 1\nRX 2\nM !0 !1 0\nMX !2",
    "products with repeated qubits": "X 0\nMPP Z0*Z0*Z1 X0*Y0*Z0*X1*Y1*Z1 !Z0",
    "ELSE chains with other operations between": "E(1) X0\nH 1\nM 0\nELSE_CORRELATED_ERROR(1) X2\nM 2\n"
                                                 "E(0) X0\nS 1\nELSE_CORRELATED_ERROR(1) X2\nM 2",
    "heralds in loops, looked back at": "REPEAT 3 {\nHERALDED_PAULI_CHANNEL_1(0, 1, 0, 0) 0\nCX rec[-1] 1\nM 0 1\n}\nM 0 1",
    "erasures that never happen": "HERALDED_ERASE(0) 0 1\nM 0",
    "pads": "MPAD 0 1 1\nMPAD(1) 0 1",
    "SPP": "RX 0\nSPP X0 !Z1\nSPP Z0\nSPP Z0\nMX 0\nSPP_DAG X1\nSPP X1\nM 1",
    "absent sweep bits": "CX sweep[7] 0\nX 1\nCZ sweep[2] 1\nM 0 1",
    "feedback of both kinds": "X 0\nM 0\nXCZ 1 rec[-1]\nYCZ 2 rec[-1]\nCY rec[-1] 3\nM 1 2 3",
    "long loops": "REPEAT 1000 {\nX 0\nM 0\n}\nREPEAT 3 {\nREPEAT 7 {\nX 1\n}\nM 1\n}",
    "certain errors": "X_ERROR(1) 0\nY_ERROR(1) 1\nZ_ERROR(1) 2\nM 0 1 2\nPAULI_CHANNEL_1(0, 1, 0) 0\nM 0",
}
DETECTOR_TRAPS = {
    "a detector without targets": "M 0\nDETECTOR\nX 0\nM 0\nDETECTOR rec[-1] rec[-2]\nDETECTOR rec[-1] rec[-1]",
    "gaps between observables": "X_ERROR(1) 0\nM 0\nOBSERVABLE_INCLUDE(3) rec[-1]\nOBSERVABLE_INCLUDE(1) rec[-1] rec[-1]\n"
                                "DETECTOR rec[-1]",
    "observables of Paulis": "OBSERVABLE_INCLUDE(0) Z0\nX_ERROR(1) 0\nOBSERVABLE_INCLUDE(0) Z0\nM 0\n"
                             "OBSERVABLE_INCLUDE(1) rec[-1]",
    "an observable twice": "X_ERROR(1) 0\nM 0\nOBSERVABLE_INCLUDE(0) rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]",
    "a gauge that reads 0": "X 0\nM 0\nDETECTOR rec[-1]",
}


def read_back(path, fmt, **sizes):
    return stim.read_shot_data_file(path=path, format=fmt, **sizes)


def test_traps():
    for name, text in TRAPS.items():
        circuit = stim.Circuit(text)
        want = circuit.compile_sampler().sample(64, bit_packed=True)
        for engine in "frame", "sparse":
            if engine == "sparse" and "REPEAT 1000" in text:
                continue
            got = ours("sample", text, 64, circuit.num_measurements, "--engine", engine)
            assert (want == got).all(), (name, engine, want[0], got[0])
    for name, text in DETECTOR_TRAPS.items():
        circuit = stim.Circuit(text)
        want = circuit.compile_detector_sampler().sample(64, append_observables=True, bit_packed=True)
        for engine in "frame", "sparse":
            got = ours("detect", text, 64, circuit.num_detectors + circuit.num_observables, "--engine", engine,
                       "--append_observables")
            assert (want == got).all(), (name, engine, want[0], got[0])


def test_endless_loops():
    text = "REPEAT 1000000000000 {\nREPEAT 1000000000000 {\nTICK\n}\nX_ERROR(0.1) 0\nMR 0\nDETECTOR rec[-1]\n}"
    model = subprocess.run([PROGRAM, "analyze_errors", "--fold_loops"], input=text.encode(), capture_output=True, timeout=60)
    assert model.returncode == 0, model.stderr
    assert stim.DetectorErrorModel(model.stdout.decode()).num_detectors == 10**12
    refused = subprocess.run([PROGRAM, "sample"], input=text.encode(), capture_output=True, timeout=60)
    assert refused.returncode == 3 and refused.stderr.count(b"\n") == 1, (refused.returncode, refused.stderr)


def test_shots_without_bits():
    text = "X_ERROR(0.5) 0\nM 0"  # no detectors
    for fmt, want in ("01", b"\n" * 5), ("dets", b"shot\n" * 5), ("hits", b"\n" * 5), ("b8", b""), ("r8", b"\0" * 5):
        got = subprocess.run([PROGRAM, "detect", "--shots", "5", "--out_format", fmt], input=text.encode(),
                             capture_output=True)
        assert got.returncode == 0 and got.stdout == want, (fmt, got)
    for shots, code in ("64", 0), ("65", 2):
        got = subprocess.run([PROGRAM, "sample", "--shots", shots, "--out_format", "ptb64"], input=text.encode(),
                             capture_output=True)
        assert got.returncode == code, (shots, got)
    with tempfile.NamedTemporaryFile() as f:  # 255 zeros and 256 zeros need a terminator of their own
        for bits in 254, 255, 256, 510:
            circuit = stim.Circuit("M " + " ".join(map(str, range(bits))))
            subprocess.run([PROGRAM, "sample", "--shots", "3", "--out_format", "r8", "--out", f.name],
                           input=str(circuit).encode(), check=True)
            got = read_back(f.name, "r8", num_measurements=bits)
            assert got.shape == (3, bits) and not got.any(), bits


if __name__ == "__main__":
    run_tests(globals())
