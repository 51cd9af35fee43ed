"""Samplers against Stim: the same arrays, the same distributions."""
import os
import subprocess
import time

import numpy as np
import pytest
import stim

import tilewave as tw
from stim_circuits import surface_code


def close_rates(ours, theirs, sigmas=5.5):
    """Means of two sets of shots agree within the spread of both."""
    n, m = len(ours), len(theirs)
    p, q = ours.mean(0), theirs.mean(0)
    both = (p * n + q * m) / (n + m)
    spread = np.sqrt(np.maximum(both * (1 - both), 1e-6) * (1 / n + 1 / m))
    return np.all(abs(p - q) < sigmas * spread)


@pytest.mark.parametrize("circuit", [
    surface_code(), surface_code(5, 0.01, 5), surface_code(3, 0.02, 4, "surface_code:unrotated_memory_z"),
    surface_code(5, 0.01, 6, "repetition_code:memory"), surface_code(3, 0.005, 3, "color_code:memory_xyz")])
def test_detectors_agree_with_stim(circuit):
    shots = 20000
    ours = tw.compile_detector_sampler(circuit, seed=5)
    theirs = circuit.compile_detector_sampler(seed=6)
    assert (ours.num_detectors, ours.num_observables) == (circuit.num_detectors, circuit.num_observables)
    dets, obs = ours.sample(shots, separate_observables=True)
    expected_dets, expected_obs = theirs.sample(shots, separate_observables=True)
    for a, b in ((dets, expected_dets), (obs, expected_obs)):
        assert a.dtype == b.dtype == np.bool_ and a.shape == b.shape
        assert close_rates(a, b)
    # pairs of detectors, so that correlations count too
    k = np.arange(dets.shape[1] - 1)
    assert close_rates(dets[:, k] & dets[:, k + 1], expected_dets[:, k] & expected_dets[:, k + 1])


def test_measurements_agree_with_stim():
    circuit = stim.Circuit("""
        H 0 3
        CX 0 1 0 2
        X_ERROR(0.1) 1
        MPP X3*X4 !Z0*Z1
        M(0.02) 0 1 2
        MR 3
        CX rec[-1] 4
        REPEAT 3 {
            DEPOLARIZE1(0.05) 4
            MX 4
        }
    """)
    shots = 20000
    ours = tw.compile_sampler(circuit, seed=1)
    assert ours.num_measurements == circuit.num_measurements and ours.num_qubits == circuit.num_qubits
    a, b = ours.sample(shots), circuit.compile_sampler(seed=2).sample(shots)
    assert a.dtype == np.bool_ and a.shape == b.shape
    pairs = [(i, j) for i in range(a.shape[1]) for j in range(i)]
    assert close_rates(a, b)
    assert close_rates(np.stack([a[:, i] ^ a[:, j] for i, j in pairs], 1),
                       np.stack([b[:, i] ^ b[:, j] for i, j in pairs], 1))


def test_calls_continue_one_sequence():
    circuit = surface_code(3, 0.02, 2)
    whole = tw.compile_detector_sampler(circuit, seed=3).sample(900)
    parts = tw.compile_detector_sampler(circuit, seed=3, threads=2)
    assert np.array_equal(np.concatenate([parts.sample(n) for n in (1, 64, 0, 500, 335)]), whole)
    assert not np.array_equal(tw.compile_detector_sampler(circuit, seed=4).sample(900), whole)


def test_the_command_line_gives_the_same_shots(tmp_path):
    circuit = surface_code(5, 0.01, 3)
    path = tmp_path / "code.stim"
    circuit.to_file(path)
    done = subprocess.run([os.environ["TILEWAVE"], "detect", "--in", path, "--shots", "700", "--seed", "12",
                           "--out_format", "b8"], capture_output=True, check=True)
    ours = tw.compile_detector_sampler(path, seed=12).sample(700, bit_packed=True)
    assert ours.tobytes() == done.stdout
    for form in ("01", "b8", "r8", "hits", "dets"):
        out, obs = tmp_path / f"dets.{form}", tmp_path / f"obs.{form}"
        tw.compile_detector_sampler(path, seed=12).sample_write(700, filepath=out, format=form, obs_out_filepath=obs,
                                                                obs_out_format=form)
        read = stim.read_shot_data_file(path=str(out), format=form, num_detectors=circuit.num_detectors)
        assert np.array_equal(read, tw.compile_detector_sampler(path, seed=12).sample(700))
    tw.compile_sampler(path, seed=1).sample_write(128, filepath=tmp_path / "m", format="ptb64")
    read = stim.read_shot_data_file(path=str(tmp_path / "m"), format="ptb64",
                                    num_measurements=circuit.num_measurements)
    assert np.array_equal(read, tw.compile_sampler(path, seed=1).sample(128))


def test_converter_agrees_with_stim():
    circuit = surface_code(3, 0.02, 3)
    measurements = circuit.compile_sampler(seed=1).sample(300)
    expected = circuit.compile_m2d_converter().convert(measurements=measurements, separate_observables=True)
    ours = tw.compile_m2d_converter(circuit)
    for a, b in zip(ours.convert(measurements=measurements, separate_observables=True), expected):
        assert np.array_equal(a, b)
    packed = np.packbits(measurements, axis=1, bitorder="little")
    both = ours.convert(measurements=packed, append_observables=True, bit_packed=True)
    assert np.array_equal(both, np.packbits(np.concatenate(expected, axis=1), axis=1, bitorder="little"))


def test_error_model_agrees_with_stim():
    circuit = surface_code(3, 0.004, 3)
    ours = stim.DetectorErrorModel(tw.detector_error_model(circuit))
    assert ours.approx_equals(circuit.detector_error_model(), atol=1e-9)
    assert " ^ " in tw.detector_error_model(circuit, decompose_errors=True)
    loop = "REPEAT 1000 {\nX_ERROR(0.125) 0\nMR 0\nDETECTOR rec[-1]\n}"
    assert tw.detector_error_model(loop).splitlines()[0] == "repeat 999 {"  # as Stim has it: the last turn by itself
    assert len(tw.detector_error_model(loop, flatten_loops=True).splitlines()) == 1000
    assert tw.detector_error_model(loop.replace("1000", "1000000000")).startswith("repeat 999999999 {")


@pytest.mark.parametrize("wrong, exception, message", [
    (lambda: tw.compile_sampler(5), TypeError, "stim.Circuit"),
    (lambda: tw.compile_sampler("H 0\nBAD 1\n"), ValueError, "<text>:2"),
    (lambda: tw.compile_detector_sampler("M 0\n", engine="fast"), ValueError, "unknown engine"),
    (lambda: tw.compile_detector_sampler("M 0\n", device="tpu"), ValueError, "unknown device"),
    (lambda: tw.compile_sampler("M 0\n", reference_sample=np.zeros(1)), ValueError, "not supported"),
    (lambda: tw.compile_detector_sampler("M 0\nDETECTOR rec[-1]\n").sample(1 << 62), ValueError, "shots"),
    (lambda: tw.compile_detector_sampler("M 0\nDETECTOR rec[-1]\n").sample(1 << 50), MemoryError, "shots"),
    (lambda: tw.compile_detector_sampler("M 0\n").sample(1, append_observables=True, separate_observables=True),
     ValueError, "separate_observables cannot be combined"),
])
def test_errors(wrong, exception, message):
    with pytest.raises((exception, MemoryError) if exception is ValueError and message == "shots" else exception,
                       match=message):
        wrong()


class TestSinter:
    sinter = pytest.importorskip("sinter")

    def test_the_same_error_rates_as_shots_of_stim(self):
        from tilewave.sinter import TilewaveSampler
        pymatching, shots = pytest.importorskip("pymatching"), 20000
        circuits = {d: surface_code(d, 0.01, d) for d in (3, 5)}
        tasks = [self.sinter.Task(circuit=circuit, json_metadata={"d": d}) for d, circuit in circuits.items()]
        stats = self.sinter.collect(num_workers=1, tasks=tasks, decoders=["tilewave"], max_shots=shots,
                                    custom_decoders={"tilewave": TilewaveSampler(decoder="pymatching")})
        assert len(stats) == 2
        for s in stats:
            circuit = circuits[s.json_metadata["d"]]
            matching = pymatching.Matching.from_detector_error_model(circuit.detector_error_model(
                decompose_errors=True))
            dets, obs = circuit.compile_detector_sampler(seed=3).sample(shots, separate_observables=True)
            expected = np.mean(np.any(matching.decode_batch(dets) != obs, axis=1))
            assert s.shots >= shots and s.errors > 0
            assert abs(s.errors / s.shots - expected) < 5 * np.sqrt(2 * expected / shots)

    def test_post_selection_and_counters(self):
        from tilewave.sinter import TilewaveSampler
        circuit = surface_code(3, 0.02, 2)
        mask = np.zeros((circuit.num_detectors + 7) // 8, np.uint8)
        mask[0] = 3
        task = self.sinter.Task(circuit=circuit, detector_error_model=circuit.detector_error_model(
            decompose_errors=True), postselection_mask=mask, decoder="pymatching")
        compiled = TilewaveSampler(count_detection_events=True, count_observable_error_combos=True,
                                   seed=1).compiled_sampler_for_task(task)
        stats = compiled.sample(4000)
        dets = tw.compile_detector_sampler(circuit, seed=1).sample(4000)
        assert stats.discards == int((dets[:, 0] | dets[:, 1]).sum()) > 0
        assert stats.custom_counts["detection_events"] == int(dets.sum())
        assert stats.custom_counts["obs_mistake_mask=E"] == stats.errors > 0
        with pytest.raises(ValueError, match="no decoder"):
            TilewaveSampler(decoder="magic")

        class OfFiles(self.sinter.Decoder):
            def decode_via_files(self, **paths):
                raise AssertionError("not called")

        with pytest.raises(ValueError, match="OfFiles decodes files only"):
            TilewaveSampler(decoder=OfFiles())


def test_sampling_takes_about_as_long_as_on_the_command_line(tmp_path):
    """Loosely, on a machine with other work; bench/python_overhead.py measures it."""
    circuit = stim.Circuit.generated("surface_code:rotated_memory_z", distance=11, rounds=11,
                                     after_clifford_depolarization=0.001)
    path, shots = tmp_path / "code.stim", 200_000
    circuit.to_file(path)

    def command(n):
        start = time.perf_counter()
        subprocess.run([os.environ["TILEWAVE"], "detect", "--in", path, "--shots", str(n), "--seed", "1", "--out_format", "b8",
                        "--out", "/dev/null"], check=True)
        return time.perf_counter() - start

    def here():
        start = time.perf_counter()
        sampler.sample(shots, bit_packed=True)
        return time.perf_counter() - start

    sampler = tw.compile_detector_sampler(circuit, seed=1)
    sampler.sample(shots, bit_packed=True)
    ours, theirs = zip(*((here(), command(shots)) for _ in range(7)))
    assert min(ours) < 1.5 * min(theirs)  # which holds its start, too


def test_gates_beyond_clifford():
    """A qubit turned by T is found in -X with probability (1 - cos(pi/4)) / 2, noise after it turns that over."""
    text = "RX 0\nT 0\nZ_ERROR(0.1) 0\nMX 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
    minus = (1 - np.sqrt(0.5)) / 2
    expected, shots = 0.9 * minus + 0.1 * (1 - minus), 200_000
    spread = 5 * np.sqrt(expected * (1 - expected) / shots)
    tagged = stim.Circuit(text.replace("T 0", "S[T] 0"))  # as bloqade-tsim writes it
    for circuit in (text, tagged):
        assert abs(tw.compile_sampler(circuit, seed=1).sample(shots).mean() - expected) < spread
        sampler = tw.compile_detector_sampler(circuit, seed=1)
        dets = sampler.sample(shots, append_observables=True)
        assert abs(dets[:, 0].mean() - expected) < spread and np.array_equal(dets[:, 0], dets[:, 1])
        assert "near-Clifford" in sampler.explain()
        with pytest.raises(ValueError, match="T is no Clifford gate"):
            tw.detector_error_model(circuit)


def test_leakage_has_the_rates_of_its_markov_chain():
    """A qubit that leaks, spreads and relaxes round by round, its heralds used by detectors."""
    leak, spread, relax, rounds, shots = 0.05, 0.3, 0.4, 4, 200000
    text = "R 0 1\n" + f"""LEAKAGE({leak}) 0
CX({spread}, 0, 0, 0) 0 1
HERALD_LEAKAGE_EVENT 0 1
MR 1
DETECTOR rec[-3]
DETECTOR rec[-2]
DETECTOR rec[-1]
RELAX({relax}) 0
""" * rounds
    expected, leaked = [], 0.0
    for _ in range(rounds):
        leaked += (1 - leaked) * leak
        # the partner is depolarised where qubit 0 is leaked; what came back before is in a random state
        expected.append((leaked, spread * leaked))
        leaked *= 1 - relax
    dets = tw.compile_detector_sampler(text, seed=8).sample(shots)
    rates = dets.mean(0).reshape(rounds, 3)
    for measured, wanted in zip(rates[:, :2].ravel(), np.ravel(expected)):
        assert abs(measured - wanted) < 5.5 * np.sqrt(wanted * (1 - wanted) / shots)
    first = rates[0, 2]
    assert abs(first - leak / 2) < 5.5 * np.sqrt(leak / 2 / shots)
    records = tw.compile_sampler(text, seed=8).sample(shots)
    assert np.array_equal(tw.compile_m2d_converter(text).convert(measurements=records, append_observables=False),
                          records)
    with pytest.raises(ValueError, match="sparse engine cannot run"):
        tw.compile_sampler(text, engine="sparse")
    with pytest.raises(ValueError, match="is leakage"):
        tw.detector_error_model(text)


def test_circuits_for_other_tools(tmp_path):
    magic = "R 0 1\nH 0\nR_X[mine](0.5) 0\nCX 0 1\nT 0\nHERALDED_ERASE(0.25) 0\nM 0 1\n"
    assert "\nS[T] 0\n" in tw.convert_circuit(magic, "tsim")
    assert "PAULI_CHANNEL_2" in tw.convert_circuit(magic, to="clifft")
    with pytest.raises(ValueError, match=r":5: T cannot be written for stim: it is no Clifford gate there"):
        tw.convert_circuit(magic, "stim")
    with pytest.raises(ValueError, match="no dialect of Stim's language: use tilewave, stim"):
        tw.convert_circuit(magic, "qiskit")
    file = tmp_path / "clifford.stim"
    file.write_text(magic.replace("T 0\n", ""))
    circuit = stim.Circuit(tw.convert_circuit(file, "stim"))  # Stim reads it and finds the same
    assert str(circuit).splitlines()[2] == "SQRT_X[mine] 0" and tw.convert_circuit(circuit, "tilewave") == str(circuit) + "\n"
    few = tw.convert_circuit(circuit, "custabilizer")
    assert few.count("MR 2") == 1 and "SQRT_X" not in few
    ours = tw.compile_sampler(few, seed=3).sample(20000)
    assert close_rates(ours, circuit.compile_sampler(seed=4).sample(20000))
    assert close_rates(ours[:, 1:2] & ours[:, 2:], circuit.compile_sampler(seed=5).sample(20000)[:, 1:2] & circuit.compile_sampler(
        seed=5).sample(20000)[:, 2:])
