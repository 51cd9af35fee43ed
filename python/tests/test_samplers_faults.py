"""Shots with a given number of faults, and estimates from strata of them."""
import os
import pickle

import numpy as np
import pytest

import tilewave as tw
from stim_circuits import surface_code

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
