"""Derivatives from shifted angles: against adjoint derivatives, and of noisy circuits against differences."""
import math

import numpy as np
import pytest
import tilewave as tw

GATES = {"p": (1, 1), "u2": (1, 2), "u3": (1, 3), "u": (1, 3), "r": (1, 2), "rx": (1, 1), "ry": (1, 1), "rz": (1, 1), "cp": (2, 1),
         "crx": (2, 1), "cry": (2, 1), "crz": (2, 1), "cu3": (2, 3), "cu": (2, 4), "ccp": (3, 1), "rxx": (2, 1), "ryy": (2, 1),
         "rzz": (2, 1), "rzx": (2, 1), "xx_plus_yy": (2, 2), "xx_minus_yy": (2, 2), "fsim": (2, 2), "gphase": (0, 1), "u0": (1, 1)}
NOISE = {"channels": [{"after": "all", "channel": "amplitude_damping", "gamma": 0.05},
                      {"after": ["cx", "crx"], "channel": "depolarizing2", "p": 0.1}]}


def scramble(circuit, rng):
    for q in range(circuit.num_qubits):
        circuit.u(*rng.normal(size=3), q)
    for q in range(circuit.num_qubits - 1):
        circuit.cx(q, q + 1)


@pytest.mark.parametrize("controls", [0, 1, 2])
@pytest.mark.parametrize("name", GATES)
def test_shifts_of_every_gate_are_exact(name, controls):
    qubits, count = GATES[name]
    rng = np.random.default_rng(len(name) + controls)
    circuit = tw.Circuit(5)
    angles = tw.parameters("a", count)
    scramble(circuit, rng)
    circuit.gate(name, list(range(qubits)), [1.5 * a + 0.2 for a in angles], list(range(qubits, qubits + controls)),
                 int(rng.integers(1 << controls)))
    scramble(circuit, rng)
    observable = {"XYZIX": 0.7, "ZIZZY": -1.1, "IXXYI": 0.4}
    values = rng.normal(size=circuit.num_parameters)
    found = tw.shift_gradient(circuit, observable, values)
    energy, gradient = circuit.compile(observable).value_and_grad(values)
    np.testing.assert_allclose(found.value, energy, atol=1e-12)
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-11)
    assert not found.errors.any() and found.value_error == 0


def test_every_gate_with_angles_is_known():
    with_angles = []
    for name in tw.gate_names():
        for qubits in range(5):
            for count in range(1, 5):
                try:
                    tw.Circuit(5).gate(name, list(range(qubits)), [0.1] * count)
                    with_angles.append(name)
                except ValueError:
                    pass
    assert set(with_angles) == set(GATES)


def noisy_circuit():
    a, b = tw.parameters("t", 2)
    circuit = tw.Circuit(3).ry(a, 0).cx(0, 1).crx(2 * b - a, 1, 2).rzz(0.5 * a + b, 0, 2)
    circuit.kraus([np.diag([1, math.sqrt(0.7)]), [[0, math.sqrt(0.3)], [0, 0]]], 1)
    return circuit.ry(b, 1).r(a, b, 2)


@pytest.mark.parametrize("shots", [0, 100])
def test_density_matrices_follow_measurements_in_the_middle(shots):
    a = tw.Parameter("a")
    circuit = tw.Circuit(1, 1).h(0).measure(0, 0).rx(a, 0).c_if(0, 1)
    noise, left = {"channels": [{"after": ["rx"], "channel": "depolarizing", "p": 0.03}]}, 1 - 0.04
    value, slope = 0.5 - 0.5 * np.cos(0.4) * left, 0.5 * np.sin(0.4) * left
    for seed in (1, 2):
        found = tw.shift_gradient(circuit, "Z", [0.4], noise=noise, engine="density", shots=shots, seed=seed)
        np.testing.assert_allclose([found.value, *found.gradient], [value, slope], atol=1e-12)
        assert found.value_error == 0 and not found.errors.any()
    for engine in ("density", "auto"):
        run = tw.run(circuit.bind([0.4]), shots, noise=noise, engine=engine, observables="Z", seed=1)
        np.testing.assert_allclose(run.expectations, [value], atol=1e-12 if engine == "density" or not shots else 0.3)
        assert len(run.expectation_errors) == (run.engine == "trajectories")
    assert math.isclose(tw.expectation(circuit.bind([0.4]), "Z", noise=noise), value, abs_tol=1e-12)
    drawn = tw.shift_gradient(circuit, "Z", [0.4], noise=noise, engine="trajectories", shots=2000, seed=3)
    assert 0 < drawn.value_error < 0.05 and abs(drawn.value - value) < 5 * drawn.value_error
    assert np.all(abs(drawn.gradient - slope) < 5 * drawn.errors) and np.all(drawn.errors > 0)
    one = tw.shift_gradient(circuit, "Z", [0.4], noise=noise, engine="trajectories", shots=1, seed=3)
    assert math.isnan(one.value_error) and np.isnan(one.errors).all()


def test_density_matrices_give_exact_derivatives():
    circuit, values, observable = noisy_circuit(), np.array([0.4, -1.1]), "XZI + 0.5 IYX - ZZZ"
    found = tw.shift_gradient(circuit, observable, values, noise=NOISE, engine="density")

    def energy(at):
        return tw.expectation(circuit.bind(at), observable, noise=NOISE, engine="density")
    step = 1e-5 * np.eye(2)
    assert math.isclose(found.value, energy(values), abs_tol=1e-12) and found.value_error == 0 and not found.errors.any()
    np.testing.assert_allclose(found.gradient, [(energy(values + s) - energy(values - s)) / 2e-5 for s in step], atol=1e-8)
    np.testing.assert_array_equal(tw.shift_gradient(circuit, observable, {"t[0]": 0.4, "t[1]": -1.1}, noise=NOISE,
                                                    engine="density").gradient, found.gradient)
    # noise in the circuit alone, and what its noise takes away
    damped = tw.Circuit(1).rx(tw.Parameter("x"), 0).kraus([math.sqrt(0.8) * np.eye(2), math.sqrt(0.2) * np.diag([1, -1])], 0)
    found = tw.shift_gradient(damped.h(0), "X", [0.3])
    np.testing.assert_allclose([found.value, found.gradient[0]], [math.cos(0.3), -math.sin(0.3)], atol=1e-12)


def test_trajectories_have_standard_errors():
    circuit, values, observable = noisy_circuit(), np.array([0.4, -1.1]), "XZI + 0.5 IYX - ZZZ"
    exact = tw.shift_gradient(circuit, observable, values, noise=NOISE, engine="density")
    deviations = []
    for seed in range(20):
        found = tw.shift_gradient(circuit, observable, values, noise=NOISE, engine="trajectories", shots=400, seed=seed)
        assert 0 < found.value_error < 0.1 and np.all(found.errors > 0) and np.all(found.errors < 0.2)
        deviations += [*(found.gradient - exact.gradient) / found.errors, (found.value - exact.value) / found.value_error]
    # 60 of them, as standard errors say: their squares sum to 60 +- 5 sqrt(120)
    assert abs(np.sum(np.square(deviations)) - 60) < 5 * math.sqrt(120)
    again = tw.shift_gradient(circuit, observable, values, noise=NOISE, engine="trajectories", shots=400, seed=19)
    np.testing.assert_array_equal(again.gradient, found.gradient)


def test_measurements_in_the_middle():
    circuit = tw.Circuit.from_qasm(
        'OPENQASM 3.0; include "stdgates.inc"; input float a; bit c; qubit[2] q; ry(a) q[0]; c = measure q[0]; if (c) x q[1]; ry(a) q[1];')
    # q[1] is |0> or |1> before its rotation: cos(a) of cos(a)
    value, slope, shots = math.cos(0.8)**2, -2 * math.cos(0.8) * math.sin(0.8), 1000
    exact = tw.shift_gradient(circuit, "Z1", [0.8], engine="density")
    np.testing.assert_allclose([exact.value, exact.gradient[0]], [value, slope], atol=1e-12)
    assert exact.value_error == 0 and not exact.errors.any()
    deviations = []
    for seed in range(40):
        found = tw.shift_gradient(circuit, "Z1", [0.8], shots=shots, seed=seed)
        # every shot gives cos(a) or -cos(a)
        assert math.isclose(found.value_error, math.sqrt((math.cos(0.8)**2 - found.value**2) / (shots - 1)), rel_tol=1e-9)
        deviations += [(found.gradient[0] - slope) / found.errors[0], (found.value - value) / found.value_error]
    assert abs(np.sum(np.square(deviations)) - 80) < 5 * math.sqrt(160)
    assert math.isnan(tw.shift_gradient(circuit, "Z1", [0.8], shots=1, seed=1).errors[0])
    for call in (tw.shift_gradient, lambda *given: tw.run(given[0].bind(given[2]), observables=given[1]), lambda *given: tw.expectation(given[0].bind(given[2]), given[1])):
        with pytest.raises(ValueError, match='ask for shots=N, or for engine="density"'):
            call(circuit, "Z1", [0.8])


@pytest.mark.parametrize("qubits", [3, 40])
def test_means_over_shots_have_standard_errors(qubits):
    """On the state vector, and on the stabilizer engine, which takes Pauli strings of large Clifford circuits."""
    circuit = tw.Circuit(qubits, 2).h(0).measure(0, 0).h(1).c_if(0, 1).measure(1, 1).x(2).c_if(1, 1)
    for q in range(3, qubits):
        circuit.h(q)
    shots = 4000
    run = tw.run(circuit, shots, observables="Z0 + 0.5 Z2 + 3 Z1", seed=5, probabilities=qubits == 3)
    assert run.engine == ("statevector" if qubits == 3 else "stabilizer")
    kept = {key: count / shots for key, count in run.counts.items()}
    # of the strings each shot has 1 or -1 times the coefficient
    for mean, error, coefficient in zip(run.expectations, run.expectation_errors, (1, 0.5, 3)):
        assert math.isclose(error, math.sqrt((coefficient**2 - mean**2) / (shots - 1)), rel_tol=1e-9)
    each = {"00": 1 + 0.5 + 3, "01": -1 + 0.5 + 3, "11": -1 - 0.5 - 3}
    if qubits == 3:  # the strings' shots are those that are counted
        mean = sum(kept[key] * each[key] for key in kept)
        square = sum(kept[key] * each[key]**2 for key in kept)
        assert math.isclose(run.expectation_sum, mean, rel_tol=1e-9)
        assert math.isclose(run.expectation_sum_error, math.sqrt((square - mean**2) / (shots - 1)), rel_tol=1e-9)
        for p, error in zip(run.probabilities, run.probability_errors):
            assert math.isclose(error, math.sqrt(p * (1 - p) / (shots - 1)), rel_tol=1e-9)
    assert 0 < run.expectation_sum_error < 0.1
    assert len(tw.run(tw.Circuit(1).h(0).measure_all(), 100, observables="Z").expectation_errors) == 0  # one state


def test_refusals():
    circuit = noisy_circuit()
    for call, problem in [
            (lambda: circuit.compile("ZZZ"), "is a noise channel: take derivatives of noisy circuits by shifted angles.*shift_gradient"),
            (lambda: tw.shift_gradient(circuit, "ZZZ", [1.0]), "2 parameters, got values of shape"),
            (lambda: tw.shift_gradient(circuit, "ZZZ", np.ones((3, 2))), "give one set"),
            (lambda: tw.shift_gradient(circuit, {"ZZZ": 1j}, [1.0, 2.0]), "not Hermitian"),
            (lambda: tw.shift_gradient(circuit, "ZZZ", [1.0, math.nan]), "nan"),
            (lambda: tw.shift_gradient(tw.Circuit.from_qasm(
                'OPENQASM 3.0; include "stdgates.inc"; input float a; bit c; qubit q; while (!c) { ry(a) q; c = measure q; }'),
                "Z0", [1.0], shots=10), "is a jump")]:
        with pytest.raises(ValueError, match=problem):
            call()
