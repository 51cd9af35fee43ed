"""Circuits in PyTorch and in JAX: derivatives, batches, training."""
import numpy as np
import pytest
import tilewave as tw


def classifier(n=4, layers=2):
    """Two inputs, encoded again in every layer, and weights."""
    x, w = tw.parameters("x", 2), iter(tw.parameters("w", layers * n * 2))
    circuit = tw.Circuit(n)
    for _ in range(layers):
        for k in range(n):
            circuit.ry(x[k % 2], k)
        for k in range(n):
            circuit.rz(next(w), k).ry(next(w), k)
        for k in range(n):
            circuit.cz(k, (k + 1) % n)
    return circuit


def test_torch_derivatives():
    torch = pytest.importorskip("torch")
    from tilewave.torch import Layer, function
    f = classifier().compile(["Z0", "X1 X2", "Y3"])
    rng = np.random.default_rng(1)
    values = torch.tensor(rng.normal(size=(5, f.num_parameters)), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function(f), (values,), atol=1e-6)
    assert torch.autograd.gradcheck(function(classifier().compile("Z0")), (values,), atol=1e-6)
    assert torch.autograd.gradcheck(function(f), (values[0].detach().requires_grad_(),), atol=1e-6)
    single = values.detach().float().requires_grad_()
    out = function(f)(single)
    out.sum().backward()
    assert out.dtype == torch.float32 and single.grad.dtype == torch.float32
    np.testing.assert_allclose(single.grad.numpy(), f.vjp(values.detach().numpy(), np.ones(3)), atol=1e-5)
    first, = torch.autograd.grad(function(f)(values).sum(), values, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives of a circuit"):
        first.sum().backward()
    layer = Layer(f, inputs=["x[1]", tw.Parameter("x[0]")], dtype=torch.float64)
    inputs = torch.tensor(rng.normal(size=(2, 3, 2)), dtype=torch.float64, requires_grad=True)
    out = layer(inputs)
    assert out.shape == (2, 3, 3)
    for index in np.ndindex(2, 3):
        given = {"x[1]": inputs[index][0].item(), "x[0]": inputs[index][1].item()}
        given |= {f"w[{k}]": layer.weight[k].item() for k in range(16)}
        np.testing.assert_allclose(out[index].detach().numpy(), f.expectation(given), atol=1e-13)
    with pytest.raises(ValueError, match="the layer has 2 inputs"):
        layer(inputs[..., :1])
    with pytest.raises(ValueError, match="no parameter 'y'"):
        Layer(f, inputs=["y"])


def test_torch_takes_whole_numbers_and_refuses_complex_ones():
    torch = pytest.importorskip("torch")
    from tilewave.torch import Layer, function
    f = tw.Circuit(1).rx(tw.Parameter("a"), 0).rz(tw.Parameter("b"), 0).compile("Z0")
    call = function(f)
    expected = torch.tensor([np.cos(1), np.cos(2)], dtype=torch.get_default_dtype())
    for values in (torch.tensor([[1, 0], [2, 1]]), [[1, 0], [2, 1]], torch.tensor([[1.0, 0], [2, 1]])):
        torch.testing.assert_close(call(values), expected)
    torch.testing.assert_close(call(torch.tensor([True, False])), expected[0])
    layer = Layer(f, inputs=["a"])
    torch.testing.assert_close(layer(torch.tensor([[1], [2]])), expected)
    with pytest.raises(ValueError, match="values are complex"):
        call(torch.tensor([1j, 2]))


def test_torch_transformations_nest():
    torch = pytest.importorskip("torch")
    from tilewave.torch import Layer, function
    rng = np.random.default_rng(8)
    for f in (classifier().compile(["Z0", "X1 X2", "Y3"]), classifier().compile("Z0")):
        call = function(f)
        values = torch.tensor(rng.normal(size=(2, 3, f.num_parameters)))
        rows = values.reshape(6, -1).numpy()
        expected, jacobian = f.expectation(rows), f.jacobian(rows)
        last = expected.shape[1:]
        shaped, rows_of = expected.reshape(2, 3, *last), jacobian.reshape(2, 3, *last, -1)
        for transform in (lambda g: g, torch.func.vmap, lambda g: torch.func.vmap(torch.func.vmap(g))):
            np.testing.assert_allclose(transform(call)(values), shaped, atol=1e-13)
        np.testing.assert_allclose(torch.func.vmap(call, in_dims=1, out_dims=1)(values), shaped, atol=1e-13)
        np.testing.assert_allclose(torch.func.jacrev(call)(values[0, 0]), rows_of[0, 0], atol=1e-12)
        np.testing.assert_allclose(torch.func.vmap(torch.func.vmap(torch.func.jacrev(call)))(values), rows_of, atol=1e-12)
        each = torch.func.jacrev(torch.func.vmap(call))(values[0])
        for k in range(3):
            np.testing.assert_allclose(each[k, ..., k, :], rows_of[0, k], atol=1e-12)
            assert not each[k, ..., (k + 1) % 3, :].any()
        loss = lambda v: torch.sin(call(v)).sum()  # noqa: E731
        np.testing.assert_allclose(torch.func.vmap(torch.func.grad(loss))(values[0]),
                                   f.vjp(rows[:3], np.cos(expected[:3])), atol=1e-12)
        size = 2**f.num_qubits
        states = rng.normal(size=(3, size)) + 1j * rng.normal(size=(3, size))
        states /= np.linalg.norm(states, axis=1, keepdims=True)
        np.testing.assert_allclose(torch.func.vmap(lambda v: call(v, states))(values), [
            f.expectation(rows[3 * k:3 * k + 3], initial_state=states) for k in range(2)], atol=1e-13)
        np.testing.assert_allclose(torch.func.jacfwd(call)(values[0, 0]), rows_of[0, 0], atol=1e-12)
        np.testing.assert_allclose(torch.func.vmap(torch.func.vmap(torch.func.jacfwd(call)))(values), rows_of, atol=1e-12)
        both = torch.func.jvp(call, (values,), (values.flip(1),))
        np.testing.assert_allclose(both[0], expected.reshape(both[0].shape), atol=1e-13)
        directions = values.flip(1).numpy()
        np.testing.assert_allclose(both[1], (rows_of * (directions if np.ndim(both[1]) == 2 else directions[..., None, :])).sum(axis=-1), atol=1e-12)
        with pytest.raises(RuntimeError, match="second derivatives of a circuit are not there"):
            torch.func.jacrev(torch.func.grad(loss))(values[0, 0])
        with pytest.raises(RuntimeError, match="second derivatives of a circuit are not there"):
            torch.func.hessian(loss)(values[0, 0])
    layer = Layer(classifier().compile("Z0"), inputs=["x[0]", "x[1]"], dtype=torch.float64)
    inputs = torch.tensor(rng.normal(size=(4, 2)))
    np.testing.assert_allclose(torch.func.vmap(layer)(inputs).detach(), layer(inputs).detach(), atol=1e-13)
    with pytest.raises(ValueError, match="values are a number"):
        function(classifier().compile("Z0"))(torch.tensor(0.3))


def test_torch_starts_from_data():
    torch = pytest.importorskip("torch")
    from tilewave.torch import Layer, function
    f, rng = classifier().compile(["Z0", "X1 X2"]), np.random.default_rng(4)
    states = rng.normal(size=(6, 2**f.num_qubits)) + 1j * rng.normal(size=(6, 2**f.num_qubits))
    states /= np.linalg.norm(states, axis=1)[:, None]
    data = torch.tensor(states)
    values = torch.tensor(rng.normal(size=(6, f.num_parameters)), requires_grad=True)
    one = values[0].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: function(f)(v, data), (values,), atol=1e-6)
    assert torch.autograd.gradcheck(lambda v: function(f)(v, initial_state=data), (one,), atol=1e-6)
    assert torch.autograd.gradcheck(lambda v: function(f)(v, states[1]), (values,), atol=1e-6)
    expected = np.stack([f.expectation(one.detach().numpy(), initial_state=state) for state in states])
    np.testing.assert_allclose(function(f)(one, data).detach().numpy(), expected, atol=1e-13)
    layer = Layer(f, initial=one.detach(), dtype=torch.float64)
    out = layer(initial_state=data.reshape(2, 3, -1))
    np.testing.assert_allclose(out.detach().numpy(), expected.reshape(2, 3, 2), atol=1e-13)
    out.sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), sum(
        f.vjp(one.detach().numpy(), np.ones(2), initial_state=state) for state in states), atol=1e-12)
    layer = Layer(f, inputs=["x[0]", "x[1]"], dtype=torch.float64)
    inputs = torch.tensor(rng.normal(size=(2, 3, 2)))
    given = torch.cat([inputs, layer.weight.detach().expand(2, 3, -1)], dim=-1).reshape(6, -1).numpy()
    order = [["x[0]", "x[1]", *(f"w[{k}]" for k in range(16))].index(p.name) for p in f.parameters]
    np.testing.assert_allclose(layer(inputs, data.reshape(2, 3, -1)).detach().numpy().reshape(6, 2),
                               f.expectation(given[:, order], initial_state=states), atol=1e-13)
    with pytest.raises(ValueError, match=r"give \[2\^n\], or \[2, 3\] states"):
        layer(inputs, data)
    with pytest.raises(ValueError, match="derivatives by the amplitudes"):
        function(f)(values, data.requires_grad_())


def test_torch_trains_a_classifier():
    torch = pytest.importorskip("torch")
    from tilewave.torch import Layer
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    points = rng.uniform(-1.5, 1.5, (200, 2))
    labels = np.where(points[:, 0] * points[:, 1] > 0, 1.0, -1.0)  # no line separates them
    inputs, targets = torch.tensor(points), torch.tensor(labels)
    layer = Layer(classifier(4, 3).compile("Z0"), inputs=["x[0]", "x[1]"], dtype=torch.float64)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        loss = torch.mean((layer(inputs) - targets)**2)
        loss.backward()
        optimizer.step()
    accuracy = float(((layer(inputs) > 0) == (targets > 0)).double().mean())
    assert accuracy > 0.93, (accuracy, float(loss))


def test_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from tilewave.jax import function
    f = classifier().compile(["Z0", "X1 X2", "Y3"])
    call = function(f)
    rng = np.random.default_rng(2)
    values = rng.normal(size=(4, f.num_parameters))
    np.testing.assert_allclose(call(values), f.expectation(values), atol=1e-14)

    def loss(v):
        return jnp.sum(jnp.sin(call(v)) * jnp.arange(3))

    expected = f.vjp(values, np.cos(f.expectation(values)) * np.arange(3))
    np.testing.assert_allclose(jax.grad(loss)(values), expected, atol=1e-13)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(values), expected, atol=1e-13)
    np.testing.assert_allclose(jax.vmap(jax.grad(loss))(values), expected, atol=1e-13)
    np.testing.assert_allclose(jax.jacrev(call)(values[0]), f.jacobian(values[0]), atol=1e-13)
    nested = values.reshape(2, 2, -1)
    for within in (lambda g: g, jax.jit):
        np.testing.assert_allclose(within(jax.vmap(jax.vmap(call)))(nested), f.expectation(values).reshape(2, 2, 3), atol=1e-13)
        np.testing.assert_allclose(within(jax.vmap(jax.vmap(jax.jacrev(call))))(nested), f.jacobian(values).reshape(2, 2, 3, -1), atol=1e-13)
        np.testing.assert_allclose(within(jax.vmap(jax.vmap(jax.grad(loss))))(nested), expected.reshape(2, 2, -1), atol=1e-13)
        rows = within(jax.jacrev(jax.vmap(call)))(values)
        for k in range(4):
            np.testing.assert_allclose(rows[k, :, k], f.jacobian(values[k]), atol=1e-13)
            assert not rows[k, :, (k + 1) % 4].any()
    assert call(jnp.asarray(values, jnp.float32)).dtype == jnp.float32
    with pytest.raises(ValueError, match="parameters, got values of shape"):
        call(values[:, 1:])
    with pytest.raises(TypeError):
        jax.jvp(call, (values,), (values,))


def test_jax_starts_from_states():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from tilewave.jax import function
    f = classifier().compile(["Z0", "X1 X2", "Y3"])
    call, size = function(f), 2**f.num_qubits
    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=(4, f.num_parameters)), np.arange(1, 4)
    states = rng.normal(size=(4, size)) + 1j * rng.normal(size=(4, size))
    states /= np.linalg.norm(states, axis=1, keepdims=True)

    def loss(v, start):
        return jnp.sum(call(v, start) * weights)

    for v, start in ((values[0], states[0]), (values, states[0]), (values, states), (values[0], states)):
        expected = f.vjp(v, np.broadcast_to(weights, f.expectation(v, initial_state=start).shape), initial_state=start)
        if expected.ndim > v.ndim:
            expected = expected.sum(axis=0)
        np.testing.assert_allclose(call(v, start), f.expectation(v, initial_state=start), atol=1e-14)
        np.testing.assert_allclose(jax.jit(jax.grad(loss))(v, start), expected, atol=1e-13)
    # vmap over values, over states, and over both
    np.testing.assert_allclose(jax.vmap(call, (0, None))(values, states[1]), f.expectation(values, initial_state=states[1]), atol=1e-14)
    np.testing.assert_allclose(jax.vmap(call, (None, 0))(values[1], states), f.expectation(values[1], initial_state=states), atol=1e-14)
    each = f.vjp(values, np.broadcast_to(weights, (4, 3)), initial_state=states)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(loss)))(values, states), each, atol=1e-13)
    np.testing.assert_allclose(jax.vmap(jax.grad(loss), (None, 0))(values[0], states),
                               f.vjp(np.tile(values[0], (4, 1)), np.broadcast_to(weights, (4, 3)), initial_state=states), atol=1e-13)
    np.testing.assert_allclose(jax.jacrev(call)(values[0], states[0]), f.jacobian(values[0], initial_state=states[0]), atol=1e-13)
    # what is not there
    with pytest.raises(ValueError, match="derivatives by the amplitudes of initial_state"):
        jax.grad(lambda x: call(values[0], x * states[0]).sum())(1.0)
    for wrong in (states[:3], states[:, 1:], states[None]):
        with pytest.raises(ValueError, match="initial_state has the shape"):
            call(values, wrong)
