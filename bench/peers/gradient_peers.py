"""Other packages that bench/gradients.py times: values and gradients of strongly entangling layers and an Ising
chain, in double precision.

Each is called as its own documentation has one call it, at the level where its host code is least. `prepare` is
what it needs for one set of values and is not timed; `value` and `value_and_grad` are. Where a package gives a
gradient without the value, both are computed, as a training needs them. An `__init__` that raises ImportError
says that the package is not there.
"""

import numpy as np


def ranges(n, layers):
    return [layer % (n - 1) + 1 for layer in range(layers)]


def gates(n, layers):
    """(name, qubits, number of the parameter or None) of RZ RY RZ on every qubit and a ring of CX whose range grows
    with the layer."""
    at = 0
    for reach in ranges(n, layers):
        for q in range(n):
            for name in ("rz", "ry", "rz"):
                yield name, (q,), at
                at += 1
        for q in range(n):
            yield "cx", (q, (q + reach) % n), None


def terms(n):
    """(coefficient, letters by qubit) of the Hamiltonian."""
    return [(1.0, {k: "Z", k + 1: "Z"}) for k in range(n - 1)] + [(0.5, {k: "X"}) for k in range(n)]


class Peer:
    most_qubits, on_gpu = 30, False

    def prepare(self, values):
        return values

    def prepare_batch(self, values):
        return [self.prepare(v) for v in values]

    def batch_value_and_grad(self, batch):
        return [self.value_and_grad(one) for one in batch]


class Lightning(Peer):
    name, package = "lightning.qubit", "pennylane-lightning"

    def __init__(self, n, layers, threads):
        import pennylane as qml
        from pennylane.devices import ExecutionConfig

        self.qml, self.n, self.layers = qml, n, layers
        self.device = qml.device(self.name, wires=n)
        self.config = ExecutionConfig(gradient_method="adjoint", use_device_jacobian_product=False)
        letters = {"X": qml.X, "Z": qml.Z}
        products = [[letters[p](q) for q, p in term.items()] for _, term in terms(n)]
        self.sum = qml.Hamiltonian([c for c, _ in terms(n)], [p[0] if len(p) == 1 else p[0] @ p[1] for p in products])

    def prepare(self, values):
        qml = self.qml
        kinds = {"rz": qml.RZ, "ry": qml.RY}
        operations = [
            qml.CNOT(qubits) if at is None else kinds[name](values[at], qubits)
            for name, qubits, at in gates(self.n, self.layers)
        ]
        tape = qml.tape.QuantumScript(operations, [qml.expval(self.sum)])
        tape.trainable_params = list(range(len(values)))
        return tape

    def value(self, tape):
        return float(self.device.execute([tape], self.config)[0])

    def value_and_grad(self, tape):
        (value,), (gradient,) = self.device.execute_and_compute_derivatives([tape], self.config)
        return float(np.squeeze(value)), np.array([float(g) for g in gradient])

    def broadcast(self, values):
        """Forward values of many sets, through a QNode as people write it."""
        qml = self.qml

        @qml.qnode(self.device, diff_method="adjoint")
        def energy(w):
            kinds = {"rz": qml.RZ, "ry": qml.RY}
            for name, qubits, at in gates(self.n, self.layers):
                qml.CNOT(qubits) if at is None else kinds[name](w[:, at], qubits)
            return qml.expval(self.sum)

        return energy(values)


class LightningGpu(Lightning):
    name, package, on_gpu = "lightning.gpu", "pennylane-lightning-gpu", True

    def __init__(self, n, layers, threads):
        from pennylane_lightning import lightning_gpu_ops

        try:
            lightning_gpu_ops.DevPool.getTotalDevices()
        except Exception as problem:
            raise ImportError(f"no CUDA device: {problem}") from problem
        super().__init__(n, layers, threads)


class Qulacs(Peer):
    """Its angles have the opposite sign; `backprop` gives the gradient alone."""

    name, package = "Qulacs", "qulacs"

    def __init__(self, n, layers, threads):
        import qulacs

        self.circuit, self.state = qulacs.ParametricQuantumCircuit(n), qulacs.QuantumState(n)
        add = {"rz": self.circuit.add_parametric_RZ_gate, "ry": self.circuit.add_parametric_RY_gate}
        for name, qubits, at in gates(n, layers):
            self.circuit.add_CNOT_gate(*qubits) if at is None else add[name](*qubits, 0.0)
        self.sum = qulacs.Observable(n)
        for coefficient, term in terms(n):
            self.sum.add_operator(coefficient, " ".join(f"{p} {q}" for q, p in term.items()))

    def value(self, values):
        for k, value in enumerate(values):
            self.circuit.set_parameter(k, -value)
        self.state.set_zero_state()
        self.circuit.update_quantum_state(self.state)
        return self.sum.get_expectation_value(self.state)

    def value_and_grad(self, values):
        return self.value(values), -np.array(self.circuit.backprop(self.sum))


class Scaluq(Peer):
    """Small states in its space of one thread, which is faster there."""

    name, package, serial_below = "scaluq", "scaluq", 13

    def __init__(self, n, layers, threads):
        import scaluq

        self.n, self.space = n, (scaluq.host_serial if n < self.serial_below else scaluq.default).f64
        made = scaluq.default.f64.gate
        self.circuit = scaluq.default.f64.Circuit()
        for name, (first, *others), at in gates(n, layers):
            if at is None:
                self.circuit.add_gate(made.CX(first, *others))
            else:
                self.circuit.add_param_gate({"rz": made.ParamRZ, "ry": made.ParamRY}[name](first), f"w{at}")
        self.sum = self.space.Operator(
            [
                scaluq.default.f64.PauliOperator(" ".join(f"{p} {q}" for q, p in term.items()), coefficient)
                for coefficient, term in terms(n)
            ]
        )

    def prepare(self, values):
        return {f"w{k}": float(value) for k, value in enumerate(values)}

    def _state(self, values):
        state = self.space.StateVector(self.n)
        self.circuit.update_quantum_state(state, params=values)
        return state

    def value(self, values):
        return self.sum.get_expectation_value(self._state(values)).real

    def value_and_grad(self, values):
        state = self._state(values)
        value = self.sum.get_expectation_value(state).real
        adjoint = state.copy()
        self.sum.apply_to_state(adjoint)
        found = self.circuit.compute_expectation_gradient_backprop(state, adjoint, values)
        return value, np.array([found[name] for name in values])


class MindQuantum(Peer):
    name, package = "MindQuantum", "mindquantum"

    def __init__(self, n, layers, threads):
        import mindquantum as mq
        from mindquantum.simulator import Simulator

        made = {"rz": mq.RZ, "ry": mq.RY}
        circuit = mq.Circuit()
        for name, qubits, at in gates(n, layers):
            circuit += mq.X.on(qubits[1], qubits[0]) if at is None else made[name](f"w{at}").on(qubits[0])
        operator = mq.QubitOperator()
        for coefficient, term in terms(n):
            operator += mq.QubitOperator(" ".join(f"{p}{q}" for q, p in term.items()), coefficient)
        self.sum = mq.Hamiltonian(operator).astype(mq.complex128)
        self.simulator = Simulator("mqvector", n, dtype=mq.complex128)
        self.plain, self.function = circuit, self.simulator.get_expectation_with_grad(self.sum, circuit)
        self.encoded = self.simulator.get_expectation_with_grad(
            self.sum, circuit.copy().as_encoder(), parallel_worker=threads or None
        )
        self.names = circuit.params_name

    def value(self, values):
        self.simulator.reset()
        return self.simulator.get_expectation(self.sum, self.plain, pr=dict(zip(self.names, values))).real

    def value_and_grad(self, values):
        value, gradient = self.function(values)
        return value[0, 0].real, gradient[0, 0].real

    def prepare_batch(self, values):
        return values

    def batch_value_and_grad(self, values):
        energies, gradients = self.encoded(values)[:2]
        return list(zip(energies[:, 0].real, gradients[:, 0].real))


class TensorCircuit(Peer):
    """Compiled by JAX; the Hamiltonian is its product with a state, without a matrix, and differentiation keeps the
    state behind every gate."""

    name, package, most_qubits = "TensorCircuit-NG", "tensorcircuit-ng", 20

    def __init__(self, n, layers, threads):
        import jax
        import tensorcircuit as tc

        jax.config.update("jax_enable_x64", True)
        tc.set_backend("jax")
        tc.set_dtype("complex128")
        import jax.numpy as jnp

        self.jax, self.jnp = jax, jnp
        code = {"X": 1, "Y": 2, "Z": 3}
        strings = [[code.get(term.get(q), 0) for q in range(n)] for _, term in terms(n)]
        product = tc.quantum.PauliStringSum2MVP(strings, [c for c, _ in terms(n)])

        def energy(values):
            circuit = tc.Circuit(n)
            for name, qubits, at in gates(n, layers):
                circuit.cx(*qubits) if at is None else getattr(circuit, name)(*qubits, theta=values[at])
            state = circuit.state()
            return jnp.real(jnp.vdot(state, product(state)))

        self.energy, self.both = jax.jit(energy), jax.jit(jax.value_and_grad(energy))
        self.many = jax.jit(jax.vmap(jax.value_and_grad(energy)))

    def prepare(self, values):
        return self.jnp.asarray(values)

    def value(self, values):
        return float(self.energy(values))

    def value_and_grad(self, values):
        value, gradient = self.both(values)
        return float(value), np.asarray(gradient)

    def prepare_batch(self, values):
        return self.jnp.asarray(values)

    def batch_value_and_grad(self, values):
        values, gradients = self.many(values)
        return list(zip(np.asarray(values), np.asarray(gradients)))


PEERS = [Lightning, LightningGpu, Qulacs, Scaluq, MindQuantum, TensorCircuit]
