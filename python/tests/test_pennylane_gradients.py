"""Derivatives and metric tensors on the PennyLane device, against those of default.qubit."""
import numpy as np
import pytest

qml = pytest.importorskip("pennylane", minversion="0.45", reason="PennyLane 0.45 or newer is not installed")

from pennylane import numpy as pnp  # noqa: E402

from cores import functions_on_the_cpu  # noqa: E402
from pennylane_circuits import LABELS, MATRIX, NAMES, arguments, make  # noqa: E402
from tilewave.pennylane import TilewaveQubit, observables  # noqa: E402


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


def test_purity_has_no_parameter_shift():
    node = qml.QNode(lambda x: [qml.RX(x, 0), qml.CNOT([0, 1]), qml.purity(0)][2], TilewaveQubit(2))
    x = pnp.array(0.3, requires_grad=True)
    assert np.isclose(node(x), np.cos(0.15)**4 + np.sin(0.15)**4)
    with pytest.raises(qml.exceptions.DeviceError, match="purity are no parameter shifts: differentiate with JAX"):
        qml.grad(node)(x)


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
