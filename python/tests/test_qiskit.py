"""What Qiskit's circuits become, against Qiskit itself and Aer."""
import os

import numpy as np
import pytest

qiskit = pytest.importorskip("qiskit")
from qiskit import ClassicalRegister, QuantumCircuit, transpile  # noqa: E402
from qiskit.circuit import (AnnotatedOperation, ControlModifier, InverseModifier, Parameter, ParameterVector,  # noqa: E402
                            PowerModifier)
from qiskit.circuit.classical import expr, types  # noqa: E402
from qiskit.circuit.library import PauliEvolutionGate, RYGate, UnitaryGate  # noqa: E402
from qiskit.quantum_info import SparsePauliOp, Statevector  # noqa: E402

import tilewave as tw  # noqa: E402
from qiskit_circuits import GATES, agree, random_dynamic_circuit, random_unitary_circuit  # noqa: E402
from tilewave.qiskit import EstimatorV2, TilewaveBackend, from_qiskit  # noqa: E402

NUM_UNITARY = int(os.environ.get("TILEWAVE_RANDOM_CIRCUITS", 350))
NUM_DYNAMIC = NUM_UNITARY * 3 // 7


def state_of(circuit):
    return tw.simulate(from_qiskit(circuit))


@pytest.mark.parametrize("name", sorted(GATES))
def test_every_standard_gate(name):
    rng = np.random.default_rng(1)
    gate = GATES[name]
    if gate.params:
        gate = gate.base_class(*(float(a) for a in rng.uniform(-7, 7, len(gate.params))))
    n = max(gate.num_qubits, 1)
    circuit = QuantumCircuit(n + 1)
    for q in range(n + 1):
        circuit.u(*map(float, rng.uniform(-3, 3, 3)), q)
    circuit.append(gate, [int(q) for q in rng.permutation(n + 1)[:gate.num_qubits]])
    np.testing.assert_allclose(state_of(circuit), Statevector(circuit).data, atol=1e-12)


def test_random_circuits_give_qiskits_amplitudes():
    for seed in range(NUM_UNITARY):
        circuit = random_unitary_circuit(np.random.default_rng(seed))
        difference = np.abs(state_of(circuit) - Statevector(circuit).data).max()
        assert difference < 1e-10, f"seed {seed}: {difference}"


def test_random_dynamic_circuits_give_aers_counts():
    aer = pytest.importorskip("qiskit_aer")
    theirs, ours = aer.AerSimulator(), TilewaveBackend()
    circuits = [random_dynamic_circuit(np.random.default_rng(seed)) for seed in range(NUM_DYNAMIC)]
    lowered = transpile(circuits, theirs, optimization_level=0)
    expected = theirs.run(lowered, shots=700, seed_simulator=1).result()  # each costs it 60 us
    found = ours.run(circuits, shots=7000, seed_simulator=2).result()
    wrong = [seed for seed in range(NUM_DYNAMIC)
             if not agree(found.get_counts(seed), expected.get_counts(seed))]
    assert not wrong


def test_else_nested_and_wide_conditions():
    circuit = QuantumCircuit(3, 3)
    circuit.x(0)
    circuit.measure(0, 0)
    wide = ClassicalRegister(70, "wide")
    circuit.add_register(wide)
    circuit.measure(0, wide[69])
    with circuit.if_test((wide, 1 << 69)) as otherwise:
        with circuit.if_test((circuit.clbits[0], 0)):
            circuit.x(1)
        circuit.x(2)
    with otherwise:
        circuit.x(1)
    circuit.measure([1, 2], [1, 2])
    bits = tw.sample_bits(from_qiskit(circuit), 5)
    assert bits[:, :3].tolist() == [[True, False, True]] * 5


def test_variables_and_stores():
    circuit = QuantumCircuit(2, 8)
    count = circuit.add_var("count", expr.lift(0, types.Uint(8)))
    with circuit.while_loop(expr.less(count, 5)):
        circuit.x(0)
        circuit.store(count, expr.add(count, expr.lift(1, types.Uint(8))))
    flag = circuit.add_var("flag", expr.equal(count, 5))
    with circuit.if_test(expr.logic_not(flag)):
        circuit.x(1)
    circuit.measure([0, 1], [0, 1])
    converted = from_qiskit(circuit)
    assert converted.num_clbits == 8 + 8 + 1 and not converted.is_dynamic
    assert tw.sample(converted, 10) == {"00000001": 10}


def test_input_variables():
    count, on = expr.Var.new("n", types.Uint(4)), expr.Var.new("on", types.Bool())
    circuit = QuantumCircuit(1, 1, inputs=[count, on])
    with circuit.if_test(expr.logic_and(expr.less(count, 5), on)):
        circuit.x(0)
    circuit.measure(0, 0)
    for n, flag, bit in ((4, True, "1"), (5, True, "0"), (4, False, "0")):
        assert tw.sample(tw.Circuit.from_qiskit(circuit, inputs={"n": n, on: flag}), 5) == {bit: 5}
    for inputs, problem in ((None, "the input variable 'n' has no value"), ({"n": 16, "on": 1}, "cannot be 16"),
                            ({"n": 1, "on": 0, "x": 2}, "no input variable 'x'")):
        with pytest.raises(ValueError, match=problem):
            from_qiskit(circuit, inputs=inputs)


def test_a_loop_that_never_ends_is_an_error():
    circuit = QuantumCircuit(1, 1)
    with circuit.while_loop((circuit.clbits[0], 0)):
        circuit.x(0)
    with pytest.raises(ValueError, match="does not end"):
        tw.sample(from_qiskit(circuit), 1)


def test_loop_parameters():
    angle = Parameter("t")
    circuit = QuantumCircuit(1)
    with circuit.for_loop((1, 2, 4), angle) as t:
        circuit.rx(0.1 * t, 0)
    expected = QuantumCircuit(1)
    expected.rx(0.7, 0)
    np.testing.assert_allclose(state_of(circuit), Statevector(expected).data, atol=1e-12)


def test_parameters():
    a, b = Parameter("a"), Parameter("b")
    circuit = QuantumCircuit(2, global_phase=a)
    circuit.rx(a + 2 * b, 0)
    circuit.crz(a * b, 0, 1)
    bound = circuit.assign_parameters({a: 0.3, b: 0.5})
    np.testing.assert_allclose(tw.simulate(tw.Circuit.from_qiskit(circuit, {a: 0.3, b: 0.5})),
                               Statevector(bound).data, atol=1e-12)
    with pytest.raises(ValueError, match="is not affine in the parameters a, b"):
        from_qiskit(circuit)
    with pytest.raises(ValueError, match="the parameter 'a' has no value"):
        tw.simulate(QuantumCircuit(1, global_phase=a))


def test_expressions_that_have_no_value_at_zero():
    a, b = Parameter("a"), Parameter("b")

    def circuit_of(expression):
        circuit = QuantumCircuit(1)
        circuit.rx(expression, 0)
        return circuit
    for expression, slope in ((a * a / a, 1), (a * a / a + 0.5, 1), (2 * a - a * a / a, 1)):
        converted = from_qiskit(circuit_of(expression))
        np.testing.assert_allclose(converted.compile("Z0").gradient([0.3]), -slope * np.sin(float(expression.bind({a: 0.3}))), atol=1e-12)
    for expression in (a * b / b, 2 * a + 1 / b - 1 / b, a / b, (a + b)**2 / (a + b)):
        circuit, values = circuit_of(expression), np.array([[0.3, 0.7], [1.1, -0.4], [0.2, 2.0]])
        with pytest.raises(ValueError, match="is not affine in the parameters a, b, so it needs values"):
            from_qiskit(circuit)
        found = EstimatorV2().run([(circuit, "Z", values)]).result()[0].data.evs
        np.testing.assert_allclose(found, [np.cos(float(expression.bind(dict(zip((a, b), row))))) for row in values], atol=1e-12)


def test_evolutions_are_the_same_product_formula_under_controls():
    part = QuantumCircuit(2)
    part.append(PauliEvolutionGate(SparsePauliOp(["XI", "ZZ", "YX"], [0.3, 0.4, 0.9]), 0.7), [0, 1])
    gate = part.to_gate()
    for repeated, controlled in [(gate, gate.control(1)), (gate.inverse(), gate.inverse().control(1)), (gate.repeat(2), gate.repeat(2).control(1))]:
        plain, under = QuantumCircuit(3), QuantumCircuit(3)
        for circuit, used, qubits in [(plain, repeated, [1, 2]), (under, controlled, [0, 1, 2])]:
            circuit.x(0)
            circuit.ry(0.4, 1)
            circuit.append(used, qubits)
        np.testing.assert_allclose(state_of(under), state_of(plain), atol=1e-12)
        np.testing.assert_allclose(state_of(under), Statevector(transpile(under, basis_gates=["u", "cx"])).data, atol=1e-10)


@pytest.mark.parametrize("num_qubits", [9, 10])
def test_matrices_on_more_qubits_than_an_operation_takes(num_qubits):
    rng = np.random.default_rng(num_qubits)
    ortho, upper = np.linalg.qr(rng.normal(size=(2**num_qubits, 2**num_qubits, 2)) @ [1, 1j])
    matrix = ortho * (np.diag(upper) / abs(np.diag(upper)))
    gate = UnitaryGate(matrix, check_input=False)
    order = [int(q) for q in rng.permutation(num_qubits + 1)]
    axes = [num_qubits - q for q in reversed(order[1:])]  # of the state's tensor, the matrix's highest bit first
    for is_controlled in (False, True) if num_qubits == 9 else (True,):
        circuit = QuantumCircuit(num_qubits + 1)
        for q in range(num_qubits + 1):
            circuit.ry(0.3 + q, q)
        before = Statevector(circuit).data.reshape((2,) * (num_qubits + 1))
        turned = np.moveaxis(before, axes, range(num_qubits)).reshape(2**num_qubits, 2)
        after = matrix @ turned
        if is_controlled:  # by the other qubit, on 0
            circuit.append(AnnotatedOperation(gate, ControlModifier(1, 0)), order)
            after[:, 1] = turned[:, 1]
        else:
            circuit.append(gate, order[1:])
        expected = np.moveaxis(after.reshape((2,) * (num_qubits + 1)), range(num_qubits), axes).ravel()
        np.testing.assert_allclose(state_of(circuit), expected, atol=1e-12)


def test_the_transpiler_keeps_matrices_on_many_qubits():
    circuit = QuantumCircuit(9)
    circuit.append(UnitaryGate(np.eye(2**9)[::-1], check_input=False), range(9))  # X on every qubit
    circuit.measure_all()
    for level in range(4):
        lowered = transpile(circuit, TilewaveBackend(), optimization_level=level)
        assert TilewaveBackend().run(lowered, shots=5).result().get_counts() == {"1" * 9: 5}
    with pytest.raises(ValueError, match="an error on 'unitary', an instruction that is simulated as its parts"):
        tw.sample(circuit, 1, noise={"channels": [{"after": "all", "label": "unitary", "channel": "bit_flip", "p": 0.5}]})


def test_matrices_that_are_too_wide():
    circuit = QuantumCircuit(11)
    circuit.append(UnitaryGate(np.eye(2**11), check_input=False), range(11))
    with pytest.raises(ValueError, match="'unitary' is a matrix on 11 qubits: at most 10 are supported"):
        from_qiskit(circuit)


def test_parameters_stay_under_modifiers():
    t, s = Parameter("t"), Parameter("s")
    inner = QuantumCircuit(2, global_phase=s)
    inner.rx(t, 0)
    inner.crz(t - 2 * s, 0, 1)
    circuit = QuantumCircuit(4)
    circuit.h(range(4))
    circuit.append(AnnotatedOperation(inner.to_gate(), [ControlModifier(1, 0), InverseModifier(), PowerModifier(2), ControlModifier(1)]),
                   [3, 1, 0, 2])
    expected = Statevector(circuit.assign_parameters({t: 0.4, s: -0.7})).data
    np.testing.assert_allclose(tw.simulate(from_qiskit(circuit).bind({"t": 0.4, "s": -0.7})), expected, atol=1e-12)
    circuit.append(AnnotatedOperation(RYGate(t), [PowerModifier(0.5)]), [0])
    with pytest.raises(ValueError, match="'ry' has parameters without values, which only angles of gates may have"):
        from_qiskit(circuit)


def test_parameters_stay():
    theta, a = ParameterVector("theta", 12), Parameter("a")
    circuit = QuantumCircuit(3)
    for k in range(12):
        circuit.u(theta[k], a - 2 * theta[(k + 1) % 12], 0.25, k % 3)
        circuit.append(RYGate(theta[k] / 3).control(1, ctrl_state=0), [k % 3, (k + 1) % 3])
    converted = tw.Circuit.from_qiskit(circuit)
    assert [p.name for p in converted.parameters] == [p.name for p in circuit.parameters]  # theta[2] before theta[10]
    values = np.linspace(-2, 3, 13)
    np.testing.assert_allclose(converted.compile().state(values), Statevector(circuit.assign_parameters(values)).data, atol=1e-13)


def test_initialize_and_state_preparation():
    amplitudes = np.array([1, 2j, 0, -1, 0.5, 0, 3, 1]) / np.sqrt(16.25)
    circuit = QuantumCircuit(3)
    circuit.prepare_state(amplitudes)
    np.testing.assert_allclose(state_of(circuit), amplitudes, atol=1e-10)
    circuit = QuantumCircuit(3)
    circuit.h(1)
    circuit.initialize(amplitudes)
    found = tw.simulate(from_qiskit(circuit), seed=1)
    np.testing.assert_allclose(abs(np.vdot(found, amplitudes)), 1, atol=1e-10)
