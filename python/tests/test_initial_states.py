"""Runs that begin in a given state, against matrices and against circuits that prepare the state."""
import numpy as np
import pytest

import tilewave as tw


def random_state(n, rng):
    v = rng.normal(size=2**n) + 1j * rng.normal(size=2**n)
    return v / np.linalg.norm(v)


def some_gates(n, rng):
    circuit = tw.Circuit(n)
    for _ in range(4 * n):
        a, b = map(int, rng.permutation(n)[:2])
        circuit.u(*rng.uniform(-3, 3, 3), a).cp(float(rng.uniform(-3, 3)), a, b).cx(b, a)
    return circuit


def matrix_of(circuit):
    """Column by column, from basis states that gates prepare."""
    n = circuit.num_qubits
    columns = []
    for k in range(2**n):
        start = tw.Circuit(n)
        for q in range(n):
            if k >> q & 1:
                start.x(q)
        columns.append(tw.simulate(start + circuit))
    return np.array(columns).T


def test_states_are_carried_through_circuits():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        circuit, start = some_gates(n, rng), random_state(n, rng)
        expected = matrix_of(circuit) @ start
        assert np.allclose(tw.simulate(circuit, initial_state=start), expected, atol=1e-12)
        assert np.allclose(tw.State(circuit, initial_state=start).probabilities(), abs(expected) ** 2, atol=1e-12)
        single = tw.simulate(circuit, initial_state=start.astype(np.complex64), precision="single")
        assert np.allclose(single, expected, atol=1e-5)


def test_qubits_that_no_gate_touches_keep_their_state():
    start = random_state(4, np.random.default_rng(1))
    state = tw.State(tw.Circuit(4).x(2), initial_state=start)
    expected = start.reshape(2, 2, 2, 2)[:, ::-1].reshape(-1)
    assert np.allclose(state.amplitudes(range(16)), expected)
    result = tw.run(tw.Circuit(4), observables=["Z3", "X0 Y1"], initial_state=start)
    z3 = np.sum(abs(start) ** 2 * np.where(np.arange(16) >> 3 & 1, -1, 1))
    assert np.isclose(result.expectations[0], z3, atol=1e-13)
    counts = tw.sample(tw.Circuit(4), 40000, seed=2, initial_state=start)
    for k in range(16):
        assert abs(counts.get(f"{k:04b}", 0) / 40000 - abs(start[k]) ** 2) < 0.02


def test_measurements_and_resets_in_the_middle_see_the_state():
    rng = np.random.default_rng(4)
    start = random_state(3, rng)
    circuit = tw.Circuit(3, 4).measure(0, 0).reset(1).h(1).measure(1, 1).x(2).c_if(0, 1).measure(2, 2).measure(0, 3)
    counts = tw.sample(circuit, 60000, seed=3, initial_state=start)
    p = abs(start.reshape(2, 2, 2)) ** 2  # [q2, q1, q0]
    for q0 in range(2):
        for q1 in range(2):
            for q2 in range(2):
                expected = p[q2 ^ q0, :, q0].sum() / 2
                assert abs(counts.get(f"{q0}{q2}{q1}{q0}", 0) / 60000 - expected) < 0.01
    assert sum(counts.values()) == 60000
    again = tw.sample_bits(circuit, 500, seed=3, initial_state=start)
    assert np.array_equal(again, tw.sample_bits(circuit, 500, seed=3, threads=1, initial_state=start))


def test_noise_from_a_state():
    start = np.array([0, 0, 0, 1])
    noise = {"channels": [{"after": "x", "channel": "bit_flip", "p": 0.25}]}
    circuit = tw.Circuit(2).x(0)
    counts = tw.sample(circuit, 40000, seed=1, noise=noise, initial_state=start)
    assert set(counts) == {"10", "11"} and abs(counts["11"] / 40000 - 0.25) < 0.02
    exact = tw.run(circuit, noise=noise, engine="density", initial_state=start, observables=["Z0"])
    assert abs(exact.expectations[0] - 0.5) < 1e-12
    with pytest.raises(ValueError, match="density matrix"):
        tw.simulate(circuit, noise=noise, initial_state=start)


def test_a_state_takes_further_circuits_and_shots():
    rng = np.random.default_rng(9)
    a, b = some_gates(4, rng), some_gates(4, rng)
    state = tw.State(a)
    copy = state.__copy__()
    assert state.apply(b) is state
    assert np.allclose(state.amplitudes(range(16)), tw.simulate(a + b), atol=1e-12)
    assert np.allclose(copy.amplitudes(range(16)), tw.simulate(a), atol=1e-12)
    few = tw.State(tw.Circuit(5).h(1)).apply(tw.Circuit(5).cx(1, 4).barrier())  # qubit 4 was not there before
    assert np.allclose(few.amplitudes([0, 2, 18]), [np.sqrt(0.5), 0, np.sqrt(0.5)])
    bits = few.sample_bits(3000, seed=5)
    assert bits.shape == (3000, 5) and bits.dtype == np.bool_ and np.array_equal(bits[:, 1], bits[:, 4])
    assert abs(bits[:, 1].mean() - 0.5) < 0.05 and not bits[:, [0, 2, 3]].any()
    assert np.array_equal(bits, few.sample_bits(3000, seed=5)) and not np.array_equal(bits, few.sample_bits(3000, seed=6))
    assert few.sample_bits(0).shape == (0, 5)


@pytest.mark.parametrize("wrong, message", [
    (lambda: tw.simulate(tw.Circuit(2), initial_state=[1, 0]), "2 amplitudes.*2 qubits"),
    (lambda: tw.simulate(tw.Circuit(1), initial_state=[1, 1]), "norm 2, .*divide it by 1.41421$"),
    (lambda: tw.simulate(tw.Circuit(3), initial_state=np.zeros(0)), r"^the initial state has 0 amplitudes: a circuit of 3 qubits needs 2\^3$"),
    (lambda: tw.sample(tw.Circuit(2), 5, initial_state=np.ones(8)), r"^the initial state has 8 amplitudes: a circuit of 2 qubits needs 2\^2$"),
    (lambda: tw.State(tw.Circuit(1), initial_state=[]), "0 amplitudes.*1 qubit"),
    (lambda: tw.run(tw.Circuit(1), 5, initial_state=[0, 0]), "norm 0, .*give amplitudes of norm 1$"),
    (lambda: tw.sample(tw.Circuit(1), 5, initial_state=[np.nan, 0]), "norm nan"),
    (lambda: tw.State(tw.Circuit(2)).apply(tw.Circuit(3)), "the state has 2 qubits and the circuit 3"),
    (lambda: tw.State(tw.Circuit(1)).apply(tw.Circuit(1, 1).measure(0, 0)), "gates only"),
])
def test_errors(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
