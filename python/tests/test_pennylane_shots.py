"""Shots, measurements in the middle and postselection on the PennyLane device, against default.qubit."""
import itertools

import numpy as np
import pytest

qml = pytest.importorskip("pennylane", minversion="0.45", reason="PennyLane 0.45 or newer is not installed")

from pennylane_circuits import LABELS, MATRIX, ansatz  # noqa: E402
from tilewave.pennylane import TilewaveQubit  # noqa: E402


# --- shots

def test_shots_have_the_shapes_and_means_of_default_qubit():
    measurements = [
        lambda: qml.expval(qml.Z("a")),
        lambda: qml.expval(0.4 * qml.X(7) @ qml.Y("b") - 2 * qml.Z("a") @ qml.Z(2.5) + 0.3 * qml.I("a")),
        lambda: qml.var(qml.Y(7) @ qml.X("a")), lambda: qml.probs(["a", 7]), lambda: qml.probs(op=qml.Hadamard("b")),
        lambda: qml.expval(qml.Hermitian(MATRIX, ["b", "a"])),
        lambda: qml.expval(qml.Hamiltonian([0.2, -0.7], [qml.X("a"), qml.Hadamard(7)])),
        lambda: qml.expval(qml.Projector([1, 0], [7, "b"])), lambda: qml.expval(qml.I("a")),
        lambda: qml.expval(qml.X(-3)),
        lambda: qml.expval(0.5 * (qml.Hadamard(7) + qml.Y(7)))]

    def circuit(x):
        ansatz(x, 0.8)
        return [measurement() for measurement in measurements]
    exact = qml.QNode(circuit, qml.device("default.qubit", wires=LABELS))
    dev = TilewaveQubit(LABELS, seed=11)
    for x in (0.3, np.array([0.3, 1.2])):
        expected = exact(x)
        for shots in (40000, (40000, 20000, 20000)):
            found = qml.set_shots(qml.QNode(circuit, dev), shots)(x)
            reference = qml.set_shots(exact, shots)(x)
            entries = [found] if isinstance(shots, int) else found
            assert isinstance(shots, int) or len(found) == len(reference) == 3
            for entry, like in zip(entries, [reference] if isinstance(shots, int) else reference):
                assert len(entry) == len(expected)
                for a, b, c in zip(entry, expected, like):
                    assert np.shape(a) == np.shape(c) and np.allclose(a, b, atol=0.12)


def test_samples_and_counts():
    dev = TilewaveQubit(LABELS, seed=2)

    def circuit():
        qml.Hadamard("a")
        qml.CNOT(["a", 7])
        return (qml.sample(wires=["a", 7, "b"]), qml.counts(wires=["a", 7]), qml.counts(qml.Z("a")),
                qml.sample(qml.X("a") @ qml.X(7)),
                qml.counts(wires=["a", "b"], all_outcomes=True), qml.sample())
    samples, counts, values, parities, everything, whole = qml.set_shots(qml.QNode(circuit, dev), 1000)()
    assert samples.shape == (1000, 3) and set(map(tuple, samples.tolist())) == {(0, 0, 0), (1, 1, 0)}
    assert set(counts) == {"00", "11"} and sum(counts.values()) == 1000 and abs(counts["00"] - 500) < 100
    assert set(values) == {1.0, -1.0} and counts["00"] == values[1.0] == samples[:, 0].tolist().count(0)  # the same shots
    assert np.all(parities == 1) and set(everything) == {"00", "01", "10", "11"} and everything["01"] == 0
    assert whole.shape == (1000, 5)


def test_seeds_give_the_same_shots():
    def circuit():
        qml.RX(1.0, 0)
        qml.RY(0.3, 1)
        return qml.sample(wires=[0, 1])

    def draw(seed):
        node = qml.set_shots(qml.QNode(circuit, TilewaveQubit(2, seed=seed)), 50)
        return node(), node()
    first, again, other = draw(5), draw(5), draw(6)
    assert np.array_equal(first[0], again[0]) and np.array_equal(first[1], again[1])
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[0], other[0])
    np.random.seed(3)
    a = draw("global")
    np.random.seed(3)
    assert np.array_equal(a[0], draw("global")[0])


def test_classical_shadows():
    def circuit():
        qml.RY(0.6, "a")
        qml.CNOT(["a", 7])
        return qml.shadow_expval(qml.Z("a") @ qml.Z(7))
    assert abs(qml.set_shots(qml.QNode(circuit, TilewaveQubit(["a", 7], seed=1)), 20000)() - 1) < 0.15

    def bits():
        qml.Hadamard(0)
        return qml.classical_shadow([0, 1])
    outcomes, recipes = qml.set_shots(qml.QNode(bits, TilewaveQubit(2, seed=1)), 100)()
    assert outcomes.shape == recipes.shape == (100, 2)


# --- measurements in the middle

def test_classical_shadows_of_circuits_that_measure_in_the_middle():
    def circuit(postselect):
        qml.RX(1.0, 0)
        qml.CNOT([0, 1])
        qml.measure(0, postselect=postselect)
        return qml.shadow_expval(qml.Z(1))
    for postselect, expected in ((None, np.cos(1.0)), (0, 1.0), (1, -1.0)):
        node = qml.set_shots(qml.QNode(circuit, TilewaveQubit(3, seed=4)), 30000)
        assert abs(node(postselect) - expected) < 0.08
    with pytest.raises(qml.exceptions.DeviceError, match="mcm_method='deferred'"):
        qml.set_shots(qml.QNode(circuit, TilewaveQubit(3), mcm_method="device"), 10)(None)


def branching(x):
    qml.RX(x, 0)
    m0 = qml.measure(0, reset=True)
    qml.cond(m0, qml.RY, qml.RZ)(0.7, 1)
    qml.RX(0.9, 0)
    m1 = qml.measure(0)
    qml.cond(m0 ^ m1, qml.Hadamard)(1)
    qml.cond((m0 + 2 * m1) >= 2, qml.RX)(x, 2)
    return m0, m1


def test_measurements_in_the_middle_agree_with_deferred_ones():
    def circuit(x):
        m0, m1 = branching(x)
        return (qml.expval(qml.Z(1)), qml.probs([1, 2]), qml.expval(m0), qml.probs(op=[m0, m1]), qml.var(qml.X(2)),
                qml.expval(m0 * 3 + m1), qml.expval(qml.Z(1) @ qml.Y(2) + 0.5 * qml.X(1)))
    expected = qml.QNode(circuit, qml.device("default.qubit"), mcm_method="deferred")(1.1)
    exact = qml.QNode(circuit, TilewaveQubit())(1.1)
    for a, b in zip(exact, expected):
        assert np.allclose(a, b, atol=1e-11)
    for method in (None, "device", "one-shot", "tree-traversal"):
        for found in (qml.set_shots(qml.QNode(circuit, TilewaveQubit(seed=4), mcm_method=method), 40000)(1.1),
                      *qml.set_shots(qml.QNode(circuit, TilewaveQubit(3, seed=4), mcm_method=method), (40000, 30000))(1.1)):
            for a, b in zip(found, expected):
                assert np.shape(a) == np.shape(b) and np.allclose(a, b, atol=0.03)


def test_a_batch_with_measurements_in_the_middle():
    def circuit(x):
        m0, _ = branching(x)
        return qml.expval(qml.Z(1)), qml.expval(m0)
    x = np.array([0.2, 1.3, 2.5])
    expected = qml.QNode(circuit, qml.device("default.qubit"))(x)
    found = qml.set_shots(qml.QNode(circuit, TilewaveQubit(seed=4)), 20000)(x)
    assert np.allclose(found, expected, atol=0.04) and np.shape(found) == np.shape(expected)


def test_conditions_that_always_or_never_hold():
    def circuit(x):
        qml.Hadamard(0)
        m0, m1 = qml.measure(0), qml.measure(1)
        qml.cond(m0 + m1 >= 0, qml.X)(2)
        qml.cond(m0 > 4, qml.RX)(x, 2)  # never, and its angle is counted
        qml.cond(m0 + 2 * m1 < 9, qml.RX)(2 * x, 3)
        return qml.probs(wires=[2, 3])
    for method in ("one-shot", "tree-traversal"):
        found = qml.set_shots(qml.QNode(circuit, TilewaveQubit(seed=4), mcm_method=method), 200)(np.pi / 2)
        assert np.allclose(found, [0, 0, 0, 1])


def test_samples_of_measurements_in_the_middle_belong_together():
    def circuit():
        qml.Hadamard(0)
        m0 = qml.measure(0)
        qml.cond(m0, qml.X)(1)
        return qml.sample(m0), qml.sample(wires=[0, 1]), qml.counts([m0, m0]), qml.counts(qml.Z(1))
    outcomes, samples, counts, values = qml.set_shots(qml.QNode(circuit, TilewaveQubit(seed=1)), 500)()
    assert np.array_equal(samples[:, 0], outcomes) and np.array_equal(samples[:, 1], outcomes)
    assert counts == {"00": 500 - outcomes.sum(), "11": outcomes.sum()} and values[-1.0] == outcomes.sum()


def test_postselection():
    def circuit():
        qml.RX(1.0, 0)
        qml.CNOT([0, 1])
        qml.RY(0.4, 0)
        qml.measure(0, postselect=1)
        return qml.sample(wires=1)

    def mean():
        qml.RX(1.0, 0)
        qml.CNOT([0, 1])
        qml.RY(0.4, 0)
        qml.measure(0, postselect=1)
        return qml.expval(qml.Z(1)), qml.probs([0, 1])
    exact = qml.QNode(mean, qml.device("default.qubit"))()
    for a, b in zip(qml.QNode(mean, TilewaveQubit())(), exact):
        assert np.allclose(a, b, atol=1e-12)
    p1 = np.sin(0.5) ** 2
    likely = p1 * np.cos(0.2) ** 2 + (1 - p1) * np.sin(0.2) ** 2
    for method in ("device", "deferred"):
        def drawn(mode):
            node = qml.QNode(circuit, TilewaveQubit(seed=1), mcm_method=method, postselect_mode=mode)
            return qml.set_shots(node, 20000)()
        kept, filled = drawn("hw-like"), drawn("fill-shots")
        assert abs(len(kept) / 20000 - likely) < 0.02
        assert len(filled) == 20000
        for samples in (kept, filled):
            assert abs(1 - 2 * np.mean(samples) - exact[0]) < 0.04

    def never():
        qml.measure(0, postselect=1)
        return qml.expval(qml.Z(0))
    for mode, method in itertools.product(("hw-like", "fill-shots"), ("device", "deferred")):
        assert np.isnan(qml.set_shots(qml.QNode(never, TilewaveQubit(2), mcm_method=method, postselect_mode=mode), 10)())


@pytest.mark.parametrize("method", ["device", "deferred"])
@pytest.mark.parametrize("mode", ["hw-like", "fill-shots"])
def test_members_of_a_batch_are_postselected_on_their_own(method, mode):
    def circuit(x):
        qml.RY(x, 0)
        qml.CNOT([0, 1])
        qml.RX(x, 2)
        qml.measure(0, postselect=1)
        return qml.expval(qml.Z(1)), qml.expval(qml.Z(2))
    x = np.array([0.0, np.pi, 1.0])
    node = qml.QNode(circuit, TilewaveQubit(4, seed=2), mcm_method=method, postselect_mode=mode)
    ones, means = qml.set_shots(node, 20000)(x)
    assert np.isnan(ones[0]) and np.isnan(means[0])  # it never comes out as asked
    assert np.all(ones[1:] == -1) and np.allclose(means[1:], np.cos(x[1:]), atol=0.06)


@pytest.mark.parametrize("gate", [qml.RY, qml.RZ, qml.PhaseShift, qml.IsingXY])
def test_measurements_in_the_middle_have_adjoint_derivatives(gate):
    # PennyLane's shifts of a gate under a control are wrong in float32
    def circuit(x):
        qml.RX(x[0], 0)
        qml.Hadamard(1)
        m = qml.measure(0, reset=True)
        qml.cond(m, gate)(x[1], [1, 2][:gate.num_wires])
        qml.CNOT([1, 2])
        qml.measure(1)
        return qml.expval(qml.Z(0) + qml.Y(2)), qml.expval(qml.Z(1)), qml.expval(qml.X(2))
    x = qml.numpy.array([1.3, 0.4])
    expected = qml.jacobian(lambda x: qml.math.stack(qml.QNode(circuit, qml.device("default.qubit"))(x)))(x)
    ours = TilewaveQubit(6)
    with qml.Tracker(ours) as tracker:
        found = qml.jacobian(lambda x: qml.math.stack(qml.QNode(circuit, ours)(x)))(x)
    assert np.allclose(found, expected, atol=1e-10) and tracker.totals["executions"] <= 2
    torch = pytest.importorskip("torch")
    values = torch.tensor([1.3, 0.4], requires_grad=True)
    torch.stack(qml.QNode(circuit, TilewaveQubit(6))(values)).sum().backward()
    assert np.allclose(values.grad.numpy(), np.sum(expected, 0), atol=1e-5)


@pytest.mark.parametrize("transform", ["jvp", "jacfwd", "hessian"])
def test_forward_and_second_derivatives_in_jax(transform):
    jax = pytest.importorskip("jax")

    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))
    node = qml.QNode(circuit, TilewaveQubit(1), interface="jax", max_diff=2)
    x = jax.numpy.array(0.3)
    found = {"jvp": lambda: jax.jvp(node, (x,), (jax.numpy.ones(()),))[1], "jacfwd": lambda: jax.jacfwd(node)(x),
             "hessian": lambda: jax.hessian(node)(x)}[transform]()
    assert np.isclose(found, -np.cos(0.3) if transform == "hessian" else -np.sin(0.3), atol=1e-5)


def test_a_prepared_state_is_measured_in_the_middle():
    def circuit():
        qml.StatePrep(np.array([0.6, 0.0, 0.0, 0.8]), [0, 1])
        m = qml.measure(0)
        qml.cond(m, qml.X)(2)
        return qml.counts(wires=[0, 1, 2])
    counts = qml.set_shots(qml.QNode(circuit, TilewaveQubit(seed=1)), 5000)()
    assert set(counts) == {"000", "111"} and abs(counts["000"] / 5000 - 0.36) < 0.04


def test_shots_of_clifford_circuits_that_no_memory_holds():
    def ghz():
        qml.H(0)
        for k in range(69):
            qml.CNOT([k, k + 1])

    def plain():
        ghz()
        return qml.counts(wires=[0, 35, 69]), qml.expval(qml.Z(0) @ qml.Z(69)), qml.expval(qml.prod(*(qml.X(k) for k in range(70))))

    def steered():
        ghz()
        m = qml.measure(0)
        qml.cond(m, qml.X)(5)
        qml.cond(m, qml.H)(6)
        return qml.sample(wires=[0, 5, 6])
    counts, parity, product = qml.set_shots(qml.QNode(plain, TilewaveQubit(70, seed=1)), 400)()
    assert set(counts) == {"000", "111"} and abs(counts["000"] - 200) < 60 and parity == 1 and product == 1
    first, fifth, sixth = qml.set_shots(qml.QNode(steered, TilewaveQubit(70, seed=1)), 400)().T
    assert not fifth.any() and abs(first.sum() - 200) < 60 and abs(sixth.sum() - 100) < 50 and not (sixth & ~first).any()
    # expectation values and variances are exact
    strings = qml.Z(0) @ qml.Z(69), qml.X(3), qml.prod(*(qml.X(k) for k in range(70)))
    exact = qml.QNode(lambda: [ghz(), (qml.expval(2 * strings[0] - strings[1] + 0.5 * strings[2]), qml.var(strings[0] + strings[1]),
                                       qml.expval(strings[2]))][1], TilewaveQubit(70))()
    assert exact == (2.5, 1, 1)
    with pytest.raises(MemoryError, match="cannot place 70 qubits.*the gate is not Clifford"):
        qml.QNode(lambda: [ghz(), qml.T(3), qml.expval(qml.Z(0))][2], TilewaveQubit(70))()
    with pytest.raises(MemoryError, match="cannot place 70 qubits"):
        qml.QNode(lambda: [ghz(), qml.purity(0)][1], TilewaveQubit(70))()
