"""Error models, sweep bits and discarded shots against Stim."""
import os
import pickle

import numpy as np
import pytest
import stim

import tilewave as tw

MODEL = """error(0.1) D0 L0
repeat 3 {
    error(0.2) D0 D1 ^ D2
    error(0.05) D1 L1
    shift_detectors 2
}
error(1) D0 D0 D1
detector D3
"""


def packed(bits):
    return np.packbits(bits, axis=1, bitorder="little")


def close_rates(ours, theirs, sigmas=5.5):
    n, m = len(ours), len(theirs)
    both = (ours.mean(0) * n + theirs.mean(0) * m) / (n + m)
    spread = np.sqrt(np.maximum(both * (1 - both), 1e-6) * (1 / n + 1 / m))
    return np.all(abs(ours.mean(0) - theirs.mean(0)) < sigmas * spread)


@pytest.mark.parametrize("model", [stim.DetectorErrorModel(MODEL), stim.Circuit.generated(
    "surface_code:rotated_memory_z", distance=3, rounds=3, after_clifford_depolarization=0.02).detector_error_model()])
def test_shots_of_a_model_agree_with_stim(model, tmp_path):
    shots = 20000
    path = tmp_path / "model.dem"
    model.to_file(path)
    ours = tw.compile_dem_sampler(model, seed=2)
    assert (ours.num_detectors, ours.num_observables, ours.num_errors) == (
        model.num_detectors, model.num_observables, model.num_errors)
    dets, obs, errors = ours.sample(shots)
    assert errors is None
    for other in (str(model), path):
        again = tw.compile_dem_sampler(other, seed=2, threads=2).sample(shots)
        assert np.array_equal(again[0], dets) and np.array_equal(again[1], obs)
    bits = tw.compile_dem_sampler(model, seed=2).sample(shots, bit_packed=True)
    assert np.array_equal(bits[0], packed(dets)) and np.array_equal(bits[1], packed(obs))
    expected = model.compile_sampler(seed=3).sample(shots, return_errors=True)
    with_errors = ours.sample(shots, return_errors=True)
    for a, b in zip(with_errors, expected):
        assert a.dtype == b.dtype == np.bool_ and a.shape == b.shape and close_rates(a, b)
    assert close_rates(dets, expected[0]) and close_rates(obs, expected[1])
    k = np.arange(dets.shape[1] - 1)
    assert close_rates(dets[:, k] & dets[:, k + 1], expected[0][:, k] & expected[0][:, k + 1])
    # the errors that are said to have happened are those that made the detectors, for Stim and for us
    for sampler in (model.compile_sampler(), ours):
        again = sampler.sample(shots, recorded_errors_to_replay=with_errors[2], return_errors=True)
        assert all(np.array_equal(a, b) for a, b in zip(again, with_errors))
    again = ours.sample(shots, recorded_errors_to_replay=packed(with_errors[2]), return_errors=True, bit_packed=True)
    assert all(np.array_equal(a, packed(b)) for a, b in zip(again, with_errors))


def test_a_sampler_of_a_model_goes_on_where_it_was():
    whole = tw.compile_dem_sampler(MODEL, seed=5).sample(500)[0]
    first = tw.compile_dem_sampler(MODEL, seed=5)
    a = first.sample(200)[0]
    second = pickle.loads(pickle.dumps(first))
    assert np.array_equal(np.concatenate([a, second.sample(300)[0]]), whole)
    first.sample(100, return_errors=True)  # which move it on as well
    assert np.array_equal(first.sample(200)[0], whole[300:])


@pytest.mark.parametrize("form", ["01", "b8", "r8", "hits", "dets"])
def test_files_of_a_model(tmp_path, form):
    dets, obs, errors = tw.compile_dem_sampler(MODEL, seed=1).sample(70, return_errors=True)
    paths = [tmp_path / name for name in ("dets", "obs", "errors")]
    tw.compile_dem_sampler(MODEL, seed=1).sample_write(
        70, det_out_file=paths[0], det_out_format=form, obs_out_file=paths[1], obs_out_format=form, err_out_file=paths[2],
        err_out_format=form)
    for path, bits, name in zip(paths, (dets, obs, errors), ("num_detectors", "num_observables", "num_measurements")):
        assert np.array_equal(stim.read_shot_data_file(path=path, format=form, **{name: bits.shape[1]}), bits)


def test_refused_files_of_a_model_draw_nothing(tmp_path):
    sampler = tw.compile_dem_sampler(MODEL, seed=1)
    path, other = tmp_path / "dets", tmp_path / "errors"
    for shots, options, match in ((70, {"det_out_format": "ptb64"}, "multiples of 64"), (70, {"det_out_format": "b9"}, "unknown format"),
                                  (70, {"err_out_file": other, "err_out_format": "counts"}, "no format of shots")):
        with pytest.raises(ValueError, match=match):
            sampler.sample_write(shots, det_out_file=path, **options)
        assert not path.exists() and not other.exists()
    assert np.array_equal(sampler.sample(70)[0], tw.compile_dem_sampler(MODEL, seed=1).sample(70)[0])


def test_masks_discard_what_they_name():
    circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=3, rounds=3, after_clifford_depolarization=0.02)
    shots, num_dets = 100_000, circuit.num_detectors
    dets, obs = tw.compile_detector_sampler(circuit, seed=4).sample(shots, separate_observables=True)
    mask = np.zeros(num_dets, np.bool_)
    mask[[0, 5, num_dets - 1]] = True
    kept = ~dets[:, mask].any(axis=1)
    assert 0.2 < kept.mean() < 0.99
    for given in (mask, packed(mask[None])[0]):
        for threads in (1, 3):
            sampler = tw.compile_detector_sampler(circuit, seed=4, threads=threads)
            parts = [sampler.sample(n, separate_observables=True, postselection_mask=given) for n in (1, 40_000, shots - 40_001)]
            assert np.array_equal(np.concatenate([p[0] for p in parts]), dets[kept])
            assert np.array_equal(np.concatenate([p[1] for p in parts]), obs[kept])
    both = kept & ~obs[:, 0]
    assert both.sum() < kept.sum()
    ours = tw.compile_detector_sampler(circuit, seed=4).sample(
        shots, append_observables=True, bit_packed=True, postselection_mask=mask, postselected_observables_mask=np.array([True]))
    assert np.array_equal(ours, packed(np.concatenate([dets, obs], axis=1)[both]))
    model = circuit.detector_error_model()
    dets, obs, errors = tw.compile_dem_sampler(model, seed=4).sample(2000, return_errors=True)
    kept = ~dets[:, mask].any(axis=1)
    for options in ({}, {"recorded_errors_to_replay": errors}):
        ours = tw.compile_dem_sampler(model, seed=4).sample(2000, return_errors=True, postselection_mask=mask, **options)
        assert all(np.array_equal(a, b[kept]) for a, b in zip(ours, (dets, obs, errors)))


def random_swept_circuit(rng, num_qubits, noisy):
    """Clifford gates, measurements, feedback and Paulis of sweep bits, with detectors that are certain without noise."""
    lines, records = [f"R {' '.join(map(str, range(num_qubits)))}"], 0
    for _ in range(40):
        a, b = rng.choice(num_qubits, 2, replace=False)
        kind = rng.integers(8)
        if kind == 0:
            lines.append(f"{rng.choice(['H', 'S', 'SQRT_X', 'C_XYZ'])} {a}")
        elif kind <= 2:
            lines.append(f"{rng.choice(['CX', 'CZ', 'ISWAP'])} {a} {b}")
        elif kind <= 4:
            lines.append(f"{rng.choice(['CX', 'CY', 'CZ'])} sweep[{rng.integers(11)}] {a}")
        elif kind == 5 and records:
            lines.append(f"CX rec[-{rng.integers(1, records + 1)}] {a}")
        elif kind == 6:
            lines.append(f"{rng.choice(['M', 'MX', 'MR', 'MRY'])} {a}\n{'MR' if rng.integers(2) else 'M'} {a}")
            records += 2
        elif noisy:
            lines.append(f"DEPOLARIZE2(0.1) {a} {b}")
    lines.append(f"CX sweep[10] 0\nM {' '.join(map(str, range(num_qubits)))}")
    return stim.Circuit("\n".join(lines))


def test_sweep_bits_agree_with_what_stim_expects_of_them():
    """Detectors are put on all that is certain without noise; Stim's converter, told the sweep bits, must find none fired
    in noiseless shots. Noisy shots with sweep bits have the rates of detection events without."""
    rng = np.random.default_rng(3)
    certain = 0
    for _ in range(40):
        circuit = random_swept_circuit(rng, 5, noisy=False)
        records = circuit.num_measurements
        plain = tw.compile_sampler(circuit, seed=1).sample(400)
        # parities of one or two records that no coin decides are the same in all shots without sweep bits
        groups = [(i,) for i in range(records)] + [(i, j) for i in range(records) for j in range(i)]
        groups = [g for g in groups if np.ptp(np.bitwise_xor.reduce(plain[:, g].astype(int), axis=1)) == 0]
        for group in groups:
            circuit.append("DETECTOR", [stim.target_rec(k - records) for k in group])
        certain += len(groups)
        shots = 300
        sweep = rng.integers(0, 2, (shots, circuit.num_sweep_bits)).astype(np.bool_)
        sampler = tw.compile_sampler(circuit, seed=2)
        assert sampler.num_sweep_bits == circuit.num_sweep_bits
        measured = sampler.sample(shots, sweep_bits=sweep)
        converter = circuit.compile_m2d_converter()
        assert not converter.convert(measurements=measured, sweep_bits=sweep, append_observables=False).any()
        again = tw.compile_sampler(circuit, seed=2).sample(shots, sweep_bits=packed(sweep), bit_packed=True)
        assert np.array_equal(again, packed(measured))
        same = tw.compile_sampler(circuit, seed=2).sample(shots, sweep_bits=np.tile(sweep[0], (shots, 1)))
        assert np.array_equal(tw.compile_sampler(circuit, seed=2).sample(shots, sweep_bits=sweep[0]), same)
    assert certain > 100


@pytest.mark.parametrize("threads", [1, 2])
def test_masks_keep_the_shots_without_their_detectors_in_order(threads):
    circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=3, rounds=3, after_clifford_depolarization=0.01)
    samplers = [tw.compile_detector_sampler(circuit, seed=4, threads=threads) for _ in range(2)]
    mask = np.arange(circuit.num_detectors) % 5 == 0
    for shots in (1, 777, 1_500_000, 100):  # chunks begin anywhere in a block, and memory grows
        dets, obs = samplers[0].sample(shots, separate_observables=True, bit_packed=True)
        kept = ~np.any(np.unpackbits(dets, axis=1, count=len(mask), bitorder="little") & mask, axis=1)
        ours = samplers[1].sample(shots, separate_observables=True, bit_packed=True, postselection_mask=mask)
        assert np.array_equal(ours[0], dets[kept]) and np.array_equal(ours[1], obs[kept])


class OtherCircuit:
    """As a package that extends Stim may have it."""
    num_measurements, num_detectors = 1, 1

    def append(self, instruction):
        raise TypeError(f"not called with {instruction}")

    def __str__(self):
        return "X_ERROR(1) 0\nM 0\nDETECTOR rec[-1]"


def test_circuits_of_other_packages_are_taken_by_their_text():
    assert tw.compile_detector_sampler(OtherCircuit()).sample(3).tolist() == [[True]] * 3


@pytest.mark.parametrize("wrong, exception, message", [
    (lambda: tw.compile_dem_sampler("M 0\n"), ValueError, "<text>:1"),
    (lambda: tw.compile_dem_sampler(stim.Circuit("M 0")), TypeError, "DetectorErrorModel"),
    (lambda: tw.compile_sampler(stim.DetectorErrorModel()), TypeError, "stim.Circuit"),
    (lambda: tw.compile_dem_sampler(MODEL).sample(2, recorded_errors_to_replay=np.zeros((2, 3), bool)), ValueError, "bool \\[shots, 8\\]"),
    (lambda: tw.compile_dem_sampler(MODEL).sample(2, recorded_errors_to_replay=np.zeros((2, 3), np.uint8)), ValueError, "uint8 \\[shots, 1\\]"),
    (lambda: tw.compile_dem_sampler(MODEL).sample(3, recorded_errors_to_replay=np.zeros((2, 8), bool)), ValueError, "2 rows for 3 shots"),
    (lambda: tw.compile_dem_sampler(MODEL).sample(2, postselection_mask=np.zeros(3, bool)), ValueError, "postselection_mask is"),
    (lambda: tw.compile_detector_sampler("M 0\nDETECTOR rec[-1]").sample(2, postselected_observables_mask=np.zeros(3, np.uint8)),
     ValueError, "postselected_observables_mask is"),
    (lambda: tw.compile_sampler("CX sweep[3] 0\nM 0").sample(2, sweep_bits=np.zeros((2, 3), bool)), ValueError, "bool \\[shots, 4\\]"),
    (lambda: tw.compile_detector_sampler("M 0\nDETECTOR rec[-1]").sample(2**44), MemoryError, "ask for fewer at a time"),
    (lambda: tw.compile_m2d_converter("M 0 1 2\nDETECTOR rec[-3]").convert(measurements=np.zeros((2, 4), bool), append_observables=True),
     ValueError, "measurements is bool \\[shots, 3\\]"),
    (lambda: tw.compile_sampler("CX sweep[3] 0\nM 0").sample(2, sweep_bits=np.zeros((3, 4), bool)), ValueError, "the 2 shots"),
])
def test_errors(wrong, exception, message):
    with pytest.raises(exception, match=message):
        wrong()


def flips_of(model):
    """What a model's errors flip together: the detectors and the observables."""
    flips = [set(), set()]
    for error in model.flattened():
        if error.type == "error":
            for t in error.targets_copy():
                if not t.is_separator():
                    flips[t.is_logical_observable_id()] ^= {t.val}
    return flips


def errors_of(model, parts):
    """What the model's errors flip, or with `parts` what the parts of decomposed errors flip too: at most two detectors."""
    found = set()
    for error in model.flattened():
        if error.type != "error" or error.args_copy()[0] == 0:
            continue
        groups = error.target_groups()
        for group in groups if parts or len(groups) == 1 else []:
            flips = [set(), set()]
            for t in group:
                flips[t.is_logical_observable_id()] ^= {t.val}
            found.add((frozenset(flips[0]), frozenset(flips[1])))
    return {error for error in found if len(error[0]) <= 2}


def random_model(rng, most_detectors):
    """Edges, half-edges and hyperedges on few detectors, now and then with separators and in a loop."""
    num_dets, num_obs = int(rng.integers(2, 16)), int(rng.integers(1, 4))
    lines = []
    for _ in range(rng.integers(2, 24)):
        parts = []
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            dets = rng.choice(num_dets, size=min(num_dets, int(rng.choice([1, 2, 2, 2, 2, most_detectors]))), replace=False)
            obs = rng.choice(num_obs, size=int(rng.choice([0, 0, 0, 0, 0, 0, 0, 1, min(2, num_obs)])), replace=False)
            parts.append(" ".join([f"D{d}" for d in dets] + [f"L{k}" for k in obs]))
        lines.append(f"error({rng.choice([0, 0.1, 0.1, 0.1])}) {' ^ '.join(parts)}")
    if rng.integers(50) == 0:
        lines.append("error(0.1) L0")
    if rng.integers(4) == 0:
        cut = len(lines) // 2
        lines = [*lines[:cut], "repeat 3 {", *lines[cut:], f"shift_detectors {rng.integers(1, 4)}", "}"]
    return stim.DetectorErrorModel("\n".join(lines))


def is_logical_error(found, model, parts):
    dets, obs = flips_of(found)
    errors = errors_of(found, False)
    return not dets and obs and len(errors) == len(found) and errors <= errors_of(model, parts)


def length_by(find):
    try:
        return find()
    except ValueError:
        return None


@pytest.mark.parametrize("ignore", [True, False])
def test_shortest_graphlike_errors_are_as_short_as_those_of_stim(ignore):
    rng = np.random.default_rng(11)
    lengths = []
    for _ in range(1500):
        model = random_model(rng, 3 if ignore else 2)
        theirs = length_by(lambda: model.shortest_graphlike_error(ignore_ungraphlike_errors=ignore))
        ours = length_by(lambda: stim.DetectorErrorModel(tw.shortest_graphlike_error(model, ignore_ungraphlike_errors=ignore)))
        assert (ours is None) == (theirs is None), model
        if ours is not None:
            assert len(ours) == len(theirs) and is_logical_error(ours, model, not ignore), model
        lengths.append(0 if ours is None else len(ours))
    assert np.bincount(lengths)[:6].min() > 0  # none, and every length up to 5


@pytest.mark.parametrize("task, distance, rounds", [
    ("surface_code:rotated_memory_x", 5, 3), ("surface_code:rotated_memory_z", 7, 2), ("surface_code:unrotated_memory_z", 4, 4),
    ("repetition_code:memory", 9, 20), ("repetition_code:memory", 7, 1000)])
def test_the_distance_of_codes(task, distance, rounds):
    circuit = stim.Circuit.generated(task, distance=distance, rounds=rounds, after_clifford_depolarization=0.01,
                                     before_measure_flip_probability=0.01)
    for model, ignore in ((circuit.detector_error_model(), True), (circuit.detector_error_model(decompose_errors=True), False)):
        found = stim.DetectorErrorModel(tw.shortest_graphlike_error(model, ignore_ungraphlike_errors=ignore))
        assert len(found) == len(model.shortest_graphlike_error(ignore_ungraphlike_errors=ignore)) == distance
        assert is_logical_error(found, model, not ignore)


def test_random_circuits_have_the_same_distance():
    """Random parity checks on random qubits, with noise between, some of them detectors."""
    rng, lengths = np.random.default_rng(5), []
    for _ in range(300):
        n = int(rng.integers(3, 7))
        lines = [f"R {' '.join(map(str, range(n + 1)))}"]
        for _ in range(rng.integers(4, 16)):
            checked = rng.choice(n, int(rng.integers(1, 4)), replace=False)
            lines += [f"DEPOLARIZE1(0.01) {rng.integers(n)}", *(f"CX {q} {n}" for q in checked), f"MR {n}"]
            lines.append("DETECTOR rec[-1]" if rng.integers(4) else "TICK")
        lines += [f"X_ERROR(0.01) {rng.integers(n)}", f"M {' '.join(map(str, range(n)))}", "OBSERVABLE_INCLUDE(0) rec[-1]"]
        model = stim.Circuit("\n".join(lines)).detector_error_model()
        theirs = length_by(model.shortest_graphlike_error)
        ours = length_by(lambda: stim.DetectorErrorModel(tw.shortest_graphlike_error(model)))
        assert (ours is None) == (theirs is None) and (ours is None or len(ours) == len(theirs))
        assert ours is None or is_logical_error(ours, model, False)
        lengths.append(0 if ours is None else len(ours))
    assert np.bincount(lengths)[:4].min() > 3


def test_errors_that_are_not_graphlike():
    model = "error(0.1) D0 D1 D2\nerror(0.1) D0 L0\nerror(0.1) D0"
    assert len(stim.DetectorErrorModel(tw.shortest_graphlike_error(model))) == 2
    with pytest.raises(ValueError, match="more than two detectors: D0 D1 D2"):
        tw.shortest_graphlike_error(model, ignore_ungraphlike_errors=False)
    with pytest.raises(ValueError, match="no errors of at most two detectors"):
        tw.shortest_graphlike_error("error(0.1) D0 D1 L0")
    assert tw.shortest_graphlike_error("error(0.1) L3") == "error(1) L3\n"


@pytest.mark.parametrize("shots", [0, 1, 63, 64, 1000, 20_011])
@pytest.mark.parametrize("distance, threads", [(2, 1), (3, 2), (5, 1)])
def test_other_layouts_hold_the_same_shots(shots, distance, threads):
    circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=distance, rounds=distance,
                                     after_clifford_depolarization=0.02)
    for make in (lambda: tw.compile_detector_sampler(circuit, seed=7, threads=threads),
                 lambda: tw.compile_dem_sampler(circuit.detector_error_model(), seed=7, threads=threads)):
        def skipped():
            sampler = make()
            sampler.sample(37)  # so that blocks are cut
            return sampler
        dets, obs = (skipped().sample(shots, separate_observables=True) if isinstance(make(), tw.CompiledDetectorSampler)
                     else skipped().sample(shots)[:2])
        by_detector, by_observable = skipped().sample_detector_major(shots)
        assert by_detector.shape == (circuit.num_detectors, (shots + 7) // 8)
        assert np.array_equal(by_detector, packed(dets.T)) and np.array_equal(by_observable, packed(obs.T))
        lists = skipped().sample_lists(shots)
        assert lists.offsets.dtype == np.int64 and lists.hits.dtype == np.uint32 and lists.offsets.shape == (shots + 1,)
        both = np.concatenate([dets, obs], axis=1)
        where = np.nonzero(both)
        assert np.array_equal(lists.hits, where[1]) and np.array_equal(np.diff(lists.offsets), both.sum(axis=1))
        sampler = skipped()  # and calls go on where the last one ended
        sampler.sample_lists(shots)
        sampler.sample_detector_major(5)
        after = skipped()
        after.sample(shots + 5)
        assert np.array_equal(sampler.sample_lists(20).hits, after.sample_lists(20).hits)


def test_masks_and_layouts_of_shots_beyond_clifford():
    path = os.path.join(os.environ["TILEWAVE_ROOT"], "tests/data/near_clifford/msc_d3_inject_cultivate_p1e-3.stim")
    shots = 20_000
    dets, obs = tw.compile_detector_sampler(path, seed=6).sample(shots, separate_observables=True)
    for detectors in (range(dets.shape[1]), [0, 3]):
        mask = np.zeros(dets.shape[1], np.bool_)
        mask[list(detectors)] = True
        kept = ~dets[:, mask].any(axis=1)
        assert 0.2 < kept.mean() < 1
        ours = tw.compile_detector_sampler(path, seed=6, threads=2).sample(shots, separate_observables=True, postselection_mask=mask)
        assert np.array_equal(ours[0], dets[kept]) and np.array_equal(ours[1], obs[kept])
    lists = tw.compile_detector_sampler(path, seed=6).sample_lists(shots)
    assert np.array_equal(np.diff(lists.offsets), dets.sum(axis=1) + obs.sum(axis=1))
    with pytest.raises(ValueError, match="sweep bits are for circuits of Clifford gates"):
        tw.compile_sampler("CX sweep[0] 0\nT 0\nH 0\nM 0").sample(2, sweep_bits=np.ones((2, 1), bool))
