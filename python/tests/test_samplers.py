"""Samplers against Stim: the same arrays, the same distributions."""
import os
import pickle
import subprocess
import time

import numpy as np
import pytest
import stim

import tilewave as tw


def surface_code(distance=3, p=0.003, rounds=3, task="surface_code:rotated_memory_x"):
    return stim.Circuit.generated(task, distance=distance, rounds=rounds, after_clifford_depolarization=p,
                                  before_measure_flip_probability=p, after_reset_flip_probability=p,
                                  before_round_data_depolarization=p)


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


def test_every_way_of_asking_gives_the_same_bits():
    circuit = surface_code(3, 0.02, 4)
    sampler = lambda **options: tw.compile_detector_sampler(circuit, seed=9, **options)
    shots = 1003
    dets, obs = sampler().sample(shots, separate_observables=True)
    packed = lambda a: np.packbits(a, axis=1, bitorder="little")
    assert dets.any() and obs.any()
    for options in ({}, {"threads": 3}, {"engine": "frame"}, {"engine": "sparse"}):
        if options.get("engine") is None:
            assert np.array_equal(sampler(**options).sample(shots), dets)
        s = sampler(**options)
        first = s.sample(shots, append_observables=True, bit_packed=True)
        assert np.array_equal(first, sampler(**options).sample(shots, append_observables=True, bit_packed=True))
    both = np.concatenate([dets, obs], axis=1)
    assert np.array_equal(sampler().sample(shots, append_observables=True), both)
    assert np.array_equal(sampler().sample(shots, append_observables=True, bit_packed=True), packed(both))
    assert np.array_equal(sampler().sample(shots, prepend_observables=True), np.concatenate([obs, dets], axis=1))
    assert np.array_equal(sampler().sample(shots, prepend_observables=True, bit_packed=True),
                          packed(np.concatenate([obs, dets], axis=1)))
    assert np.array_equal(sampler().sample(shots, bit_packed=True), packed(dets))
    assert np.array_equal(sampler().sample_bit_packed(shots), packed(dets))
    a, b = sampler().sample(shots, separate_observables=True, bit_packed=True)
    assert np.array_equal(a, packed(dets)) and np.array_equal(b, packed(obs))
    mine = np.zeros_like(dets), np.zeros_like(obs)
    out = sampler().sample(shots, dets_out=mine[0], obs_out=mine[1])
    assert out is mine[0] and np.array_equal(mine[0], dets) and np.array_equal(mine[1], obs)


CERTAIN = """X_ERROR(1) 0
M 0 1 0
DETECTOR rec[-3]
DETECTOR rec[-2]
OBSERVABLE_INCLUDE(0) rec[-1]
OBSERVABLE_INCLUDE(1) rec[-2]
"""
ABSENT = object()


@pytest.mark.parametrize("packed", [False, True])
def test_where_observables_go_is_as_with_stim(packed):
    """All combinations: what Stim returns, fills and refuses."""
    rows = lambda bits: np.packbits([bits] * 3, axis=1, bitorder="little") if packed else np.array([bits] * 3, dtype=bool)
    dets, obs = [1, 0], [1, 0]
    for append, prepend, separate, fill in np.ndindex(2, 2, 2, 2):
        sampler = tw.compile_detector_sampler(CERTAIN)
        options = {"append_observables": bool(append), "prepend_observables": bool(prepend),
                   "separate_observables": bool(separate), "bit_packed": packed}
        if fill:
            options["obs_out"] = np.zeros_like(rows(obs))
        if separate and (append or prepend):
            with pytest.raises(ValueError, match="separate_observables"):
                sampler.sample(3, **options)
            continue
        out = sampler.sample(3, **options)
        if separate:
            assert isinstance(out, tuple) and np.array_equal(out[1], rows(obs))
            out = out[0]
        assert out.dtype == rows(dets).dtype and np.array_equal(out, rows(obs * prepend + dets + obs * append)), options
        if fill:
            assert np.array_equal(options["obs_out"], rows(obs)), options
    buffer = np.zeros((3, 3), dtype=bool)
    with pytest.raises(ValueError, match="obs_out must be"):
        tw.compile_detector_sampler(CERTAIN).sample(3, obs_out=buffer)


def test_arrays_to_fill_are_checked_before_shots_are_drawn():
    circuit = surface_code(3, 0.02, 4)
    shots, (dets, obs) = 40, (a[:40] for a in tw.compile_detector_sampler(circuit, seed=9).sample(80, separate_observables=True))
    num_dets, num_obs = dets.shape[1], obs.shape[1]
    good = lambda bits: np.zeros((shots, bits), bool)
    read_only = good(num_dets)
    read_only.flags.writeable = False
    shared = np.zeros((shots, num_dets + num_obs), bool)
    silent = np.ones(num_dets, bool)
    sampler = tw.compile_detector_sampler(circuit, seed=9)
    for error, match, options in (
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets + 1)}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets)[1:]}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets)[0]}),
            (ValueError, "dets_out must be bool .* not uint8", {"dets_out": np.zeros((shots, num_dets), np.uint8)}),
            (ValueError, "dets_out must be uint8", {"dets_out": good(num_dets), "bit_packed": True}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets), "append_observables": True}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets), "prepend_observables": True}),
            (ValueError, "obs_out must be bool", {"dets_out": good(num_dets), "obs_out": good(num_obs + 1)}),
            (ValueError, "dets_out is read-only", {"dets_out": read_only}),
            (ValueError, "obs_out is read-only", {"obs_out": np.broadcast_to(np.zeros((1, num_obs), bool), (shots, num_obs))}),
            (ValueError, "share memory", {"dets_out": shared[:, :num_dets], "obs_out": shared[:, num_dets - 1:][:, :num_obs]}),
            (TypeError, "dets_out must be a NumPy array, not list", {"dets_out": good(num_dets).tolist()}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets)[1:], "postselection_mask": silent}),
            (ValueError, "postselection_mask is bool", {"dets_out": good(num_dets), "postselection_mask": silent[1:]})):
        with pytest.raises(error, match=match):
            sampler.sample(shots, **options)
    # the sequence is where it was; arrays may have any memory order
    into = np.asfortranarray(good(num_dets)), shared[::-1, num_dets:]
    sampler.sample(shots, dets_out=into[0], obs_out=into[1])
    assert np.array_equal(into[0], dets) and np.array_equal(into[1], obs)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("where", [{}, {"append_observables": True}, {"prepend_observables": True},
                                   {"separate_observables": True}])
def test_kept_shots_fill_the_first_rows(packed, where):
    circuit = surface_code(3, 0.02, 4)
    mask = np.zeros(tw.compile_detector_sampler(circuit).num_detectors, bool)
    mask[::5] = True
    wishes = {"bit_packed": packed, "postselection_mask": mask, **where}
    shots = 500
    new = tw.compile_detector_sampler(circuit, seed=9).sample(shots, **wishes)
    dets, obs = new if "separate_observables" in where else (new, None)
    if obs is None:
        obs = tw.compile_detector_sampler(circuit, seed=9).sample(
            shots, bit_packed=packed, postselection_mask=mask, separate_observables=True)[1]
    kept = len(dets)
    assert 0 < kept < shots
    into = [np.full((shots, a.shape[1]), 1, a.dtype) for a in (dets, obs)]
    out = tw.compile_detector_sampler(circuit, seed=9).sample(shots, dets_out=into[0], obs_out=into[1], **wishes)
    for given, filled, wanted in zip(out if isinstance(out, tuple) else (out,), into, (dets, obs)):
        assert given.base is filled and np.array_equal(given, wanted)
    for filled, wanted in zip(into, (dets, obs)):
        assert np.array_equal(filled[:kept], wanted) and (filled[kept:] == 1).all()


def test_files_are_checked_before_shots_are_drawn(tmp_path):
    circuit, path = surface_code(3, 0.02, 4), tmp_path / "shots"
    path.write_bytes(b"mine")
    other = tmp_path / "observables"
    for sampler in (tw.compile_sampler(circuit, seed=4), tw.compile_detector_sampler(circuit, seed=4)):
        first = type(sampler)(circuit, seed=4).sample(10)
        for shots, options, match in ((10, {"format": "b9"}, "unknown format"), (70, {"format": "ptb64"}, "multiples of 64"),
                                      (10, {"format": "counts"}, "no format of shots"),
                                      (70000, {"obs_out_filepath": other, "obs_out_format": "b9"}, "unknown format")):
            if "obs_out_format" in options and isinstance(sampler, tw.CompiledSampler):
                continue
            with pytest.raises(ValueError, match=match):
                sampler.sample_write(shots, filepath=path, **options)
            assert path.read_bytes() == b"mine" and not other.exists()
        assert np.array_equal(sampler.sample(10), first)


@pytest.mark.parametrize("form, expected", [
    ("01", b"1010\n"), ("hits", b"0,2\n"), ("dets", b"shot L0 D0\n"), ("b8", b"\x05"), ("r8", b"\x00\x01\x01"),
])
def test_observables_first_in_files(tmp_path, form, expected):
    path = tmp_path / "shots"
    tw.compile_detector_sampler(CERTAIN).sample_write(2, filepath=path, format=form, prepend_observables=True)
    assert path.read_bytes() == 2 * expected
    with pytest.raises(ValueError, match="one of"):
        tw.compile_detector_sampler(CERTAIN).sample_write(2, filepath=path, prepend_observables=True,
                                                          append_observables=True)


def test_converters_say_where_observables_go():
    converter = tw.compile_m2d_converter(CERTAIN)
    measurements = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    dets, obs = measurements[:, :2], measurements[:, [2, 1]]
    for append, separate in [(a, s) for a in (ABSENT, None, False, True) for s in (ABSENT, None, False, True)]:
        options = {k: v for k, v in (("append_observables", append), ("separate_observables", separate)) if v is not ABSENT}
        if not any(v is not None for v in options.values()):
            with pytest.raises(ValueError, match="append_observables or separate_observables"):
                converter.convert(measurements=measurements, **options)
            continue
        out = converter.convert(measurements=measurements, **options)
        if separate is True:
            assert np.array_equal(out[1], obs)
            out = out[0]
        assert np.array_equal(out, np.concatenate([dets, obs], axis=1) if append is True else dets), options


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


def test_packed_rows_are_those_of_the_command_line(tmp_path):
    """Rows of every length, whole arrays and pieces of blocks: the bytes that `detect` and `sample` write."""
    for distance, rounds in ((3, 1), (3, 4), (5, 3), (7, 2)):
        circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=distance, rounds=rounds,
                                         after_clifford_depolarization=0.01)
        path = tmp_path / "code.stim"
        circuit.to_file(path)
        for word, make in (("detect", tw.compile_detector_sampler), ("sample", tw.compile_sampler)):
            out = tmp_path / "shots.b8"
            subprocess.run([os.environ["TILEWAVE"], word, "--in", path, "--shots", "5000", "--seed", "7", "--out_format", "b8",
                            "--out", out], check=True)
            sampler = make(circuit, seed=7)
            rows = [sampler.sample(shots, bit_packed=True) for shots in (1, 7, 992, 3000, 1000)]
            assert np.concatenate(rows).tobytes() == out.read_bytes()


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


def test_large_arrays_hold_what_small_ones_do():
    """Arrays past 4 MiB are written past the caches, in whole lines, which the parts of threads share at their ends."""
    circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=5, rounds=5,
                                     after_clifford_depolarization=0.02, before_measure_flip_probability=0.01)
    for packed, shots in ((True, 400_001), (False, 60_001)):
        large = tw.compile_detector_sampler(circuit, seed=3, threads=2).sample(shots, bit_packed=packed)
        assert large.nbytes > 4 << 20
        small = tw.compile_detector_sampler(circuit, seed=3)
        pieces = [small.sample(min(20_011, shots - first), bit_packed=packed) for first in range(0, shots, 20_011)]
        assert max(piece.nbytes for piece in pieces) < 4 << 20
        np.testing.assert_array_equal(large, np.concatenate(pieces))
        one = tw.compile_detector_sampler(circuit, seed=3).sample(shots, bit_packed=packed, append_observables=True)
        bits = circuit.num_detectors
        np.testing.assert_array_equal(one[:, :bits // 8] if packed else one[:, :bits], large[:, :bits // 8] if packed
                                      else large)


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


@pytest.mark.parametrize("text", [
    str(surface_code()), "R 0 1\nR_X(0.3) 0\nCX 0 1\nDEPOLARIZE2(0.2) 0 1\nM 0 1\nDETECTOR rec[-1]\n"
    "DETECTOR rec[-1] rec[-2]\nOBSERVABLE_INCLUDE(1) rec[-2]\n"])
def test_kept_shots_are_those_of_silent_detectors(text):
    shots = 20_000
    dets, obs = tw.compile_detector_sampler(text, seed=3).sample(shots, separate_observables=True)
    sampler = tw.compile_detector_sampler(text, seed=3)
    first = sampler.count_kept(shots // 2)
    second = sampler.count_kept(shots // 2, postselect=[1])  # the shots that follow
    for found, part, silent in ((first, slice(0, shots // 2), ~dets.any(1)), (second, slice(shots // 2, None), ~dets[:, 1])):
        kept = silent[part]
        assert (found.attempted, found.kept) == (shots // 2, kept.sum())
        assert np.array_equal(found.errors, obs[part][kept].sum(0))
    with pytest.raises(ValueError, match="no detector"):
        sampler.count_kept(10, postselect=[dets.shape[1]])


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


# What a sampler of the CPU says to arrays on a device; the arrays themselves are tested by tests/gpu/device_shots_test.py.
def test_shots_stay_on_a_gpu_where_one_makes_them():
    circuit = "X_ERROR(0.5) 0\nM 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
    detectors, mask = tw.compile_detector_sampler(circuit, seed=1), np.ones(1, bool)
    calls = [lambda: detectors.sample(9, on_device=True), lambda: detectors.sample_detector_major(9, on_device=True),
             lambda: detectors.sample_lists(9, on_device=True, postselection_mask=mask),
             lambda: tw.compile_sampler(circuit).sample(9, on_device=True),
             lambda: tw.compile_dem_sampler("error(0.5) D0\n").sample(9, on_device=True)]
    for call in calls:
        with pytest.raises(ValueError, match="lie on the host: take one GPU as the device"):
            call()
    assert np.array_equal(detectors.sample(99), tw.compile_detector_sampler(circuit, seed=1).sample(99))  # none was lost
    with pytest.raises(ValueError, match="leave out prepend_observables"):
        detectors.sample(9, on_device=True, prepend_observables=True)
    with pytest.raises(ValueError, match="sweep_bits are added on the host"):
        tw.compile_sampler("CX sweep[0] 0\nM 0\n").sample(1, on_device=True, sweep_bits=np.ones((1, 1), bool))
    with pytest.raises(ValueError, match="replayed on the host"):
        tw.compile_dem_sampler("error(0.5) D0\n").sample(1, on_device=True, recorded_errors_to_replay=np.ones((1, 1), bool))
    for call in (detectors.sample_lists, detectors.sample_detector_major):
        with pytest.raises(ValueError, match=r"for on_device=True here"):
            call(9, postselection_mask=mask)


def test_device_arrays_tell_what_they_are():
    host = np.arange(6, dtype=np.uint8).reshape(2, 3)  # stands for memory of a device
    array = tw.DeviceArray(host, host.ctypes.data, (2, 3), "u1")
    assert (array.shape, array.ndim, array.size, array.nbytes, len(array), array.dtype) == ((2, 3), 2, 6, 6, 2, np.uint8)
    assert np.shares_memory(np.from_dlpack(array), host)
    interface = array.__cuda_array_interface__
    assert interface["typestr"] == "|u1" and interface["data"] == (host.ctypes.data, False) and interface["shape"] == (2, 3)
    with pytest.raises(TypeError, match=r"tilewave.to_host\(array\)"):
        np.asarray(array)
    assert repr(array) == "<tilewave.DeviceArray: uint8 [2, 3] on cuda:0>"


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


CULTIVATION = os.path.join(os.path.dirname(__file__), "../../tests/data/near_clifford/msc_d3_inject_cultivate_p1e-3.stim")


def test_shots_with_a_given_number_of_faults():
    circuit = "X_ERROR(0.1) 0 1 2\nX_ERROR(0.3) 3\nM 0 1 2 3"
    p = [0.9**3 * 0.7, 3 * 0.1 * 0.81 * 0.7 + 0.9**3 * 0.3, 3 * 0.01 * 0.9 * 0.7 + 3 * 0.1 * 0.81 * 0.3,
         0.001 * 0.7 + 3 * 0.01 * 0.9 * 0.3, 0.001 * 0.3]
    assert np.allclose(tw.fault_probabilities(circuit, 6), [*p, 0, 0], rtol=1e-12)
    for faults, numbers in ((2, [2]), ("2", [2]), ((1, 3), [1, 2, 3]), ((3, None), [3, 4]), ("3+", [3, 4])):
        sampler = tw.compile_sampler(circuit, seed=3, faults=faults)
        assert np.isclose(sampler.weight, sum(p[k] for k in numbers), rtol=1e-12)
        found = np.bincount(sampler.sample(20000).sum(1), minlength=5) / 20000
        expected = np.array([p[k] if k in numbers else 0 for k in range(5)]) / sampler.weight
        assert np.all(abs(found - expected) <= 5.5 * np.sqrt(expected * (1 - expected) / 20000))
    one = tw.compile_detector_sampler(surface_code(), seed=4, faults=3, threads=1)
    two = tw.compile_detector_sampler(surface_code(), seed=4, faults="3-3", threads=2)
    assert np.array_equal(one.sample(10000), two.sample(10000))
    assert tw.compile_sampler(circuit).weight == 1
    for wrong in ("5", "x", "2-1", -1, (3, 2)):
        with pytest.raises(ValueError):
            tw.compile_sampler(circuit, faults=wrong)
    with pytest.raises(ValueError, match='engine="sparse"'):
        tw.compile_sampler(circuit, faults=2, engine="frame")
    with pytest.raises(ValueError):
        tw.compile_sampler(circuit, faults=2, device="cuda")


def test_shots_of_a_model_with_a_given_number_of_errors():
    chances = np.array([0.1, 0.2, 0.05, 0.1, 1.0])
    model = "error(0.1) D0 L0\nerror(0.2) D0 D1\nerror(0.05) D1\nerror(0.1) D1 D2\nerror(1) D2\n"
    fired = np.array(list(np.ndindex(*[2] * 5)))
    p = np.where(fired, chances, 1 - chances).prod(1)
    sampler = tw.compile_dem_sampler(model, seed=3, faults=(2, 3), threads=2)
    wanted = (fired.sum(1) >= 2) & (fired.sum(1) <= 3)
    assert np.isclose(sampler.weight, p[wanted].sum(), rtol=1e-12)
    detectors, observables, errors = sampler.sample(40000, return_errors=True)
    assert np.all((errors.sum(1) >= 2) & (errors.sum(1) <= 3)) and np.array_equal(observables[:, 0], errors[:, 0])
    assert np.array_equal(detectors, errors @ np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]]) % 2)
    given = p * wanted / sampler.weight
    found = np.bincount(errors @ (16 >> np.arange(5)), minlength=32) / 40000
    assert np.all(abs(found - given) <= 5.5 * np.sqrt(given * (1 - given) / 40000))
    again = pickle.loads(pickle.dumps(sampler))
    assert again.weight == sampler.weight and np.array_equal(again.sample(100)[0], sampler.sample(100)[0])
    for wrong in (0, 6, "x"):
        with pytest.raises(ValueError):
            tw.compile_dem_sampler(model, faults=wrong)
    with pytest.raises(ValueError):
        tw.compile_dem_sampler(model, faults=2, device="cuda")


def test_strata_agree_with_plain_shots():
    plain = tw.compile_detector_sampler(CULTIVATION, seed=1).count_kept(3_000_000)
    strata = tw.sample_strata(CULTIVATION, 1_000_000, "2-5", postselect="all", fault_distance=2, seed=2)
    assert strata.attempted == sum(s.attempted for s in strata.strata) == 1_000_000 and strata.seed == 2
    assert [s.faults for s in strata.strata] == ["0-1", "2", "3", "4", "5", "6+"]
    assert np.isclose(sum(s.weight for s in strata.strata), 1, rtol=1e-12)
    assert np.allclose([s.weight for s in strata.strata[1:5]], tw.fault_probabilities(CULTIVATION, 5)[2:])
    share, spread = plain.kept / plain.attempted, np.sqrt(0.21 / plain.attempted)
    assert strata.kept.low - 4 * spread < share < strata.kept.high + 4 * spread
    assert strata.any_error == strata.errors[0] and strata.any_error.low < 616 / 686805652 < strata.any_error.high
    assert str(tw.sample_strata(CULTIVATION, 1_000_000, "2-5", postselect="all", fault_distance=2, seed=2, threads=2)) == str(strata)
    # the estimate is what the table says
    kept = sum(s.weight * s.kept / s.attempted for s in strata.strata)
    assert np.isclose(strata.kept.value, kept)
    assert np.isclose(strata.any_error.value, sum(s.weight * s.any_error / s.attempted for s in strata.strata) / kept)
    nothing = tw.sample_strata("X_ERROR(0.1) 0\nM 0", 1000)
    assert nothing.errors == () and nothing.any_error == (0, 0, 0) and nothing.kept == (1, 1, 1)
    with pytest.raises(TypeError, match="strata is a text"):
        tw.sample_strata(CULTIVATION, 1000, 2)
    for wrong in (dict(strata="2,2"), dict(strata="x"), dict(shots=10), dict(allocation="all"), dict(confidence=2),
                  dict(postselect=[99]), dict(device="cuda")):
        with pytest.raises(ValueError):
            tw.sample_strata(CULTIVATION, **{"shots": 1000, **wrong})
