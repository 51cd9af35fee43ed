"""The PennyLane device without shots, against matrices of PennyLane's operations and against default.qubit."""
import re
import subprocess
import sys
from importlib.metadata import entry_points

import numpy as np
import pytest

qml = pytest.importorskip("pennylane", minversion="0.45", reason="PennyLane 0.45 or newer is not installed")

from pennylane import numpy as pnp  # noqa: E402

import tilewave as tw  # noqa: E402
from cores import refuse_single_runs  # noqa: E402
from pennylane_circuits import LABELS, MATRIX, NAMES, ansatz, make  # noqa: E402
from tilewave import programs  # noqa: E402
from tilewave.pennylane import TilewaveQubit, observables  # noqa: E402
from tilewave.pennylane import run as run_module  # noqa: E402
from tilewave.programs import Function  # noqa: E402


def acted_on(dev, op):
    """The operation on a state without symmetry."""
    @qml.qnode(dev)
    def circuit():
        for k, label in enumerate(LABELS):
            qml.RY(0.3 + 0.2 * k, label)
            qml.RZ(0.7 - 0.3 * k, label)
        qml.apply(op)
        return qml.state()
    return circuit()


@pytest.mark.parametrize("name", NAMES)
def test_every_gate_is_its_matrix_with_controls_and_inverse(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    dev = TilewaveQubit(LABELS)
    before = acted_on(dev, qml.Identity("a"))
    for trial in range(4):
        op = make(name, rng)
        variants = [op, qml.adjoint(op)]
        free = [label for label in LABELS if label not in op.wires]
        for count in range(1, min(2, len(free)) + 1):
            variants.append(qml.ctrl(op, free[:count], control_values=[int(b) for b in rng.integers(0, 2, count)]))
        for variant in variants:
            expected = qml.matrix(variant, wire_order=LABELS) @ before
            assert np.allclose(acted_on(dev, variant), expected, atol=1e-12), variant


def test_other_operations_are_decomposed_or_taken_as_matrices():
    rng = np.random.default_rng(5)
    dev = TilewaveQubit(LABELS)
    before = acted_on(dev, qml.Identity("a"))
    unitary = np.linalg.qr(rng.normal(size=(8, 8)) + 1j * rng.normal(size=(8, 8)))[0]
    for op in (qml.QubitUnitary(unitary, ["b", "a", 7]), qml.ECR(["b", 7]), qml.PSWAP(0.4, ["a", -3]),
               qml.OrbitalRotation(0.7, LABELS[:4]),
               qml.FermionicSWAP(0.9, [7, "a"]), qml.QFT(LABELS), qml.GroverOperator(LABELS), qml.PCPhase(0.4, 5, LABELS[:4]),
               qml.DiagonalQubitUnitary(np.exp(1j * rng.uniform(0, 6, 16)), LABELS[1:]), qml.pow(qml.RX(0.3, "a"), 2.5),
               qml.pow(qml.S(7), 0.5), qml.ctrl(qml.QubitUnitary(unitary, LABELS[:3]), "b", control_values=[0]),
               qml.QubitSum(LABELS[:3]), qml.exp(qml.X("a") @ qml.Y(7) + qml.Z("b"), 0.3j),
               qml.evolve(qml.X("a") @ qml.Y(7) + qml.Z("b") @ qml.X(-3), 0.4)):
        assert np.allclose(acted_on(dev, op), qml.matrix(op, wire_order=LABELS) @ before, atol=1e-12), op


def test_batches_of_multi_rz_are_taken_apart():
    x = np.array([0.3, 0.7, 1.9])
    matrices = np.stack([qml.matrix(qml.RX(t, 0)) for t in x])

    def beside_matrices(x):
        qml.QubitUnitary(matrices, 0)
        qml.Hadamard(1)
        qml.MultiRZ(x, wires=[0, 1])
        qml.adjoint(qml.MultiRZ(2 * x, wires=[1, 0]))
        return qml.expval(qml.X(1)), qml.probs(wires=[0, 1])

    def measures(x):
        qml.Hadamard(0)
        qml.MultiRZ(x, wires=[0, 1])
        qml.Hadamard(0)
        qml.measure(0)
        return qml.expval(qml.Z(0))

    for circuit in (beside_matrices, measures):
        expected, found = (qml.QNode(circuit, qml.device(name, wires=3))(x) for name in ("default.qubit", "tilewave.qubit"))
        for a, b in zip(*((e,) if not isinstance(e, (tuple, list)) else e for e in (expected, found))):
            np.testing.assert_allclose(b, a, atol=1e-12)
    shots = qml.set_shots(qml.QNode(measures, qml.device("tilewave.qubit", wires=3, seed=3)), 4000)(x)
    np.testing.assert_allclose(shots, np.cos(x), atol=0.08)


def test_observables_that_are_not_hermitian_are_refused():
    def circuit(measured):
        qml.RX(0.3, 0)
        return measured()

    for measured in (lambda: qml.expval(1j * qml.Z(0)), lambda: qml.var(1j * qml.Z(0)), lambda: qml.expval(qml.S(0)),
                     lambda: qml.var(qml.T(0)), lambda: qml.expval(qml.Z(0) + 0.5j * qml.X(0)),
                     lambda: qml.expval(qml.Hamiltonian([1j, 1], [qml.Z(0), qml.X(0)]))):
        for shots in (None, 100):
            with pytest.raises(ValueError, match="not Hermitian: the coefficient of"):
                qml.set_shots(qml.QNode(circuit, qml.device("tilewave.qubit", wires=1)), shots)(measured)


def test_batches_of_operations_that_hold_others():
    x = np.array([0.3, -1.1])
    for op in (qml.prod(qml.S("a"), qml.RX(x, 7)), qml.s_prod(1j, qml.RX(x, 7)), qml.PCPhase(x, 3, ["a", 7]),
               qml.ctrl(qml.prod(qml.S("a"), qml.RX(x, 7)), "b"), qml.adjoint(qml.prod(qml.S("a"), qml.RX(x, 7), qml.Y("b"))),
               qml.adjoint(qml.ctrl(qml.RY(x, "a"), 7))):
        dev = TilewaveQubit(LABELS)
        before = acted_on(dev, qml.Identity("a"))
        assert np.allclose(acted_on(dev, op), qml.matrix(op, wire_order=LABELS) @ before, atol=1e-12), op


SPARSE = qml.X("a").sparse_matrix(LABELS) * 0.5 + qml.Y(7).sparse_matrix(LABELS)
ANALYTIC = [
    lambda: qml.state(), lambda: qml.probs(), lambda: qml.probs([2.5, "a", 7]),
    lambda: qml.probs(op=qml.X("a") @ qml.Y("b")),
    lambda: qml.expval(qml.Z("a")),
    lambda: qml.expval(0.4 * qml.X(7) @ qml.Y("b") - 2 * qml.Z("a") @ qml.Z(2.5) + 0.3 * qml.I("a")),
    lambda: qml.expval(qml.Hamiltonian([0.2, -0.7], [qml.X("a"), qml.Hadamard(7)])),
    lambda: qml.expval(qml.Hadamard("b")),
    lambda: qml.var(qml.Y(7) @ qml.X("a") + 0.5 * qml.Z(-3)), lambda: qml.var(qml.Hadamard("b")),
    lambda: qml.expval(qml.I("a")),
    lambda: qml.expval(qml.Hermitian(MATRIX, ["b", "a"])), lambda: qml.var(qml.Hermitian(MATRIX, [7, 2.5])),
    lambda: qml.expval(qml.Projector([1, 0], [7, "b"])),
    lambda: qml.expval(qml.Projector(np.array([0.6, 0.8j]), ["a"])),
    lambda: qml.expval(qml.Hermitian(MATRIX, ["b", "a"]) @ qml.X(7)), lambda: qml.density_matrix(["b", 7]),
    lambda: qml.purity(["a"]),
    lambda: qml.vn_entropy(["a", 7]), lambda: qml.mutual_info(["a"], [7]),
    lambda: qml.expval(qml.SparseHamiltonian(SPARSE, LABELS)),
]


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("labels", [LABELS, None])
def test_every_analytic_measurement(batch, labels):
    rng = np.random.default_rng(3)
    x, y = (0.3, 0.8) if batch is None else (rng.uniform(-3, 3, batch), 0.8)
    for measurement in ANALYTIC:
        def circuit(x, y):
            ansatz(x, y)
            return measurement()
        try:
            expected = qml.QNode(circuit, qml.device("default.qubit", wires=labels))(x, y)
        except Exception:  # entropies of batches, sparse matrices of circuits without wires
            assert batch is not None or labels is None
            continue
        found = qml.QNode(circuit, TilewaveQubit(labels))(x, y)
        assert np.shape(found) == ((1,) if batch == 1 and np.shape(expected) == () else np.shape(expected)), measurement()
        assert np.allclose(found, expected, atol=1e-11), measurement()


def test_several_measurements_of_one_state():
    def circuit():
        ansatz(0.4, -1.1)
        return [measurement() for measurement in ANALYTIC]
    found = qml.QNode(circuit, TilewaveQubit(LABELS))()
    expected = qml.QNode(circuit, qml.device("default.qubit", wires=LABELS))()
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert np.allclose(a, b, atol=1e-11)


def test_states_are_prepared_and_batched():
    rng = np.random.default_rng(8)
    vectors = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    unitaries = np.array([np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0] for _ in range(3)])
    for vector, unitary in ((vectors[0], unitaries[0]), (vectors, unitaries[0]), (vectors[1], unitaries), (vectors, unitaries)):
        def circuit(x):
            qml.StatePrep(vector, ["b", 7])
            qml.RX(x, "a")
            qml.QubitUnitary(unitary, ["a", "b"])
            return qml.state(), qml.expval(qml.Y("a") @ qml.Z(7))
        for x in (0.3, np.array([0.1, 0.2, 0.3])):
            found = qml.QNode(circuit, TilewaveQubit(LABELS))(x)
            expected = qml.QNode(circuit, qml.device("default.qubit", wires=LABELS))(x)
            for a, b in zip(found, expected):
                assert np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-12)


def test_batches_of_states_and_angles_run_side_by_side(monkeypatch):
    rng = np.random.default_rng(9)
    vectors = rng.normal(size=(20, 6)) + 1j * rng.normal(size=(20, 6))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    padded = np.hstack([vectors, np.zeros((20, 2))])
    x, w = rng.uniform(-2, 2, 20), rng.uniform(-2, 2, (2, 3))

    def body(vectors, x, w):
        if vectors is not None:
            qml.AmplitudeEmbedding(vectors, ["b", 7, 2.5], pad_with=0)
        for k, wire in enumerate(["a", "b", 7]):
            qml.RX(x, wire)
            qml.Rot(w[0, k], w[1, k], 0.3, wire)
        qml.CNOT(["a", "b"])
        qml.IsingXY(x, [7, 2.5])

    def exact(vectors, x, w):
        body(vectors, x, w)
        return (qml.expval(qml.Z("a") @ qml.X("b") + 0.5 * qml.Y(7)), qml.var(qml.X("b")), qml.probs([7, "a"]), qml.probs(),
                qml.state())

    def shots(vectors, x, w):
        body(vectors, x, w)
        return qml.sample(wires=[2.5, "a"]), qml.expval(qml.X("b")), qml.expval(qml.Z(7)), qml.probs(op=qml.Hadamard("a"))

    def loss(node, vectors):
        return lambda x, w: qml.math.sum(qml.math.sin(node(vectors, x, w)))

    def energy(vectors, x, w):
        body(vectors, x, w)
        return qml.expval(qml.Z("a") @ qml.X("b") + 0.5 * qml.Y(7))

    def born(vectors, x, w):
        body(vectors, x, w)
        return qml.probs([7, "a"])
    theirs = qml.device("default.qubit", wires=LABELS)
    cases = [(None, x, w), (vectors, 0.7, w), (vectors, x, w)]
    expected = [qml.QNode(exact, theirs)(*case) for case in cases]
    slopes = [[qml.grad(loss(qml.QNode(of, theirs, diff_method="backprop"), case[0]))(
        pnp.array(case[1], requires_grad=True), pnp.array(w, requires_grad=True)) for case in cases] for of in (energy, born)]
    refuse_single_runs(monkeypatch, run_module)
    for case, wanted in zip(cases, expected):
        dev = TilewaveQubit(LABELS)
        with qml.Tracker(dev) as tracker:
            found = qml.QNode(exact, dev)(*case)
        assert tracker.totals["simulations"] == 1
        for a, b in zip(found, wanted):
            assert np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-12)
        samples, mean, other, chances = qml.QNode(shots, TilewaveQubit(LABELS, seed=4), shots=5000)(*case)
        again = qml.QNode(shots, TilewaveQubit(LABELS, seed=4), shots=5000)(*case)
        assert np.array_equal(samples, again[0]) and np.array_equal(mean, again[1])
        assert np.shape(samples) == (20, 5000, 2) and not np.array_equal(samples[0], samples[1])
        marginal = wanted[3].reshape((20,) + (2,) * len(LABELS))
        axes = {wire: k + 1 for k, wire in enumerate(LABELS)}
        for wire, column in ((2.5, 0), ("a", 1)):
            ones = marginal.take(1, axis=axes[wire]).reshape(20, -1).sum(axis=1)
            assert np.all(abs(samples[..., column].mean(axis=1) - ones) < 6 * 0.5 / np.sqrt(5000))
        assert np.all(abs(other - (1 - 2 * marginal.take(1, axis=axes[7]).reshape(20, -1).sum(axis=1))) < 6 / np.sqrt(5000))
        assert np.all(abs(mean**2 - (1 - wanted[1])) < 12 / np.sqrt(5000)) and np.shape(chances) == (20, 2)
    for of, wanted in zip((energy, born), slopes):
        for case, slope in zip(cases, wanted):
            node = qml.QNode(of, TilewaveQubit(LABELS), diff_method="adjoint")
            found = qml.grad(loss(node, case[0]))(pnp.array(case[1], requires_grad=True), pnp.array(w, requires_grad=True))
            for a, b in zip(found, slope):
                assert np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-10)
    with pytest.raises(ValueError, match="norm"):
        qml.QNode(energy, TilewaveQubit(LABELS))(np.ones((2, 6)) * np.array([[1], [np.nan]]), 0.7, w)


def test_a_batch_is_one_execution_and_one_translation():
    dev = TilewaveQubit(3)

    @qml.qnode(dev)
    def circuit(x, w):
        for k in range(3):
            qml.RX(x, k)
            qml.Rot(*w[k], k)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(0) @ qml.X(1)), qml.probs([2])
    x, w = np.linspace(-1, 1, 20), np.random.default_rng(1).uniform(-2, 2, (3, 3))
    with qml.Tracker(dev) as tracker:
        values, probs = circuit(x, w)
    assert tracker.totals["simulations"] == 1 and values.shape == (20,) and probs.shape == (20, 2)
    for k in range(20):
        value, p = circuit(x[k], w)
        assert np.isclose(values[k], value, atol=1e-13) and np.allclose(probs[k], p, atol=1e-13)
    assert len(dev._programs) == 1


def test_observables_made_anew_are_found_again_and_few_are_kept(monkeypatch):
    made = []
    monkeypatch.setattr(programs, "Function", lambda *given: made.append(1) or Function(*given))
    monkeypatch.setattr(observables, "_MOST_KEPT_TERMS", 200)
    dev = TilewaveQubit(13)
    pairs = [(a, b) for a in range(13) for b in range(a)]

    @qml.qnode(dev)
    def circuit(x, shift):
        for k in range(13):
            qml.RX(x + k, k)
        return qml.expval(qml.dot([shift + a - b for a, b in pairs], [qml.Z(a) @ qml.Z(b) for a, b in pairs]))
    for shift, count in ((1.0, 1), (1.0, 1), (2.0, 2), (1.0, 2)):
        expected = sum((shift + a - b) * np.cos(0.3 + a) * np.cos(0.3 + b) for a, b in pairs)
        assert np.isclose(circuit(0.3, shift), expected, atol=1e-11) and len(made) == count
    assert len(dev._known._kept) == 2  # of 78 terms each


def test_single_precision_and_options():
    dev = TilewaveQubit(2, precision="single", threads=1, device="cpu", effort="once")

    @qml.qnode(dev)
    def circuit():
        qml.RX(0.3, 0)
        qml.CNOT([0, 1])
        return qml.state()
    assert circuit().dtype == np.complex64 and np.isclose(abs(circuit()[0]), np.cos(0.15), atol=1e-6)
    with pytest.raises(ValueError, match="precision"):
        TilewaveQubit(2, precision="half")
        qml.QNode(circuit.func, TilewaveQubit(2, precision="half"))()
    with pytest.raises(qml.exceptions.DeviceError, match="no device option 'speed'"):
        dev.setup_execution_config(qml.devices.ExecutionConfig(device_options={"speed": 1}))
    with pytest.raises(qml.exceptions.WireError):
        qml.QNode(lambda: (qml.X("z"), qml.expval(qml.Z("z")))[1], TilewaveQubit(2))()


@pytest.mark.parametrize("shots", ["None", "100000"])
def test_pennylanes_tests_of_devices(shots, tmp_path):
    """Through the entry point. lightning.qubit 0.45 passes 380 of them without shots, and fails none."""
    pytest.importorskip("pytest_mock")
    pytest.importorskip("flaky")
    if not any(e.name == "tilewave.qubit" for e in entry_points(group="pennylane.plugins")):
        pytest.skip("the package lies on the path only: pip installs its entry points")
    from pennylane.devices.tests import get_device_tests
    words = [sys.executable, "-m", "pytest", get_device_tests(), "--device=tilewave.qubit", f"--shots={shots}", "-q", "-p",
             "no:cacheprovider", "-W", "ignore", "--tb=short"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0 and passed, done.stdout[-5000:] + done.stderr[-2000:]
    assert int(passed.group(1)) >= (380 if shots == "None" else 365), done.stdout[-300:]


def test_errors_name_what_is_wrong():
    with pytest.raises(qml.exceptions.DeviceError, match="not supported"):
        qml.QNode(lambda: (qml.Displacement(0.1, 0.2, wires=0), qml.expval(qml.Z(0)))[1], TilewaveQubit(1))()
    with pytest.raises(qml.exceptions.DeviceError, match="not accepted"):
        qml.set_shots(qml.QNode(lambda: qml.state(), TilewaveQubit(1)), 10)()
    with pytest.raises(ValueError, match="threads"):
        TilewaveQubit(1, threads=-1)
    nothing = qml.QNode(lambda: (qml.GlobalPhase(0.3), qml.state(), qml.probs())[1:], TilewaveQubit(0))
    assert np.allclose(nothing()[0], [np.exp(-0.3j)]) and np.allclose(nothing()[1], [1])
    with pytest.raises(qml.exceptions.DeviceError, match="has no wires, so there is nothing to sample"):
        qml.set_shots(qml.QNode(lambda: (qml.GlobalPhase(0.3), qml.counts())[1], TilewaveQubit(0)), 5)()
    with pytest.raises(ValueError, match="at most 100000000 shots in one run"):
        qml.set_shots(qml.QNode(lambda: qml.expval(qml.Z(0)), TilewaveQubit(1)), 10**12)()
    assert tw.__version__
