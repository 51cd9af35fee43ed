"""The PennyLane device against matrices of PennyLane's operations and against default.qubit."""
import itertools
import re
import subprocess
import sys
from importlib.metadata import entry_points

import numpy as np
import pytest

qml = pytest.importorskip("pennylane", minversion="0.45", reason="PennyLane 0.45 or newer is not installed")

from pennylane import numpy as pnp  # noqa: E402

import tilewave as tw  # noqa: E402
from cores import functions_on_the_cpu, refuse_single_runs  # noqa: E402
from tilewave import programs  # noqa: E402
from tilewave.pennylane import TilewaveQubit, gates, observables  # noqa: E402
from tilewave.pennylane import run as run_module  # noqa: E402
from tilewave.programs import Function  # noqa: E402

LABELS = ["a", 7, -3, "b", 2.5]


def arguments(name, op_class, rng):
    """Some parameters for an operation."""
    special = [0.0, np.pi / 2, np.pi, -np.pi, 1e-9]
    count = {"MultiRZ": 1, "PauliRot": 1}.get(name, op_class.num_params if isinstance(op_class.num_params, int) else 0)
    return [float(rng.choice([*special, *rng.uniform(-7, 7, 10)])) for _ in range(count)]


def make(name, rng, labels=LABELS):
    op_class, wires = getattr(qml, name), list(rng.permutation(len(labels)))
    numbers = arguments(name, op_class, rng)
    if name == "PauliRot":
        return qml.PauliRot(numbers[0], "".join(rng.choice(list("IXYZ"), 3)), [labels[w] for w in wires[:3]])
    if name == "MultiControlledX":
        return qml.MultiControlledX([labels[w] for w in wires[:4]], control_values=[bool(b) for b in rng.integers(0, 2, 3)])
    if name == "BasisState":
        return qml.BasisState(rng.integers(0, 2, 3), [labels[w] for w in wires[:3]])
    width = op_class.num_wires if isinstance(op_class.num_wires, int) else 3
    return op_class(*numbers, wires=[labels[w] for w in wires[:width]])


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


NAMES = sorted(set(gates._HANDLERS) - {"Barrier", "WireCut", "SQISW", "BasisState"})


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


def ansatz(x, y):
    qml.BasisState([0, 1], ["a", "b"])
    qml.RX(x, "a")
    qml.CRot(y, 0.2, x, [7, "a"])
    qml.Hadamard(7)
    qml.IsingXY(y, ["b", 7])
    qml.SingleExcitation(x, [-3, 2.5])
    qml.CNOT(["b", -3])
    qml.RY(0.3, 2.5)
    qml.CNOT([-3, 2.5])


MATRIX = np.array([[1, 2j, 0, 1], [-2j, 0.5, 1, 0], [0, 1, -1, 3], [1, 0, 3, 2]])
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


# --- gradients

def test_gradients_through_the_device():
    def circuit(w):
        for k in range(3):
            qml.RX(w[k], k)
        qml.CNOT([0, 1])
        qml.CRY(w[3], [1, 2])
        qml.IsingXX(w[0] * w[1], [0, 2])
        return qml.expval(qml.Z(0) @ qml.Y(2) + 0.3 * qml.X(1))
    w = pnp.array([0.3, -0.7, 1.1, 0.4], requires_grad=True)
    expected = qml.grad(qml.QNode(circuit, qml.device("default.qubit"), diff_method="backprop"))(w)
    for method in ("best", "parameter-shift"):
        assert np.allclose(qml.grad(qml.QNode(circuit, TilewaveQubit(), diff_method=method))(w), expected, atol=1e-10)
    estimated = qml.grad(qml.set_shots(qml.QNode(circuit, TilewaveQubit(seed=1)), 100000))(w)
    assert np.allclose(estimated, expected, atol=0.03)


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


def trained(w, x=0.3):
    qml.BasisState([0, 1], ["a", "b"])
    for k, label in enumerate(LABELS):
        qml.RY(w[k], label)
        qml.RX(x * w[k], label)
    qml.CRot(w[5], 0.2, w[0], ["a", 7])
    qml.IsingXY(w[6], ["b", 7])
    qml.ctrl(qml.PauliRot, "a", control_values=[0])(w[7], "XYZ", [7, -3, 2.5])
    qml.QubitUnitary(np.linalg.qr(MATRIX + 1j * MATRIX.T)[0], ["a", "b"])
    qml.DoubleExcitation(w[8], LABELS[:4])
    qml.adjoint(qml.U3)(w[9], w[1], 0.4, 2.5)
    qml.QFT(["a", 7, 2.5])


HAMILTONIAN = 0.4 * qml.X(7) @ qml.Y("b") - 2 * qml.Z("a") @ qml.Z(2.5) + 0.3 * qml.I("a") + qml.Y(-3)
WEIGHTS = np.random.default_rng(0).uniform(-2, 2, 10)


def gradients(dev, method, function, *arguments):
    return qml.jacobian(qml.QNode(function, dev, diff_method=method))(*arguments)


def test_adjoint_derivatives_are_those_of_backpropagation():
    def energy(w):
        trained(w)
        return qml.expval(HAMILTONIAN)

    def several(w):
        trained(w)
        return qml.math.stack([qml.expval(HAMILTONIAN), qml.expval(qml.Z(7)), qml.expval(qml.X("a") @ qml.X(2.5))])
    w = pnp.array(WEIGHTS, requires_grad=True)
    reference = qml.device("default.qubit", wires=LABELS)
    for points in (w, pnp.array(0 * WEIGHTS, requires_grad=True), pnp.array(np.pi * np.round(WEIGHTS), requires_grad=True)):
        expected = gradients(reference, "backprop", energy, points)
        for method in ("best", "adjoint"):
            dev = TilewaveQubit(LABELS)
            with qml.Tracker(dev) as tracker:
                found = gradients(dev, method, energy, points)
            assert np.allclose(found, expected, atol=1e-11)
            assert tracker.totals["executions"] == 1 and tracker.totals["vjps"] == 1
        single = gradients(TilewaveQubit(LABELS, precision="single"), "adjoint", energy, points)
        assert np.allclose(single, expected, atol=1e-4)

    def rows(w):
        return qml.math.stack(qml.QNode(lambda w: [trained(w), *(qml.expval(o) for o in (HAMILTONIAN, qml.Z(7)))][1:],
                                        TilewaveQubit(LABELS), diff_method="adjoint")(w))

    def reference_rows(w):
        return qml.math.stack(qml.QNode(lambda w: [trained(w), *(qml.expval(o) for o in (HAMILTONIAN, qml.Z(7)))][1:],
                                        reference, diff_method="backprop")(w))
    assert np.allclose(qml.jacobian(rows)(w), qml.jacobian(reference_rows)(w), atol=1e-11)


def test_every_parametrised_gate_has_the_derivative_of_its_matrix():
    rng = np.random.default_rng(4)
    dev = TilewaveQubit(LABELS)
    for name in NAMES:
        op = make(name, rng)
        if not op.data:
            continue
        for inverse in (False, True):
            def circuit(numbers):
                for k, label in enumerate(LABELS):
                    qml.RY(0.3 + 0.2 * k, label)
                    qml.RZ(0.7 - 0.3 * k, label)
                parts = [op.wires] if name != "PauliRot" else [op.hyperparameters["pauli_word"], op.wires]
                bound = type(op)(*numbers, *parts)
                qml.adjoint(bound) if inverse else bound
                for label in LABELS:
                    qml.RX(0.4, label)
                return qml.expval(HAMILTONIAN)
            numbers = pnp.array([float(v) for v in op.data], requires_grad=True)
            found = gradients(dev, "adjoint", circuit, numbers)
            h, plain = 1e-5, qml.QNode(circuit, qml.device("default.qubit", wires=LABELS), diff_method=None)
            for k in range(len(numbers)):
                step = np.zeros(len(numbers))
                step[k] = h
                slope = (plain(np.array(numbers) + step) - plain(np.array(numbers) - step)) / (2 * h)
                assert np.isclose(found[k], slope, atol=1e-8), (op, inverse)


def test_derivatives_of_batches():
    def energy(w, x):
        trained(w, x)
        return qml.expval(HAMILTONIAN)
    w, x = pnp.array(WEIGHTS, requires_grad=True), pnp.array([0.3, -0.4, 1.2], requires_grad=True)
    dev = TilewaveQubit(LABELS)
    node = qml.QNode(energy, dev, diff_method="adjoint")

    def loss(w, x):
        return qml.math.sum(qml.math.array([1.0, -2.0, 0.5]) * node(w, x))
    with qml.Tracker(dev) as tracker:
        found_w, found_x = qml.grad(loss)(w, x)
    assert tracker.totals["executions"] == 3 and tracker.totals["simulations"] == 1 and tracker.totals["vjps"] == 1
    reference = qml.QNode(energy, qml.device("default.qubit", wires=LABELS), diff_method="backprop")
    expected_w, expected_x = np.zeros(10), []
    for k, weight in enumerate((1.0, -2.0, 0.5)):
        own_w, own_x = qml.grad(reference)(w, pnp.array(float(x[k]), requires_grad=True))
        expected_w = expected_w + weight * own_w
        expected_x.append(weight * own_x)
    assert np.allclose(found_w, expected_w, atol=1e-11) and np.allclose(found_x, expected_x, atol=1e-11)


@pytest.mark.parametrize("num_measurements", [1, 2])
@pytest.mark.parametrize("trainable", [[0], [0, 2]])
def test_the_device_interface_has_the_shapes_of_default_qubit(num_measurements, trainable):
    observables = [qml.Z(0) @ qml.X(1), qml.Y(1)][:num_measurements]
    operations = [qml.RX(0.3, 0), qml.RY(0.5, 1), qml.CRX(0.7, [0, 1])]
    tape = qml.tape.QuantumScript(operations, [qml.expval(o) for o in observables], trainable_params=trainable)
    ours, theirs = TilewaveQubit(2), qml.device("default.qubit", wires=2)
    config = qml.devices.ExecutionConfig(gradient_method="adjoint")

    def same(a, b):
        assert isinstance(a, tuple) == isinstance(b, tuple), (a, b)
        if isinstance(a, tuple):
            assert len(a) == len(b)
            for p, q in zip(a, b):
                same(p, q)
        else:
            assert np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-12)
    same(ours.compute_derivatives((tape,), config), theirs.compute_derivatives((tape,), config))
    twice = (tape, tape)
    same(ours.execute_and_compute_derivatives(twice, config), theirs.execute_and_compute_derivatives(twice, config))
    v = 0.4 if num_measurements == 1 else (0.4, -1.1)
    same(ours.compute_vjp((tape,), (v,), config), theirs.compute_vjp((tape,), (v,), config))
    same(ours.execute_and_compute_vjp((tape,), (v,), config), theirs.execute_and_compute_vjp((tape,), (v,), config))
    many = np.eye(3)[0] if num_measurements == 1 else np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]])
    found = ours.compute_vjp((tape,), (many if num_measurements == 1 else tuple(many),), config)[0]
    for k in range(3):
        single = ours.compute_vjp((tape,), (many[k] if num_measurements == 1 else tuple(many[:, k]),), config)[0]
        assert all(np.isclose(found[p][k], single[p]) for p in range(len(trainable)))


def test_derivatives_of_circuits_that_begin_in_a_state():
    rng = np.random.default_rng(12)
    start = rng.normal(size=8) + 1j * rng.normal(size=8)
    start /= np.linalg.norm(start)

    def circuit(w, x):
        qml.StatePrep(start, ["b", 7, "a"])
        for k, label in enumerate(LABELS):
            qml.RY(w[k], label)
            qml.RX(x * w[k + 5], label)
        qml.CRZ(w[0], ["a", "b"])
        return qml.expval(HAMILTONIAN)
    w, x = pnp.array(WEIGHTS, requires_grad=True), pnp.array(0.7, requires_grad=True)
    dev = TilewaveQubit(LABELS)
    with qml.Tracker(dev) as tracker:
        found = qml.grad(qml.QNode(circuit, dev))(w, x)
    assert tracker.totals["vjps"] == 1
    expected = qml.grad(qml.QNode(circuit, qml.device("default.qubit", wires=LABELS), diff_method="backprop"))(w, x)
    assert np.allclose(found[0], expected[0], atol=1e-11) and np.isclose(found[1], expected[1], atol=1e-11)


def test_what_has_no_adjoint_derivative():
    dev = TilewaveQubit(2)

    def variance(x):
        qml.RX(x, 0)
        return qml.var(qml.Z(0))

    def coefficient(x, c):
        qml.RX(x, 0)
        return qml.expval(qml.Hamiltonian(c, [qml.Z(0), qml.Y(0)]))

    def prepared(x):
        qml.StatePrep(np.array([0.6, 0.8]), 0)
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))
    x, c = pnp.array(0.3, requires_grad=True), pnp.array([0.5, -0.2], requires_grad=True)
    reference = qml.device("default.qubit")
    def trained_state(x):
        qml.StatePrep(qml.math.stack([qml.math.cos(x), qml.math.sin(x)]), 0)
        qml.RX(0.4, 0)
        return qml.expval(qml.Z(0))
    for function, arguments in ((variance, (x,)), (coefficient, (x, c)), (prepared, (x,)), (trained_state, (x,))):
        expected = qml.grad(qml.QNode(function, reference, diff_method="backprop"))(*arguments)
        found = qml.grad(qml.QNode(function, dev))(*arguments)  # by parameter-shift where it must be
        flat = [np.concatenate([np.ravel(part) for part in (g if isinstance(g, tuple) else (g,))])
                for g in (found, expected)]
        assert np.allclose(*flat, atol=1e-10)
    found = qml.grad(qml.QNode(prepared, dev, diff_method="adjoint"))(x)  # a run that begins in the state
    assert np.isclose(found, qml.grad(qml.QNode(prepared, reference, diff_method="backprop"))(x))
    with pytest.raises(qml.exceptions.QuantumFunctionError, match="adjoint"):
        qml.grad(qml.QNode(variance, dev, diff_method="adjoint"))(x)
    with pytest.raises(qml.exceptions.QuantumFunctionError, match="adjoint"):
        qml.grad(qml.set_shots(qml.QNode(prepared, dev, diff_method="adjoint"), 10))(x)
    assert dev.supports_derivatives() and not dev.supports_derivatives(qml.devices.ExecutionConfig(gradient_method="backprop"))
    assert TilewaveQubit(1, device="cuda").supports_derivatives()


def test_batches_and_derivatives_are_asked_of_the_gpu(monkeypatch):
    x = pnp.array([0.1, -0.4, 0.8, 2.0], requires_grad=True)

    def circuit(x):
        qml.StatePrep([[0.6, 0.8j]] * 4, [0])
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1)), qml.probs([0])

    def energy(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))
    gpu, expected = TilewaveQubit(2, device="cuda:1", seed=3), qml.QNode(circuit, TilewaveQubit(2, device="cpu"))(x)
    asked = functions_on_the_cpu(monkeypatch)
    for a, b in zip(qml.QNode(circuit, gpu)(x), expected):
        assert np.allclose(a, b, atol=1e-13)
    assert np.allclose(qml.QNode(energy, gpu, shots=400)(x), np.cos(x), atol=0.3)
    assert np.allclose(qml.grad(lambda x: qml.math.sum(qml.QNode(energy, gpu)(x)))(x), -np.sin(x), atol=1e-13)
    assert len(asked) >= 4 and set(asked) == {"cuda:1"}


def test_derivatives_of_probabilities():
    def born(w, x):
        trained(w, x)
        return qml.probs([7, "a", 2.5])

    def two(w, x):
        trained(w, x)
        return qml.probs(["b"]), qml.probs(LABELS)
    w, x = pnp.array(WEIGHTS, requires_grad=True), pnp.array(0.3, requires_grad=True)
    reference = qml.device("default.qubit", wires=LABELS)
    target = np.random.default_rng(1).dirichlet(np.ones(8))
    mixing = np.random.default_rng(2).normal(size=34)
    batch = pnp.array([0.3, -0.4, 1.2], requires_grad=True)
    losses = {
        "born": lambda node: lambda w, x: qml.math.sum((node(born)(w, x) - target) ** 2),
        "two": lambda node: lambda w, x: qml.math.sum(mixing * qml.math.concatenate(node(two)(w, x))),
    }
    for name, loss in losses.items():
        dev = TilewaveQubit(LABELS)
        with qml.Tracker(dev) as tracker:
            found = qml.grad(loss(lambda f: qml.QNode(f, dev)))(w, x)
        assert tracker.totals["vjps"] == tracker.totals["executions"] == 1, name
        expected = qml.grad(loss(lambda f: qml.QNode(f, reference, diff_method="backprop")))(w, x)
        assert np.allclose(found[0], expected[0], atol=1e-11) and np.isclose(found[1], expected[1], atol=1e-11), name
    found = qml.grad(losses["born"](lambda f: qml.QNode(f, TilewaveQubit(LABELS))))(w, batch)
    single = [qml.grad(losses["born"](lambda f: qml.QNode(f, reference, diff_method="backprop")))(
        w, pnp.array(float(v), requires_grad=True)) for v in batch]
    assert np.allclose(found[0], sum(s[0] for s in single), atol=1e-11)
    assert np.allclose(found[1], [s[1] for s in single], atol=1e-11)
    found = qml.jacobian(qml.QNode(born, TilewaveQubit(LABELS)))(w, x)
    expected = qml.jacobian(qml.QNode(born, reference, diff_method="backprop"))(w, x)
    assert all(np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-11) for a, b in zip(found, expected))
    operations = [qml.RX(0.3, 0), qml.RY(0.5, 1), qml.CRX(0.7, [0, 1])]
    tape = qml.tape.QuantumScript(operations, [qml.probs([1]), qml.probs([0, 1])], trainable_params=[0, 2])
    config = qml.devices.ExecutionConfig(gradient_method="adjoint")
    rows = TilewaveQubit(2).compute_derivatives((tape,), config)[0]
    tapes, process = qml.gradients.param_shift(tape)
    for a, b in zip(rows, process(reference_results(tapes))):
        assert all(np.shape(p) == np.shape(q) and np.allclose(p, q, atol=1e-11) for p, q in zip(a, b))


def reference_results(tapes):
    return qml.execute(tapes, qml.device("default.qubit", wires=2))


# --- other packages

def embedded(x, w):
    qml.AngleEmbedding(x, range(3))
    qml.StronglyEntanglingLayers(w, range(3))
    return [qml.expval(qml.Z(0)), qml.expval(qml.Y(1) @ qml.X(2))]


def embedded_by_pennylane(x, w):
    """The loss of the tests below, its derivatives, and the values."""
    node = qml.QNode(embedded, qml.device("default.qubit", wires=3), diff_method="backprop")

    def loss(x, w):
        return qml.math.sum(qml.math.stack(node(x, w)) ** 2)
    x, w = pnp.array(x, requires_grad=True), pnp.array(w, requires_grad=True)
    return loss(x, w), qml.grad(loss)(x, w)


X, W = np.random.default_rng(6).normal(size=(5, 3)), np.random.default_rng(7).normal(size=(2, 3, 3))


def test_pytorch_takes_the_derivatives_of_batches():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    expected, (by_x, by_w) = embedded_by_pennylane(X, W)
    node = qml.QNode(embedded, TilewaveQubit(3))
    x, w = torch.tensor(X, requires_grad=True), torch.tensor(W, requires_grad=True)
    loss = (torch.stack(list(node(x, w))) ** 2).sum()
    loss.backward()
    assert np.isclose(float(loss), expected, atol=1e-11)
    assert np.allclose(x.grad, by_x, atol=1e-11) and np.allclose(w.grad, by_w, atol=1e-11)
    layer = qml.qnn.TorchLayer(qml.QNode(lambda inputs, w: embedded(inputs, w), TilewaveQubit(3)), {"w": (2, 3, 3)})
    with torch.no_grad():
        layer.w.copy_(torch.tensor(W))
    assert layer(torch.tensor(X)).shape == (5, 2)


def test_jax_takes_the_derivatives_of_batches():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    expected, (by_x, by_w) = embedded_by_pennylane(X, W)
    node = qml.QNode(embedded, TilewaveQubit(3))

    def loss(x, w):
        return jax.numpy.sum(jax.numpy.stack(node(x, w)) ** 2)
    for transform in (lambda f: f, jax.jit):
        assert np.isclose(transform(loss)(X, W), expected, atol=1e-11)
        found = transform(jax.grad(loss, argnums=(0, 1)))(X, W)
        assert np.allclose(found[0], by_x, atol=1e-11) and np.allclose(found[1], by_w, atol=1e-11)
    rows = jax.jacobian(lambda w: jax.numpy.stack(node(X[0], w)))(W)
    plain = qml.QNode(embedded, qml.device("default.qubit", wires=3), diff_method="backprop")
    expected = qml.jacobian(lambda w: qml.math.stack(plain(X[0], w)))(pnp.array(W, requires_grad=True))
    assert np.allclose(rows, expected, atol=1e-11)
    assert np.allclose(jax.vmap(lambda x: jax.numpy.stack(node(x, W)))(X), np.stack(plain(X, W)).T, atol=1e-11)


OUTPUTS = {
    "one": lambda: qml.expval(qml.Z(1)),
    "two": lambda: (qml.expval(qml.Z(1)), qml.expval(qml.X(0) @ qml.Y(1))),
    "probabilities": lambda: qml.probs(wires=[1, 0]),
    "several": lambda: (qml.probs(wires=0), qml.probs(), qml.probs(wires=[1, 0])),
    "mixed": lambda: (qml.expval(0.5 * qml.Z(0) - qml.X(1)), qml.probs(wires=[1]), qml.var(qml.Z(0) + qml.Y(1)), qml.var(qml.X(1))),
    "state": lambda: qml.state(),
    "of the state": lambda: (qml.expval(qml.Hermitian(np.array([[1, 2 - 1j], [2 + 1j, 0]]), 1)), qml.purity(0), qml.probs(op=qml.Hadamard(1)),
                             qml.vn_entropy(1), qml.expval(qml.Z(0)), qml.var(qml.X(0) @ qml.Hadamard(1))),
}


class Nested:
    """Circuits whose transformations are nested, and what PennyLane's own simulator says of them."""

    def __init__(self, output):
        self.parts = ("real", "imag") if output == "state" else ("real",)

        def circuit(x):
            qml.StatePrep(np.array([0.6, 0, 0, 0.8j]), [0, 1])
            qml.RX(x[0], 0)
            qml.RY(x[1], 1)
            qml.CNOT([0, 1])
            qml.RZ(x[0] * x[1], 1)
            qml.RX(0.3, 0)
            qml.RX(x[1], 1)
            return OUTPUTS[output]()
        self.node = qml.QNode(circuit, TilewaveQubit(2))
        self.plain = qml.QNode(circuit, qml.device("default.qubit", 2), diff_method=None)

    def expected(self, points):
        """Each [..., answer], real and imaginary parts."""
        found = self.plain(np.reshape(points, (-1, 2)).T)
        return [getattr(np.asarray(answer), part).reshape(points.shape[:-1] + np.shape(answer)[1:])
                for answer in (found if isinstance(found, tuple) else (found,)) for part in self.parts]

    def slopes(self, points, h=1e-4):
        """The derivatives, each [..., answer, 2]."""
        columns = [[(a - b) / (2 * h) for a, b in zip(self.expected(points + step), self.expected(points - step))]
                   for step in h * np.eye(2)]
        return [np.stack(pair, axis=-1) for pair in zip(*columns)]


POINTS = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.7]])


@pytest.mark.parametrize("output", OUTPUTS)
def test_jax_nests_its_transformations(output):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    jnp, leaves = jax.numpy, jax.tree_util.tree_leaves
    nested = Nested(output)
    node, expected, slopes = nested.node, nested.expected, nested.slopes

    def f(x):
        return [getattr(jnp, part)(answer) for answer in leaves(node(x)) for part in nested.parts]

    def same(found, wanted, tolerance=1e-12):
        assert len(leaves(found)) == len(wanted)
        for one, other in zip(leaves(found), wanted):
            np.testing.assert_allclose(one, other, atol=tolerance)
    points = POINTS
    grid, square = np.stack([points, points + 1]), points[:2]  # as many sets as numbers, too
    same(f(jnp.asarray(points[0])), expected(points[0]))
    assert leaves(node(jnp.asarray(points[0])))[0].dtype == (complex if output == "state" else float)
    weights = [np.cos(np.arange(v.size)).reshape(v.shape) for v in expected(grid)]

    def loss(x):
        return sum((w * v).sum() for w, v in zip(weights, jax.vmap(jax.vmap(f))(x)))
    by_grid = [sum((w[..., None] * d).sum(axis=tuple(range(2, w.ndim))) for w, d in zip(weights, slopes(grid)))]
    pairs = np.stack(np.meshgrid(points[:, 0], [0.2, 0.9, -0.4], indexing="ij"), axis=-1)
    for within in (lambda g: g, jax.jit):
        same(within(jax.vmap(f))(points), expected(points))
        same(within(jax.vmap(jax.vmap(f)))(grid), expected(grid))
        same(within(jax.vmap(jax.jacobian(f)))(points), slopes(points), 1e-6)
        same(jax.vmap(within(jax.jacobian(f)))(square), slopes(square), 1e-6)
        same(within(jax.vmap(jax.vmap(jax.jacobian(f))))(grid), slopes(grid), 1e-6)
        same(within(jax.grad(loss))(grid), by_grid, 1e-6)
        # a grid of two arguments
        same(within(jax.vmap(jax.vmap(lambda a, b: f(jnp.stack([a, b])), (None, 0)), (0, None)))(points[:, 0], pairs[0, :, 1]),
             expected(pairs))
    if output in ("state", "of the state"):
        with pytest.raises(TypeError, match="forward-mode"):
            jax.jit(jax.jacfwd(f))(points[0])
    else:
        same(jax.jit(jax.jacfwd(f))(points[0]), slopes(points[0]), 1e-6)
    # a batch of PennyLane's, and a batch of batches
    same(f(jnp.asarray(points.T)), expected(points))
    same(jax.vmap(lambda x: f(x.T))(grid), expected(grid))
    same(jax.grad(lambda x: sum((w[0] * v).sum() for w, v in zip(weights, f(x.T))))(points), [by_grid[0][0]], 1e-6)


@pytest.mark.parametrize("output", OUTPUTS)
def test_pytorch_nests_its_transformations(output):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from torch.func import grad, jacfwd, jacrev, jvp, vmap
    nested = Nested(output)
    node, expected, slopes = nested.node, nested.expected, nested.slopes

    def f(x):
        found = node(x)
        return [part for answer in (found if isinstance(found, tuple) else (found,))
                for part in ((answer.real, answer.imag) if output == "state" else (answer,))]

    def same(found, wanted, tolerance=1e-12):
        found = [found] if isinstance(found, torch.Tensor) else found
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            np.testing.assert_allclose(one.detach(), other, atol=tolerance)
    points = torch.tensor(POINTS)
    one, grid, square = points[0], torch.stack([points, points + 1]), points[:2]  # as many sets as numbers, too
    same(f(one), expected(POINTS[0]))
    same(f(one.clone().requires_grad_()), expected(POINTS[0]))
    assert all(answer.dtype == torch.float64 for answer in f(one.float()))
    weights = [np.cos(np.arange(v.size)).reshape(v.shape) for v in expected(grid.numpy())]

    def loss(x):
        return sum((torch.tensor(w) * v).sum() for w, v in zip(weights, vmap(vmap(f))(x)))
    by_grid = sum((w[..., None] * d).sum(axis=tuple(range(2, w.ndim))) for w, d in zip(weights, slopes(grid.numpy())))
    same(vmap(f)(points), expected(POINTS))
    same(vmap(vmap(f))(grid), expected(grid.numpy()))
    for each in (jacrev, jacfwd):
        same(each(f)(one), slopes(POINTS[0]), 1e-6)
        same(vmap(each(f))(square), slopes(square.numpy()), 1e-6)
        same(vmap(vmap(each(f)))(grid), slopes(grid.numpy()), 1e-6)
    same(jvp(f, (one,), (points[1],))[1], [slope @ POINTS[1] for slope in slopes(POINTS[0])], 1e-6)
    same(grad(loss)(grid), [by_grid], 1e-6)
    # backward(), through a batch of PennyLane's and through vmap
    for call in (lambda x: sum((torch.tensor(w[0]) * v).sum() for w, v in zip(weights, f(x.T))),
                 lambda x: sum((torch.tensor(w[0]) * v).sum() for w, v in zip(weights, vmap(f)(x)))):
        leaf = points.clone().requires_grad_()
        call(leaf).backward()
        same(leaf.grad, [by_grid[0]], 1e-6)
    same(vmap(lambda x: f(x.T))(grid), expected(grid.numpy()))
    # a grid of two arguments
    pairs = np.stack(np.meshgrid(POINTS[:, 0], [0.2, 0.9, -0.4], indexing="ij"), axis=-1)
    same(vmap(vmap(lambda a, b: f(torch.stack([a, b])), (None, 0)), (0, None))(points[:, 0], torch.tensor(pairs[0, :, 1])), expected(pairs))


def test_pytorch_maps_states_and_observables():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from torch.func import grad, vmap

    def circuit(state, x, c):
        qml.StatePrep(state, [0, 1], validate_norm=False)
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.expval(c * qml.Z(0) + qml.X(1)), qml.probs(wires=1)
    node, plain = (qml.QNode(circuit, dev) for dev in (TilewaveQubit(2), qml.device("default.qubit", 2)))
    rng = np.random.default_rng(2)
    states = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))
    states = torch.tensor(states / np.linalg.norm(states, axis=1, keepdims=True))
    angles, coefficients = torch.tensor([0.2, 0.7, 1.1]), torch.tensor([0.5, 1.5, -1.0])
    for dims in ((0, None, None), (0, 0, None), (None, 0, 0), (0, 0, 0)):
        arguments = [values if dim == 0 else values[1] for values, dim in zip((states, angles, coefficients), dims)]
        rows = [[values[k] if dim == 0 else values for values, dim in zip(arguments, dims)] for k in range(3)]
        for one, other in zip(vmap(node, dims)(*arguments), zip(*(plain(*row) for row in rows))):
            np.testing.assert_allclose(one, torch.stack(other), atol=1e-12)
    outer = vmap(vmap(node, (None, 0, None)), (0, None, None))(states, angles, coefficients[0])
    for k, j in itertools.product(range(3), repeat=2):
        for one, other in zip(outer, plain(states[k], angles[j], coefficients[0])):
            np.testing.assert_allclose(one[k, j], other, atol=1e-12)
    slopes = vmap(grad(lambda c, x: node(states[0], x, c)[0], (0, 1)))(coefficients, angles)
    for k in range(3):
        wanted = grad(lambda c, x: plain(states[0], x, c)[0], (0, 1))(coefficients[k], angles[k])
        np.testing.assert_allclose([slopes[0][k], slopes[1][k]], wanted, atol=1e-12)


def test_larger_circuits_answer_pytorch_from_states(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from tilewave.pennylane import traced

    def circuit(x):
        qml.StatePrep(np.array([0.6, 0, 0, 0.8j]), [0, 1])
        qml.RX(x[0], 0)
        qml.CRY(x[1], [0, 1])
        return qml.expval(qml.Z(0) @ qml.Y(1) + 0.3 * qml.X(0)), qml.probs(wires=[1, 0]), qml.var(qml.X(1) + qml.Z(0)), qml.state(), qml.purity(0)
    points = torch.tensor(POINTS)
    node = qml.QNode(circuit, TilewaveQubit(2))
    expected = torch.func.vmap(node)(points)
    monkeypatch.setattr(traced, "MOST_FORWARD_QUBITS", 1)
    monkeypatch.setattr(Function, "expectations", None)
    for one, other in zip(torch.func.vmap(node)(points), expected):
        np.testing.assert_allclose(one, other, atol=1e-13)
    for one, other in zip(node(points.T.clone().requires_grad_()), expected):
        np.testing.assert_allclose(one.detach(), other, atol=1e-13)


AMPLITUDE_OUTPUTS = {
    "mean": lambda: qml.expval(qml.Z(0) @ qml.Y(1) + 0.3 * qml.X(2)),
    "several": lambda: (qml.probs(wires=[2, 0]), qml.var(qml.X(1) + qml.Y(0) @ qml.Z(2)), qml.expval(qml.Y(2))),
    "state": lambda: qml.state(),
    "of the state": lambda: (qml.purity(0), qml.expval(qml.Hermitian(np.array([[1, 1j], [-1j, 0]]), 1))),
}


@pytest.mark.parametrize("output", AMPLITUDE_OUTPUTS)
def test_derivatives_by_amplitudes(output):
    """Of data that are loaded into amplitudes, some of them zero, where angles of a preparation by gates have no derivatives."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def circuit(v, w):
        qml.AmplitudeEmbedding(v, [2, 1], normalize=True, pad_with=0.0)
        qml.StronglyEntanglingLayers(w, range(3))
        return AMPLITUDE_OUTPUTS[output]()
    rng = np.random.default_rng(4)
    node = qml.QNode(circuit, TilewaveQubit(3))
    plain = qml.QNode(circuit, qml.device("default.qubit", 3), diff_method="backprop")

    def flat(found, join, real, imag):
        return join([part(answer + 0j).reshape(-1) for answer in (found if isinstance(found, tuple) else (found,))
                     for part in (real, imag)])

    def jacobians(which, *arguments):
        return torch.autograd.functional.jacobian(lambda v, w: flat(which(v, w), torch.cat, torch.real, torch.imag), arguments)
    weights = torch.tensor(W)
    many = torch.tensor(rng.normal(size=(3, 3)))
    for data in (torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64), many):
        expected = jacobians(plain, data, weights)
        for one, other in zip(jacobians(node, data, weights), expected):
            np.testing.assert_allclose(one, other, atol=1e-12)
    # one state for a batch of angles
    shared = torch.tensor([0.6, 0.0, 0.0, 0.8], dtype=torch.float64)

    def turned(v, x):
        qml.StatePrep(v, [0, 1], validate_norm=False)
        qml.RX(x, 0)
        qml.CNOT([0, 2])
        return AMPLITUDE_OUTPUTS[output]()
    angles = torch.tensor([0.3, 0.9], dtype=torch.float64)
    for one, other in zip(*(jacobians(qml.QNode(turned, which.device, diff_method=which.diff_method), shared, angles)
                            for which in (node, plain))):
        np.testing.assert_allclose(one, other, atol=1e-12)
    if output == "mean":  # and without a framework, of what the adjoint method differentiates
        def stacked(which, measured):
            def own(v, w):
                qml.AmplitudeEmbedding(v, [2, 1], normalize=True, pad_with=0.0)
                qml.StronglyEntanglingLayers(w, range(3))
                return measured()

            def flattened(v, w):
                found = qml.QNode(own, which.device, diff_method=which.diff_method)(v, w)
                return qml.math.hstack([qml.math.reshape(part, (-1,)) for part in (found if isinstance(found, tuple) else (found,))])
            return flattened
        for measured in (AMPLITUDE_OUTPUTS["mean"], lambda: (qml.expval(qml.Y(2)), qml.expval(qml.Z(0))),
                         lambda: (qml.probs(wires=[2, 0]), qml.probs())):
            for data in ([1.0, 2.0, -3.0], many.numpy()):
                arguments = pnp.array(data, requires_grad=True), pnp.array(W, requires_grad=True)
                for one, other in zip(*(qml.jacobian(stacked(which, measured))(*arguments) for which in (node, plain))):
                    np.testing.assert_allclose(one, other, atol=1e-12)
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def in_jax(v, w):
        return flat(node(v, w), jnp.concatenate, jnp.real, jnp.imag)
    rows = np.stack([jacobians(plain, row, weights)[0] for row in many])
    for within in (lambda g: g, jax.jit):
        for one, other in zip(within(jax.jacrev(in_jax, (0, 1)))(many.numpy(), W), expected):
            np.testing.assert_allclose(one, other, atol=1e-12)
        np.testing.assert_allclose(within(jax.vmap(jax.jacrev(in_jax), (0, None)))(many.numpy(), W), rows, atol=1e-12)


@pytest.mark.parametrize("num_wires", [2, 3])
def test_derivatives_by_entries_of_matrices(num_wires):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rng = np.random.default_rng(5)
    hermitian = rng.normal(size=(2**num_wires,) * 2) + 1j * rng.normal(size=(2**num_wires,) * 2)
    hermitian += hermitian.conj().T
    labels = ["a", "b", "c", 4]

    def circuit(x, y, exponential):
        qml.RX(y, "c")
        qml.QubitUnitary(exponential(-1j * x[..., None, None] * hermitian), labels[:num_wires][::-1])
        qml.CRY(y * x, ["a", "b"])
        qml.ControlledQubitUnitary(exponential(-1j * y * hermitian), labels[-num_wires:] + ["a"], control_values=[0])
        return qml.probs(wires=["b", 4]), qml.expval(qml.Z("c") @ qml.X("a"))
    node, plain = (qml.QNode(circuit, dev) for dev in (TilewaveQubit(labels), qml.device("default.qubit", labels)))

    def in_torch(which):
        def call(x, y):
            found = which(x, y, lambda a: torch.linalg.matrix_exp(torch.as_tensor(a)))
            return torch.cat([found[0], found[1][..., None]], dim=-1)
        return call
    xs, y = torch.tensor([0.3, 0.5], dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64)
    hermitian = torch.tensor(hermitian)
    expected = [torch.autograd.functional.jacobian(in_torch(plain), (x, y)) for x in xs]
    for one, other in zip(torch.autograd.functional.jacobian(in_torch(node), (xs[0], y)), expected[0]):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(torch.func.vmap(torch.func.jacrev(in_torch(node)), (0, None))(xs, y),
                               torch.stack([each[0] for each in expected]), atol=1e-12)
    by_batch = torch.autograd.functional.jacobian(in_torch(node), (xs, y))
    for k, (by_x, by_y) in enumerate(expected):
        np.testing.assert_allclose(by_batch[0][k, :, k], by_x, atol=1e-12)
        np.testing.assert_allclose(by_batch[1][k], by_y, atol=1e-12)
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    hermitian = hermitian.numpy()

    def in_jax(x, y):
        found = node(x, y, jax.scipy.linalg.expm)
        return jax.numpy.concatenate([found[0], found[1][None]])
    for within in (lambda g: g, jax.jit):
        for one, other in zip(within(jax.jacrev(in_jax, (0, 1)))(jax.numpy.asarray(0.3), jax.numpy.asarray(0.7)), expected[0]):
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_what_pytorch_does_not_transform():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([0.1, 2.0], dtype=torch.float64)
    exact = qml.QNode(lambda x: [qml.RX(x, 0), qml.expval(qml.Z(0))][1], TilewaveQubit(1, seed=1))
    with pytest.raises(qml.exceptions.DeviceError, match="second derivatives of a circuit are not supported.*max_diff=2"):
        torch.func.hessian(exact)(x[0])
    leaf = x[0].clone().requires_grad_()
    slope, = torch.autograd.grad(exact(leaf), leaf, create_graph=True)
    with pytest.raises(qml.exceptions.DeviceError, match="second derivatives"):
        slope.backward()
    twice = qml.QNode(exact.func, TilewaveQubit(1), diff_method="parameter-shift", max_diff=2)
    np.testing.assert_allclose(torch.autograd.functional.hessian(twice, x[0]), -np.cos(0.1), atol=1e-12)
    start = qml.QNode(lambda v: [qml.StatePrep(v, 0, validate_norm=False), qml.expval(qml.X(0))][1], TilewaveQubit(1))
    np.testing.assert_allclose(torch.func.grad(start)(torch.tensor([0.6, 0.8], dtype=torch.float64)), [1.6, 1.2], atol=1e-12)
    with pytest.raises(qml.exceptions.DeviceError, match="forward-mode derivatives by the amplitudes"):
        torch.func.jacfwd(start)(torch.tensor([0.6, 0.8], dtype=torch.float64))
    for node in (qml.set_shots(exact, 100), twice):
        for transform in (torch.vmap, torch.func.grad):
            with pytest.raises(qml.exceptions.DeviceError, match="torch.func transforms no circuit that has shots"):
                transform(node)(x if transform is torch.vmap else x[0])


def test_what_jax_does_not_map():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jnp = jax.numpy
    node = qml.set_shots(qml.QNode(lambda x: [qml.RX(x, 0), qml.expval(qml.Z(0))][1], TilewaveQubit(1, seed=1), interface="jax"), 4000)
    for map_ in (jax.vmap(node), jax.vmap(jax.grad(node))):
        with pytest.raises(qml.exceptions.DeviceError, match="jax.vmap of this circuit is not supported.*put jax.jit around the vmap"):
            map_(jnp.array([0.1, 2.0]))
    assert np.allclose(jax.jit(jax.vmap(node))(jnp.array([0.1, 2.0])), np.cos([0.1, 2.0]), atol=0.1)
    weighted = qml.QNode(lambda c: [qml.RX(0.3, 0), qml.expval(c * qml.Z(0) + qml.X(0))][1], TilewaveQubit(1))
    assert np.allclose(jax.vmap(jax.grad(weighted))(jnp.array([1.0, 2.0])), np.cos(0.3))


def test_purity_has_no_parameter_shift():
    node = qml.QNode(lambda x: [qml.RX(x, 0), qml.CNOT([0, 1]), qml.purity(0)][2], TilewaveQubit(2))
    x = pnp.array(0.3, requires_grad=True)
    assert np.isclose(node(x), np.cos(0.15)**4 + np.sin(0.15)**4)
    with pytest.raises(qml.exceptions.DeviceError, match="purity are no parameter shifts: differentiate with JAX"):
        qml.grad(node)(x)


def test_jax_takes_a_product_for_a_gradient():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    node = qml.QNode(lambda w: [qml.StronglyEntanglingLayers(w, range(3)), qml.probs()][1], TilewaveQubit(3))
    plain = qml.QNode(node.func, qml.device("default.qubit", wires=3))
    weights = jax.numpy.arange(8.0)
    found = jax.grad(lambda w: jax.numpy.dot(weights, node(w)))(W)
    np.testing.assert_allclose(found, jax.grad(lambda w: jax.numpy.dot(weights, plain(w)))(W), atol=1e-6)


def test_metric_tensors_equal_those_of_pennylane():
    from tilewave.pennylane import metric_tensor
    shape = qml.StronglyEntanglingLayers.shape(2, 3)
    rng = np.random.default_rng(3)

    def layers(weights, x):
        qml.StatePrep(np.arange(1, 9) / np.linalg.norm(np.arange(1, 9)), wires=["c", "a", "b"])
        qml.RY(2 * x[0] * x[1], "a")
        qml.StronglyEntanglingLayers(weights, ["a", "b", "c"])
        qml.ctrl(qml.PhaseShift(x[1], "b"), "a", control_values=[0])
        qml.SingleExcitation(x[0], ["a", "c"])
        return qml.expval(qml.Z("a") @ qml.X("b"))

    weights = pnp.array(rng.normal(size=shape), requires_grad=True)
    x = pnp.array([0.3, -0.7], requires_grad=True)
    node = qml.QNode(layers, qml.device("tilewave.qubit"))
    expected = qml.adjoint_metric_tensor(qml.QNode(layers, qml.device("default.qubit", wires=["a", "b", "c"])))(weights, x)
    for precision, tolerance in (("double", 1e-10), ("single", 1e-4)):
        found = metric_tensor(node, precision=precision)(weights, x)
        assert len(found) == 2 and found[0].shape == shape + shape and found[1].shape == (2, 2)
        for one, other in zip(found, expected):
            np.testing.assert_allclose(one, other, atol=tolerance)
    # a step of the natural gradient
    few = pnp.array([0.4, 1.1], requires_grad=True)

    def small(angles):
        qml.RX(angles[0], 0)
        qml.CNOT([0, 1])
        qml.RY(angles[1], 1)
        return qml.expval(qml.Z(0) @ qml.Z(1))

    small = qml.QNode(small, qml.device("tilewave.qubit", wires=2))
    step = qml.QNGOptimizer(0.1, lam=1e-6)
    ours = step.step(small, few, metric_tensor_fn=metric_tensor(small))
    np.testing.assert_allclose(ours, step.step(small, few, metric_tensor_fn=qml.adjoint_metric_tensor(small)), atol=1e-10)


def test_what_has_no_metric_tensor():
    from tilewave.pennylane import metric_tensor
    device = qml.device("tilewave.qubit", wires=2)

    def node(*extra):
        def circuit(x):
            qml.RX(x, 0)
            for step in extra:
                step()
            return qml.expval(qml.Z(0))
        return qml.QNode(circuit, device)

    x = pnp.array(0.3, requires_grad=True)
    with pytest.raises(ValueError, match="with shots is not exact"):
        metric_tensor(qml.set_shots(node(), 10))(x)
    with pytest.raises(qml.exceptions.DeviceError, match="has a batch of them"):
        metric_tensor(node())(pnp.array([0.3, 0.4], requires_grad=True))
    with pytest.raises(qml.exceptions.DeviceError, match="metric_tensor|unitary gates"):
        metric_tensor(node(lambda: qml.measure(0)))(x)
