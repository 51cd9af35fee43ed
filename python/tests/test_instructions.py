"""What an instruction of a Qiskit circuit is, is a matter of its class: names are their maker's choice."""
import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import AnnotatedOperation, ControlModifier, Instruction, InverseModifier, Parameter, PowerModifier
from qiskit.circuit.library import (CXGate, DiagonalGate, MCMTGate, MCXGate, ModularAdderGate, QFTGate, RYGate, SGate,
                                    SwapGate, UGate, XGate, YGate, ZGate)
from qiskit.quantum_info import Operator, Statevector, random_clifford, random_unitary

import tilewave as tw
from tilewave.qiskit import TilewaveBackend, from_qiskit

# every one is a word that means something to a converter which goes by names
NAMES = ["delay", "barrier", "reset", "measure", "unitary", "if_else", "while_loop", "store", "box", "kraus", "superop", "h", "id",
         "initialize", "quantum_channel", "global_phase", "mcx"]


def counts_of(circuit, shots=50):
    return TilewaveBackend().run(circuit, shots=shots).result().get_counts()


def difference(circuit):
    return np.abs(tw.simulate(circuit) - Statevector(circuit).data).max()


@pytest.mark.parametrize("name", NAMES)
def test_subcircuits_may_have_any_name(name):
    gates = QuantumCircuit(2, name=name)
    gates.x([0, 1])
    as_gate = QuantumCircuit(2)
    try:
        as_gate.append(gates.to_gate(), [0, 1])
    except IndexError:
        pytest.skip("this Qiskit takes no such name")
    as_gate.measure_all()
    assert counts_of(as_gate) == {"11": 50}

    measuring = QuantumCircuit(2, 2, name=name)
    measuring.x([0, 1])
    measuring.measure([0, 1], [1, 0])
    outer = QuantumCircuit(2, 3)
    outer.append(measuring.to_instruction(), [0, 1], [2, 0])
    assert counts_of(outer) == {"101": 50}

    one = QuantumCircuit(1, name=name)
    one.x(0)
    controlled = QuantumCircuit(2)
    controlled.append(one.to_gate().control(1), [0, 1])  # does nothing
    controlled.x(0)
    controlled.append(one.to_gate().control(1), [0, 1])
    controlled.measure_all()
    assert counts_of(controlled) == {"11": 50}


@pytest.mark.parametrize("name, expected", [("measure", {"111": 50}), ("reset", {"000": 50}), ("barrier", {"000": 50}),
                                            ("delay", {"000": 50})])
def test_opaque_instructions_go_by_their_name(name, expected):
    circuit = QuantumCircuit(3, 3)
    circuit.x([0, 1, 2])
    circuit.append(Instruction(name, 3, 3 if name == "measure" else 0, []), [0, 1, 2], [0, 1, 2] if name == "measure" else [])
    assert counts_of(circuit) == expected


def test_a_wide_measurement_keeps_every_pair():
    circuit = QuantumCircuit(3, 3)
    circuit.x([0, 2])
    circuit.append(Instruction("measure", 3, 3, []), [2, 1, 0], [0, 1, 2])
    circuit.x(1)
    circuit.append(Instruction("measure", 2, 2, []), [1, 2], [1, 0])
    assert counts_of(circuit) == {"111": 50}


def test_opaque_instructions_that_mean_nothing_are_named():
    circuit = QuantumCircuit(1)
    circuit.append(Instruction("gargle", 1, 0, []), [0])
    with pytest.raises(ValueError, match="instruction 'gargle' is not supported"):
        from_qiskit(circuit)


@pytest.mark.parametrize("gate", [MCMTGate(ZGate(), 3, 2), MCMTGate(XGate(), 2, 3), MCMTGate(RYGate(0.3), 1, 2),
                                  ModularAdderGate(2), QFTGate(3).control(2), MCXGate(4, ctrl_state=5),
                                  CXGate(ctrl_state=0).control(2, ctrl_state=1), DiagonalGate([1, 1j, -1, 1j]).control(1)],
                         ids=lambda gate: f"{gate.name}-{gate.num_qubits}")
def test_controlled_gates_untranspiled(gate):
    circuit = QuantumCircuit(gate.num_qubits)
    for q in range(gate.num_qubits):
        circuit.u(0.3 + q, 0.2 * q, 0.7, q)
    circuit.append(gate, list(reversed(range(gate.num_qubits))))
    assert difference(circuit) < 1e-12


def test_controls_over_a_wide_gate_that_has_no_matrix_here():
    inner = QuantumCircuit(10, name="wide")
    for q in range(10):
        inner.ry(0.1 * q + 0.2, q)
    for q in range(9):
        inner.cz(q, q + 1)
    inner.global_phase = 0.3
    circuit = QuantumCircuit(12)
    circuit.h(range(12))
    circuit.append(inner.to_gate().control(2, ctrl_state=1, annotated=True), [3, 7, *[q for q in range(12) if q not in (3, 7)]])
    transpiled = transpile(circuit, basis_gates=["u", "cx"], optimization_level=0)
    assert difference(transpiled) < 1e-10
    assert np.abs(tw.simulate(circuit) - Statevector(transpiled).data).max() < 1e-10


U = UGate(0.1, 0.2, 0.3)
MODIFIED = [
    U.control(2, annotated=True), AnnotatedOperation(U, [InverseModifier()]),
    AnnotatedOperation(U, [InverseModifier(), ControlModifier(1, 0), PowerModifier(2), ControlModifier(1, 1)]),
    AnnotatedOperation(U, [PowerModifier(0.5)]), AnnotatedOperation(U, [PowerModifier(-2.5), ControlModifier(2, 2)]),
    AnnotatedOperation(U, [PowerModifier(0)]), QFTGate(3).control(1, annotated=True), QFTGate(2).inverse(annotated=True),
    CXGate().power(-3, annotated=True), AnnotatedOperation(random_clifford(2, seed=3), [ControlModifier(1)]),
    AnnotatedOperation(AnnotatedOperation(U, [ControlModifier(1, 0)]), [InverseModifier(), ControlModifier(1, 1)]),
]


# roots beside powers and inverses, of gates at the cut of the root: the order matters
HALF, INVERSE = PowerModifier(0.5), InverseModifier()
MODIFIED += [AnnotatedOperation(base, modifiers) for base in (U, ZGate(), YGate(), SGate(), CXGate(), SwapGate()) for modifiers in (
    [HALF], [HALF, INVERSE], [INVERSE, HALF], [PowerModifier(2), HALF], [HALF, PowerModifier(2)], [HALF, HALF], [PowerModifier(-0.5)],
    [PowerModifier(1.5), INVERSE, HALF], [ControlModifier(1, 0), HALF, INVERSE], [INVERSE, PowerModifier(3), INVERSE, PowerModifier(0.25)],
    [PowerModifier(0.3), INVERSE, ControlModifier(1)], [PowerModifier(np.float64(2)), INVERSE])]


@pytest.mark.parametrize("gate", MODIFIED, ids=range(len(MODIFIED)))
def test_annotated_operations(gate):
    circuit = QuantumCircuit(gate.num_qubits)
    for q in range(gate.num_qubits):
        circuit.u(0.3 + q, 0.2 * q, 0.7, q)
    circuit.append(gate, list(reversed(range(gate.num_qubits))))
    expected = Statevector.from_label("0" * gate.num_qubits)
    for q in range(gate.num_qubits):
        expected = expected.evolve(UGate(0.3 + q, 0.2 * q, 0.7), [q])
    matrix = Operator(gate.to_matrix() if hasattr(gate, "to_matrix") else gate)
    expected = expected.evolve(matrix, list(reversed(range(gate.num_qubits))))
    assert np.abs(tw.simulate(circuit) - expected.data).max() < 1e-12


def test_cliffords_and_what_only_becomes_an_instruction():
    for seed in range(5):
        circuit = QuantumCircuit(4)
        circuit.h(range(4))
        circuit.append(random_clifford(3, seed=seed), [3, 0, 2])
        assert difference(circuit) < 1e-12, seed


def test_own_subclasses_are_what_they_define():
    class Mine(XGate):
        def _define(self):
            self.definition = QuantumCircuit(1)
            self.definition.h(0)

    circuit = QuantumCircuit(1)
    circuit.append(Mine(), [0])
    assert np.allclose(tw.simulate(circuit), [np.sqrt(0.5)] * 2)


def test_parameters_inside_everything():
    """Slots of a circuit that is converted once give the states of circuits that are converted one by one."""
    from tilewave.qiskit.template import bound_circuits
    rng = np.random.default_rng(7)
    a, b, c = Parameter("a"), Parameter("b"), Parameter("c")
    circuit = QuantumCircuit(3)
    circuit.rx(a, 0)
    circuit.cry(2 * b - a / 3 + 0.1, 0, 1)
    circuit.append(UGate(a * b, c.sin(), c), [2])
    circuit.crz(a, 1, 2, ctrl_state=0)
    circuit.cu(a, b, c, a + b, 0, 2, ctrl_state=0)
    circuit.global_phase = c / 2
    inner = QuantumCircuit(2, name="inner")
    inner.rzz(3 * c, 0, 1)
    inner.p(-a, 1)
    circuit.append(inner.to_gate(), [2, 0])
    values = rng.normal(size=(5, 3))
    for row, converted in zip(values, bound_circuits(circuit, values)):
        bound = circuit.assign_parameters(dict(zip(circuit.parameters, row)))
        assert np.abs(tw.simulate(converted) - Statevector(bound).data).max() < 1e-12
    # what needs numbers to be converted goes the long way, with the same result
    circuit.append(inner.to_gate().control(1), [0, 1, 2])
    circuit.unitary(random_unitary(4, seed=1), [0, 2])
    for row, converted in zip(values, bound_circuits(circuit, values)):
        bound = circuit.assign_parameters(dict(zip(circuit.parameters, row)))
        assert np.abs(tw.simulate(converted) - Statevector(bound).data).max() < 1e-12
    with pytest.raises(ValueError, match="finite"):
        list(bound_circuits(circuit, np.full((3, 3), np.nan)))
