"""Circuits as functions of their parameters: what they answer, checked by other means, and how they refuse."""
import math
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import tilewave as tw

ANGLES = [0.0, np.pi / 2, np.pi, -np.pi, 1e-9, 2 * np.pi]


def random_circuit(rng, n, num_parameters, gates=30):
    theta = tw.parameters("p", num_parameters)
    circuit = tw.Circuit(n)
    names = ["rx", "ry", "rz", "p", "r", "u", "crx", "cry", "crz", "cp", "rxx", "ryy", "rzz", "rzx", "fsim", "xx_plus_yy",
             "xx_minus_yy", "h", "cx", "swap", "t"]
    counts = {"r": 2, "u": 3, "fsim": 2, "xx_plus_yy": 2, "xx_minus_yy": 2, "h": 0, "cx": 0, "swap": 0, "t": 0}
    for _ in range(gates):
        name = str(rng.choice(names))
        qubits = rng.permutation(n)
        size = 1 if name in ("rx", "ry", "rz", "p", "r", "u", "h", "t") else 2
        angles = [rng.normal() + rng.normal() * theta[rng.integers(num_parameters)] - theta[rng.integers(num_parameters)] / 2
                  for _ in range(counts.get(name, 1))]
        controls = qubits[size:size + rng.integers(3)].tolist()
        circuit.gate(name, qubits[:size].tolist(), angles, controls, int(rng.integers(1 << 16)) & ((1 << len(controls)) - 1))
    circuit._add_parameters([p.name for p in theta])
    return circuit


def test_expressions():
    a, b = tw.Parameter("a"), tw.Parameter("b")
    expression = 2 * a + np.float64(0.5) * b - 1 - a / 4
    assert expression.constant == -1 and expression.terms == {"a": 1.75, "b": 0.5}
    assert a - a == 0 and hash(a) == hash(tw.Parameter("a")) and a != b
    assert (a - a + 3) * b == 3 * b and float(a - a + 3) == 3
    for wrong in (lambda: a * b, lambda: 1 / a, lambda: a**2, lambda: math.sin(a), lambda: np.sin(a)):
        with pytest.raises(TypeError):
            wrong()
    for text in (lambda: a + "1", lambda: a * "2", lambda: tw.Circuit(1).rx(a, 0).bind(["1"])):
        with pytest.raises(TypeError):
            text()
    assert a - a + 3 != "3" and hash(a - a + 3) == hash(3.0) and {3.0: "three"}[a - a + 3] == "three"
    with pytest.raises(ValueError, match="'a' has two values, one by its name and one by itself: give one"):
        tw.Circuit(1).rx(tw.Parameter("a"), 0).bind({"a": 1, tw.Parameter("a"): 2})
    with pytest.raises(TypeError, match="not affine"):
        a * b
    with pytest.raises(ValueError, match="give a text"):
        tw.Parameter("")
    assert repr(2 * a - b + 1) == "2*a - 1*b + 1"


def test_circuits_with_parameters():
    theta = tw.parameters("theta", 3)
    circuit = tw.Circuit(2, 2).rx(theta[2], 0).crz(2 * theta[0] + 0.5, 0, 1).ry(0.25, 1)
    assert circuit.num_parameters == 2 and circuit.parameters == (theta[2], theta[0])
    assert [op.params for op in circuit] == [(theta[2],), (2 * theta[0] + 0.5,), (0.25,)]
    bound = circuit.bind({theta[0]: 1.0, "theta[2]": 2.0})
    assert bound.num_parameters == 0 and bound == tw.Circuit(2, 2).rx(2.0, 0).crz(2.5, 0, 1).ry(0.25, 1)
    assert bound == circuit.bind([2.0, 1.0])
    import copy
    import pickle
    assert pickle.loads(pickle.dumps(circuit)) == circuit == copy.deepcopy(circuit)
    assert circuit != tw.Circuit(2, 2).rx(theta[2], 0).crz(2 * theta[0], 0, 1).ry(0.25, 1)
    both = tw.Circuit(3).ry(theta[1], 2)
    both.compose(circuit.inverse(), [2, 0], clbits=None)
    assert [p.name for p in both.parameters] == ["theta[1]", "theta[2]", "theta[0]"]
    np.testing.assert_allclose((circuit + circuit.inverse()).compile().state([0.3, 0.7]), [1, 0, 0, 0], atol=1e-15)
    for ask in (lambda: tw.simulate(circuit), lambda: tw.sample(circuit, 10), lambda: tw.expectation(circuit, "ZZ"),
                lambda: tw.compile(circuit), lambda: tw.State(circuit), lambda: circuit.to_qasm()):
        with pytest.raises(ValueError, match=r"2 parameters \('theta\[2\]', ...\) have no value"):
            ask()
    with pytest.raises(ValueError, match="2 parameters, got values of shape"):
        circuit.bind([1.0])
    with pytest.raises(ValueError, match=r"'theta\[0\]' at \[1\] is nan"):
        circuit.bind([1.0, np.nan])
    with pytest.raises(ValueError, match=r"the parameter 'theta\[0\]' has no value"):
        circuit.bind({theta[2]: 1.0})
    with pytest.raises(ValueError, match="the circuit has no parameter 'x'"):
        circuit.bind({theta[2]: 1.0, theta[0]: 1.0, "x": 2})
    with pytest.raises(TypeError, match="a number, or an expression of parameters"):
        circuit.rx("0.5", 0)


@pytest.mark.parametrize("precision,tolerance", [("double", 1e-12), ("single", 2e-5)])
def test_values_are_those_of_circuits_with_numbers(precision, tolerance):
    rng = np.random.default_rng(11)
    for n in (1 + 1, 3, 5, 15):
        circuit = random_circuit(rng, n, 6)
        observables = [{"".join(rng.choice(list("IXYZ"), n)): rng.normal() for _ in range(3)} for _ in range(2)]
        f = circuit.compile(observables, precision=precision, threads=2)
        values = np.where(rng.random((10, 6)) < 0.5, rng.choice(ANGLES, (10, 6)), rng.normal(size=(10, 6)))
        states, expectations = f.state(values[:4]), f.expectation(values)
        probabilities = f.probabilities(values[:4], [n - 1, 0])
        for k in range(4):
            bound = circuit.bind(values[k])
            np.testing.assert_allclose(states[k], tw.simulate(bound), atol=tolerance)
            np.testing.assert_allclose(expectations[k], [tw.expectation(bound, o) for o in observables], atol=20 * tolerance)
            np.testing.assert_allclose(probabilities[k], tw.probabilities(bound, [n - 1, 0]), atol=tolerance)
            np.testing.assert_allclose(f.expectation(values[k]), expectations[k], atol=20 * tolerance)


def test_derivatives_equal_differences():
    rng = np.random.default_rng(5)
    for n in (2, 4, 14, 16):
        circuit = random_circuit(rng, n, 5, 40)
        observables = ["".join(rng.choice(list("IXYZ"), n)) for _ in range(3)]
        f = circuit.compile(observables)
        values, v = rng.normal(size=(3, 5)), rng.normal(size=(3, 3))
        jacobian = f.jacobian(values)
        assert jacobian.shape == (3, 3, 5)
        step = 1e-5 * np.eye(5)
        for k in range(3):
            difference = (f.expectation(values[k] + step) - f.expectation(values[k] - step)).T / 2e-5
            np.testing.assert_allclose(jacobian[k], difference, atol=2e-9)
            np.testing.assert_allclose(f.jacobian(values[k]), jacobian[k], atol=1e-13)
        np.testing.assert_allclose(f.vjp(values, v), np.einsum("bm,bmp->bp", v, jacobian), atol=1e-12)
        expectation, gradient = f.expectation_and_vjp(values, v)
        np.testing.assert_allclose(expectation, f.expectation(values), atol=1e-13)
        np.testing.assert_array_equal(gradient, f.vjp(values, v))
        loss, gradient = f.value_and_grad(values, [0.5, 2, -1])
        np.testing.assert_allclose(loss, f.expectation(values) @ [0.5, 2, -1], atol=1e-12)
        np.testing.assert_allclose(gradient, f.vjp(values, [0.5, 2, -1]), atol=1e-13)
        single = circuit.compile(observables, precision="single")
        np.testing.assert_allclose(single.jacobian(values), jacobian, atol=1e-4)


def test_derivatives_of_states_and_probabilities():
    rng = np.random.default_rng(8)
    circuit = random_circuit(rng, 4, 5)
    f = circuit.compile()
    values, step = rng.normal(size=(4, 5)), 1e-5 * np.eye(5)
    g = rng.normal(size=(4, 16)) + 1j * rng.normal(size=(4, 16))
    v = rng.normal(size=(4, 4))
    for k in range(4):
        difference = np.real((f.state(values[k] + step) - f.state(values[k] - step)) @ g[k].conj()) / 2e-5
        np.testing.assert_allclose(f.state_vjp(values, g)[k], difference, atol=1e-8)
        difference = (f.probabilities(values[k] + step, [2, 0]) - f.probabilities(values[k] - step, [2, 0])) @ v[k] / 2e-5
        np.testing.assert_allclose(f.probabilities_vjp(values, [2, 0], v)[k], difference, atol=1e-8)


def test_closed_forms():
    theta = tw.parameters("t", 6)
    product = tw.Circuit(6)
    for k in range(6):
        product.ry(theta[k], k)
    values = np.array([0.0, 0.3, np.pi, -1.2, 1e-9, 2.5])
    energy, gradient = product.compile("ZZZZZZ").value_and_grad(values)
    assert math.isclose(energy, np.prod(np.cos(values)), abs_tol=1e-15)
    expected = [-np.sin(values[k]) * np.prod(np.cos(np.delete(values, k))) for k in range(6)]
    np.testing.assert_allclose(gradient, expected, atol=1e-15)
    # the service SV1 publishes this value and derivative: rx(0.2), -2 Y x 3 I + 0.75 Y x Z
    one = tw.Circuit(4).rx(theta[0], 0).compile({"Y0": -6.0, "Y2 Z3": 0.75})
    energy, gradient = one.value_and_grad([0.2])
    assert math.isclose(energy, 1.1920159847703675, rel_tol=1e-14) and math.isclose(gradient[0], 5.880399467047451, rel_tol=1e-14)
    ghz = tw.Circuit(5).h(0)
    for k in range(1, 5):
        ghz.cx(0, k)
    for k in range(5):
        ghz.rz(theta[0], k)
    energy, gradient = ghz.compile("XXXXX").value_and_grad([0.3])
    assert math.isclose(energy, math.cos(1.5), abs_tol=1e-15) and math.isclose(gradient[0], -5 * math.sin(1.5), abs_tol=1e-14)


def test_qaoa_on_a_ring():
    # one layer on a ring of n > 3 qubits: <ZZ> of an edge is (1/2) sin(4 b) sin(2 g) cos(2 g) ... in our angles below
    n, gamma, beta = 8, tw.Parameter("g"), tw.Parameter("b")
    circuit = tw.Circuit(n)
    for k in range(n):
        circuit.h(k)
    for k in range(n):
        circuit.rzz(2 * gamma, k, (k + 1) % n)
    for k in range(n):
        circuit.rx(2 * beta, k)
    f = circuit.compile({f"Z{k} Z{(k + 1) % n}": 1.0 for k in range(n)})
    g, b = 0.37, 0.61
    energy, gradient = f.value_and_grad([g, b])
    assert math.isclose(energy, n / 2 * math.sin(4 * b) * math.sin(4 * g), abs_tol=1e-13)
    np.testing.assert_allclose(gradient, [2 * n * math.sin(4 * b) * math.cos(4 * g), 2 * n * math.cos(4 * b) * math.sin(4 * g)],
                               atol=1e-12)


def test_shapes():
    theta = tw.parameters("t", 2)
    circuit = tw.Circuit(2).rx(theta[0], 0).ry(theta[1], 1)
    one, several = circuit.compile("ZZ"), circuit.compile(["ZZ", "XI"])
    assert isinstance(one.expectation([1, 2]), float) and one.expectation([[1, 2]]).shape == (1,)
    assert several.expectation([1, 2]).shape == (2,) and several.expectation(np.ones((4, 2))).shape == (4, 2)
    assert one.jacobian([1, 2]).shape == (2,) and one.jacobian(np.ones((4, 2))).shape == (4, 2)
    assert one.vjp(np.ones((4, 2)), np.ones(4)).shape == (4, 2) and one.vjp([1, 2], 2.0).shape == (2,)
    assert several.expectation(np.ones((0, 2))).shape == (0, 2) and several.gradient(np.ones((0, 2))).shape == (0, 2)
    assert several.expectation({theta[0]: np.zeros(5), theta[1]: 1.0}).shape == (5, 2)
    assert one.sample([1, 2], 7).shape == (7, 2) and one.sample(np.ones((3, 2)), 7, 1).shape == (3, 7, 2)
    np.testing.assert_array_equal(one.sample(np.ones((3, 2)), 7, 1), one.sample(np.ones((3, 2)), 7, 1))
    assert np.all(one.sample([np.pi, 0], 50)[:, 0]) and not np.any(one.sample([np.pi, 0], 50)[:, 1])
    unused = circuit.copy()
    unused._add_parameters(["more"])
    assert unused.compile("ZZ").gradient([1, 2, 3])[2] == 0.0
    constant = tw.Circuit(1).h(0).compile("X")
    assert math.isclose(constant.expectation([]), 1) and constant.gradient([]).shape == (0,)


def test_refusals():
    theta = tw.parameters("t", 24)
    circuit = tw.Circuit(2)
    for t in theta:
        circuit.rx(t, 0)
    f = circuit.compile(["ZZ", "XX"])
    for call, problem in [
            (lambda: f.expectation(np.ones((7, 23))), r"24 parameters, got values of shape \(7, 23\)"),
            (lambda: f.expectation(np.ones((2, 7, 24))), r"24 parameters, got values of shape \(2, 7, 24\)"),
            (lambda: f.gradient(np.full(24, np.inf)), r"'t\[0\]' at \[0\] is inf"),
            (lambda: f.expectation(np.ones(24) * 1j), "complex"),
            (lambda: f.expectation({t: 1j for t in theta}), r"'t\[0\]' is complex"),
            (lambda: f.vjp(np.ones(24), [1.0]), "give a number for each of 2 observables"),
            (lambda: f.vjp(np.ones(24), [1.0, 1j]), "expectations are real"),
            (lambda: f.vjp(np.ones(24), [1.0, np.nan]), "not a finite number"),
            (lambda: circuit.compile().gradient(np.ones(24)), "without observables"),
            (lambda: circuit.compile(["ZZ", {"XX": 1j}]), "observable 1: the observable is not Hermitian"),
            (lambda: circuit.compile("Z5"), "out of range"),
            (lambda: circuit.compile("ZZ", device="cpu+cuda:0"), r"on the CPU or on CUDA devices, not on 'cpu\+cuda:0'"),
            (lambda: tw.Circuit(1).h(0).reset(0).compile("Z"), "operation 1 is a reset"),
            (lambda: tw.Circuit(1, 1).measure(0, 0).x(0).compile("Z"), "after a measurement"),
            (lambda: tw.Circuit(1).unitary([[2, 0], [0, 1]], 0, check=False).compile("Z"), "not unitary"),
            (lambda: tw.Circuit(1).kraus([np.eye(2)], 0).compile("Z"), "a noise channel"),
            (lambda: f.state_vjp(np.ones(24), np.ones(3)), "the shape"),
            (lambda: f.state_vjp(np.ones(24), [1, 0, np.nan, 0]), "g has an element"),
            (lambda: f.probabilities_vjp(np.ones(24), [0], [np.inf, 0]), "v has an element")]:
        with pytest.raises(ValueError, match=problem):
            call()
    with pytest.raises(MemoryError, match="qubits needs"):
        tw.Circuit(45).rx(theta[0], 0).compile("Z0").gradient([0.1])
    with pytest.raises(MemoryError, match="use at most 50"):
        tw.Circuit(55).rx(theta[0], 0).compile("Z0")
    measured = tw.Circuit(1, 1).rx(theta[0], 0).measure(0, 0)
    assert math.isclose(measured.compile("Z0").expectation([0.4]), math.cos(0.4))


def test_values_of_dictionaries_are_those_of_arrays():
    a, b = tw.parameters("v", 2)
    f = tw.Circuit(1).rx(a, 0).ry(b, 0).compile("Z0")
    for value in (0.5, np.float32(0.5), np.array([0.5, 0.25]), 0.5 + 0j, np.array([0.5 + 0j, 0.25])):
        pairs = np.stack(np.broadcast_arrays(np.real(value), 0.75), axis=-1)
        np.testing.assert_array_equal(f.expectation({a: value, "v[1]": 0.75}), f.expectation(pairs))
    for wrong in ("0.5", ["0.5"], {}):
        with pytest.raises(TypeError, match=r"the value of parameter 'v\[0\]' is"):
            f.expectation({a: wrong, b: 0.75})


@pytest.mark.parametrize("qubits, count", [(1, 1), (1, 5), (14, 1), (14, 2)])
def test_angles_that_are_no_numbers(qubits, count):
    """Finite values whose angle is beyond what a number holds are refused, by every call."""
    a, b = tw.parameters("a", 2)
    circuit = tw.Circuit(qubits).rx(1e300 * a - 1e300 * b, 0).gphase(b)
    f = circuit.compile("Z0", device="cpu")
    fits, large = np.tile([1e-300, 0.0], (count, 1)), np.tile([1e-300, 0.0], (count, 1))
    large[-1] = 1e300
    for call in (f.expectation, f.gradient, f.jacobian, f.state, f.metric_tensor, f.probabilities,
                 lambda values: f.sample(values, 3, 1), lambda values: f.state_vjp(values, np.ones((count, 2**qubits)))):
        call(fits)
        with pytest.raises(ValueError, match="an angle is not a finite number with these parameters"):
            call(large)
    with pytest.raises(ValueError, match="an angle is not a finite number with these parameters"):
        circuit.bind(large[-1])
    huge = tw.Circuit(qubits).rx(1e-300 * a, 0).compile("Z0", device="cpu")  # a large value, but not its angle
    np.testing.assert_allclose(huge.expectation(np.full((count, 1), 1e300)), np.cos(1.0))
    near = tw.Circuit(qubits).rx(a, 0).compile("Z0", device="cpu")  # its angle may be large too
    assert np.isfinite(near.expectation(np.full((count, 1), 1.7e308))).all()


def test_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(2)
    circuit = random_circuit(rng, 17, 6, 60)
    values = rng.normal(size=6)
    results = [circuit.compile({"Z0 Z16": 1.0, "X3 Y9": 0.5}, threads=t).value_and_grad(values) for t in (1, 2, 3)]
    for energy, gradient in results[1:]:
        assert energy == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_inputs_of_openqasm_become_parameters():
    text = """OPENQASM 3.0; include "stdgates.inc"; input float[64] x; input angle y; input int n; bit[2] c; qubit[3] q;
        gate twice(a) t { rz(a) t; rx(2 * a) t; }
        for int k in [0:n - 1] { twice(x / 2 - 0.25) q[k]; }
        ctrl @ ry(-y + pi / 4) q[0], q[1]; inv @ twice(0.5 * x) q[2]; U(x, y, 0.3) q[1]; negctrl @ u2(x, 2 * y) q[1], q[2];
        c = measure q[0:1];"""
    circuit = tw.Circuit.from_qasm(text, {"n": 3})
    assert [p.name for p in circuit.parameters] == ["x", "y"] and circuit.num_clbits == 2 and circuit.cregs == [("c", 0, 2)]
    for x, y in ((0.0, 0.0), (0.3, -1.1), (np.pi, 2.0)):
        number = tw.Circuit.from_qasm(text, {"n": 3, "x": x, "y": y})
        np.testing.assert_allclose(tw.simulate(circuit.bind([x, y])), tw.simulate(number), atol=1e-12)
        np.testing.assert_allclose(circuit.compile("Z0").expectation([x, y]), tw.expectation(number, "Z0"), atol=1e-12)
    start = 'OPENQASM 3.0; include "stdgates.inc"; input float x; input float y; bit c; qubit q;\n'
    for rest, problem in [("rx(sin(x)) q;", "<text>:2: an angle is not a sum"), ("rx(x * y) q;", "an angle is not a sum"),
                          ("if (x > 0) h q;", "<text>:2: what depends on an input without a value is not an angle"),
                          ("while (x > 0) h q;", "<text>: what depends on an input without a value is not an angle")]:
        with pytest.raises(ValueError, match=problem):
            tw.Circuit.from_qasm(start + rest)
    with pytest.raises(ValueError, match="input 'n' has no value"):
        tw.Circuit.from_qasm(text)


def test_thousands_of_strings():
    rng = np.random.default_rng(4)
    circuit = random_circuit(rng, 11, 5, 60)
    strings = {"".join(rng.choice(list("IXYZ"), 11)): rng.normal() for _ in range(3000)}
    strings |= {"".join(rng.choice(list("IZ"), 11)): rng.normal() for _ in range(500)}  # many of one mask
    f, values = circuit.compile(strings), rng.normal(size=(4, 5))
    expected = [tw.expectation(circuit.bind(row), strings) for row in values]
    np.testing.assert_allclose(f.expectation(values), expected, atol=1e-11)
    np.testing.assert_allclose([f.expectation(row) for row in values], expected, atol=1e-11)
    step = 1e-5 * np.eye(5)
    difference = (f.expectation(values[0] + step) - f.expectation(values[0] - step)) / 2e-5
    np.testing.assert_allclose(f.gradient(values[0]), difference, atol=1e-6)
    np.testing.assert_allclose(f.gradient(values)[0], difference, atol=1e-6)


@pytest.mark.parametrize("precision, tolerance", [("double", 1e-8), ("single", 2e-4)])
def test_metric_tensor_equals_differences(precision, tolerance):
    rng = np.random.default_rng(8)
    for n in (1, 3, 5):
        circuit = random_circuit(rng, n, 4, 20) if n > 3 else tw.Circuit(n).h(0)
        if n <= 3:
            for t in tw.parameters("t", 4):
                circuit.ry(t, rng.integers(n)).rz(2 * t - 0.3, rng.integers(n)).h(int(rng.integers(n)))
        f = circuit.compile(precision=precision, device="cpu")
        exact = circuit.compile(device="cpu")
        values, starts = rng.normal(size=(3, 4)), rng.normal(size=(3, 2**n)) + 1j * rng.normal(size=(3, 2**n))
        starts /= np.linalg.norm(starts, axis=1, keepdims=True)
        for initial in (None, starts[0], starts):
            metric = f.metric_tensor(values, initial_state=initial)
            assert metric.shape == (3, 4, 4)
            for b, (row, found) in enumerate(zip(values, metric)):
                own = initial[b] if np.ndim(initial) == 2 else initial
                step = 1e-5 * np.eye(4)
                psi = exact.state(row, initial_state=own)
                d = (exact.state(row + step, initial_state=own) - exact.state(row - step, initial_state=own)) / 2e-5
                along = d.conj() @ psi
                np.testing.assert_allclose(found, (d.conj() @ d.T - np.outer(along, along.conj())).real, atol=tolerance)
                np.testing.assert_allclose(f.metric_tensor(row, initial_state=own), found, atol=tolerance)
                np.testing.assert_array_equal(found, found.T)


def test_metric_tensor_closed_forms():
    a, b = tw.parameters("t", 2)
    f = tw.Circuit(1).ry(a, 0).rz(b, 0).compile()
    np.testing.assert_allclose(f.metric_tensor([0.4, 1.0]), [[0.25, 0], [0, 0.25 * math.sin(0.4)**2]], atol=1e-15)
    assert f.metric_tensor(np.ones((0, 2))).shape == (0, 2, 2) and tw.Circuit(1).h(0).compile().metric_tensor([]).shape == (0, 0)
    # n qubits in a GHZ state turned about Z: the variance of the generator is (n / 2)^2
    ghz = tw.Circuit(6).h(0)
    for q in range(5):
        ghz.cx(q, q + 1)
    for q in range(6):
        ghz.rz(a, q)
    assert math.isclose(ghz.compile().metric_tensor([0.2])[0, 0], 9)
    with pytest.raises(ValueError, match="2 parameters, got values of shape"):
        f.metric_tensor([1.0])
    with pytest.raises(ValueError, match="'t\\[1\\]'.*nan"):
        f.metric_tensor([1.0, np.nan])


def test_initial_states():
    rng = np.random.default_rng(6)
    circuit = random_circuit(rng, 4, 3)
    f = circuit.compile(["ZZII", "XIYI"])
    values, starts = rng.normal(size=(5, 3)), rng.normal(size=(5, 16)) + 1j * rng.normal(size=(5, 16))
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    unitary = [np.stack([f.state(row, initial_state=column) for column in np.eye(16)], axis=1) for row in values]
    np.testing.assert_allclose(unitary[0][:, 0], f.state(values[0]), atol=1e-13)
    states = np.stack([u @ start for u, start in zip(unitary, starts)])
    np.testing.assert_allclose(f.state(values, initial_state=starts), states, atol=1e-13)
    shared = np.stack([u @ starts[0] for u in unitary])
    np.testing.assert_allclose(f.state(values, initial_state=starts[0]), shared, atol=1e-13)
    np.testing.assert_allclose(f.probabilities(values, initial_state=starts), np.abs(states)**2, atol=1e-13)
    step = 1e-5 * np.eye(3)
    jacobian = f.jacobian(values, initial_state=starts)
    for k in range(5):
        up, down = (f.expectation(values[k] + sign * step, initial_state=starts[k]) for sign in (1, -1))
        np.testing.assert_allclose(jacobian[k], (up - down).T / 2e-5, atol=1e-8)
    np.testing.assert_allclose(f.gradient(values, initial_state=starts), jacobian.sum(axis=1), atol=1e-12)
    g = rng.normal(size=(5, 16)) + 1j * rng.normal(size=(5, 16))
    up, down = (f.state(values[2] + sign * step, initial_state=starts[2]) for sign in (1, -1))
    np.testing.assert_allclose(f.state_vjp(values, g, initial_state=starts)[2], np.real((up - down) @ g[2].conj()) / 2e-5, atol=1e-8)
    # one set of values for all states
    row, many = values[1], np.repeat(values[1:2], len(starts), axis=0)
    for call in (f.expectation, f.jacobian, f.gradient, f.state, f.metric_tensor, f.probabilities,
                 lambda at, **start: f.probabilities(at, [2, 0], **start), lambda at, **start: f.sample(at, 7, 3, **start),
                 lambda at, **start: f.value_and_grad(at, **start)[0], lambda at, **start: f.state_vjp(at, g, **start),
                 lambda at, **start: f.probabilities_vjp(at, [1], np.ones((len(starts), 2)) * [1, 3], **start)):
        found = call(row, initial_state=starts)
        assert len(found) == len(starts)
        np.testing.assert_array_equal(found, call(many, initial_state=starts))
    assert f.expectation(row, initial_state=starts[:1]).shape[0] == 1
    zero_one = f.sample(np.zeros((2, 3)), 5, 1, initial_state=np.eye(16)[5])
    assert zero_one.shape == (2, 5, 4)
    with pytest.raises(ValueError, match="has the norm 4"):
        f.state(values[0], initial_state=2 * np.eye(16)[0])
    with pytest.raises(ValueError, match=r"shape \(8,\)"):
        f.state(values[0], initial_state=np.ones(8))


SHARED = """
import sys, numpy as np, tilewave as tw
a, b = tw.parameters("t", 2)
circuit = tw.Circuit(3).ry(a, 0).cx(0, 1).rxx(b, 1, 2).rz(a - b, 2)
f, alone = (circuit.compile(["ZZI", "XIX"], ranks=ranks) for ranks in (True, False))
values = np.random.default_rng(1).normal(size=(5, 2))
for call in (lambda f: f.expectation(values), lambda f: f.jacobian(values), lambda f: f.value_and_grad(values, [1, 2])[1],
             lambda f: f.metric_tensor(values), lambda f: f.state(values), lambda f: f.sample(values, 20, 3),
             lambda f: f.expectation(values[0])):
    np.testing.assert_array_equal(call(f), call(alone))
assert "shared by 3 processes over TCP" in f.explain()
"""
SHARED_STATE = """
import numpy as np, tilewave as tw
theta = tw.parameters("t", 6)
circuit = tw.Circuit(8)
for k in range(24):
    circuit.ry(theta[k % 6], k % 8).cx(k % 8, (k + 3) % 8).rzz(theta[k % 5] / 2, k % 8, (k + 1) % 8)
f, alone = (circuit.compile(["ZZIIIIII", "XIXIIIXY", {"YIIIIIII": 0.5, "IIIXIIII": 1}], ranks=ranks) for ranks in ("state", False))
values = np.random.default_rng(1).normal(size=(3, 6))
for call in (lambda f: f.expectation(values), lambda f: f.jacobian(values), lambda f: f.value_and_grad(values, [1, 2, 3])[1]):
    np.testing.assert_allclose(call(f), call(alone), atol=1e-12)
assert "a state shared by 4 processes over TCP" in f.explain()
for call in (f.state, f.metric_tensor, lambda values: f.sample(values, 3), f.probabilities):
    try:
        call(values[0])
        raise AssertionError
    except ValueError as error:
        assert "needs a whole state" in str(error)
"""


def on_processes(code, count, last=""):
    """The outcomes of a program on several processes; `last` is added to that of the last one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = [subprocess.Popen([sys.executable, "-c", code + (last if k == count - 1 else "")], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, "TILEWAVE_PROCESSES": str(count), "TILEWAVE_PROCESS": str(k),
                                     "TILEWAVE_ROOT": f"127.0.0.1:{port}", "OMP_NUM_THREADS": "1"}) for k in range(count)]
    texts = [process.communicate(timeout=100)[0] for process in started]
    return [process.returncode for process in started], texts


def test_processes_share_a_state():
    codes, texts = on_processes(SHARED_STATE, 4)
    assert codes == [0] * 4, texts
    codes, texts = on_processes(SHARED_STATE, 3)
    assert codes == [1] * 3 and all("3 processes cannot share a state of 8 qubits: use a power of two" in text for text in texts), texts
    with pytest.raises(ValueError, match="ranks is 'all': use 'sets'"):
        tw.Circuit(2).compile(ranks="all")


def test_processes_share_sets_of_values():
    codes, texts = on_processes(SHARED, 3)
    assert codes == [0, 0, 0], texts
    codes, texts = on_processes(SHARED, 3, "raise SystemExit('enough')\n")
    assert codes == [0, 0, 1] and texts[2].strip() == "enough", texts
    # one that fails ends the others' next call
    codes, texts = on_processes(SHARED + "f.gradient(values)\n", 3, "assert False, 'on purpose'\n")
    assert codes[2] == 1 and "on purpose" in texts[2], texts
    more = "import os\nf.gradient(values + (os.environ['TILEWAVE_PROCESS'] == '1'))\n"
    codes, texts = on_processes(SHARED + more, 3)
    assert codes == [1, 1, 1] and all("rank 1 was given another circuit, call or values" in text for text in texts), texts
    codes, texts = on_processes(SHARED, 3, "f.gradient(values)\n")  # a call that the others do not make
    assert codes[2] == 1 and "ConnectionError" in texts[2], texts
