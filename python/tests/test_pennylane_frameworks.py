"""JAX and PyTorch through the PennyLane device: their derivatives, transformations and batches."""
import itertools

import numpy as np
import pytest

qml = pytest.importorskip("pennylane", minversion="0.45", reason="PennyLane 0.45 or newer is not installed")

from pennylane import numpy as pnp  # noqa: E402

from pennylane_circuits import arguments  # noqa: E402
from tilewave.pennylane import TilewaveQubit  # noqa: E402
from tilewave.programs import Function  # noqa: E402


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


def test_jax_takes_a_product_for_a_gradient():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    node = qml.QNode(lambda w: [qml.StronglyEntanglingLayers(w, range(3)), qml.probs()][1], TilewaveQubit(3))
    plain = qml.QNode(node.func, qml.device("default.qubit", wires=3))
    weights = jax.numpy.arange(8.0)
    found = jax.grad(lambda w: jax.numpy.dot(weights, node(w)))(W)
    np.testing.assert_allclose(found, jax.grad(lambda w: jax.numpy.dot(weights, plain(w)))(W), atol=1e-6)
