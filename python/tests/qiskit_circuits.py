"""Random Qiskit circuits: every gate of the standard library, and dynamic ones with control flow; the comparison of
counts."""
import numpy as np
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister
from qiskit.circuit import ControlledGate
from qiskit.circuit.classical import expr, types
from qiskit.circuit.library.standard_gates import get_standard_gate_name_mapping

NOT_GATES = ("measure", "reset", "barrier", "delay")
GATES = {name: gate for name, gate in get_standard_gate_name_mapping().items() if name not in NOT_GATES}


def random_gate(rng, most_qubits, names=None):
    """A gate with random angles; a controlled one at times under another control state or further controls."""
    names = [name for name in names or GATES if GATES[name].num_qubits <= most_qubits]
    gate = GATES[names[rng.integers(len(names))]]
    gate = gate.base_class(*(float(a) for a in rng.uniform(-7, 7, len(gate.params)))) if gate.params else gate.copy()
    kind = rng.integers(8)
    if isinstance(gate, ControlledGate) and kind < 3:
        gate = gate.to_mutable()
        gate.ctrl_state = int(rng.integers(1 << gate.num_ctrl_qubits))
    elif kind == 3 and gate.num_qubits < most_qubits and gate.name != "global_phase":
        gate = gate.control(1, ctrl_state=int(rng.integers(2)))
    elif kind == 4:
        gate = gate.inverse()
    return gate


def random_unitary_circuit(rng, most_qubits=7, most_gates=60):
    n = int(rng.integers(1, most_qubits + 1))
    circuit = QuantumCircuit(n, global_phase=float(rng.uniform(0, 7)) if rng.integers(2) else 0)
    for _ in range(rng.integers(1, most_gates + 1)):
        append_gate(rng, circuit, range(n))
    return circuit


def append_gate(rng, circuit, qubits):
    kind = rng.integers(30)
    qubits = [int(q) for q in rng.permutation(list(qubits))]
    if kind == 0 and len(qubits) > 1:
        from scipy.stats import unitary_group
        k = int(rng.integers(1, min(3, len(qubits)) + 1))
        circuit.unitary(unitary_group.rvs(2**k, random_state=int(rng.integers(1 << 31))), qubits[:k])
    elif kind == 1:
        circuit.barrier()
    elif kind == 2 and len(qubits) > 1:
        inner = QuantumCircuit(2, name="inner", global_phase=0.3)
        inner.h(0)
        inner.crx(0.7, 0, 1)
        circuit.append(inner.to_gate(), qubits[:2])
    else:
        gate = random_gate(rng, len(qubits))
        circuit.append(gate, qubits[:gate.num_qubits])


SIMPLE = ["h", "x", "sx", "ry", "rz", "cx", "cz", "u", "swap", "rxx"]


def random_dynamic_circuit(rng, most_qubits=4):
    """Measurements, resets and every kind of control flow, so that outcomes come from few histories."""
    n = int(rng.integers(2, most_qubits + 1))
    a, b = ClassicalRegister(2, "a"), ClassicalRegister(3, "b")
    circuit = QuantumCircuit(QuantumRegister(n, "q"), a, b)
    some_gates(rng, circuit)
    for _ in range(rng.integers(2, 5)):
        circuit.measure(int(rng.integers(n)), rng.choice(circuit.clbits))
        flow(rng, circuit, a, b, depth=0)
        some_gates(rng, circuit)
    circuit.measure(range(min(n, 3)), b[:min(n, 3)])
    return circuit


def some_gates(rng, circuit):
    for _ in range(rng.integers(1, 4)):
        gate = random_gate(rng, circuit.num_qubits, SIMPLE)
        circuit.append(gate, [int(q) for q in rng.permutation(circuit.num_qubits)[:gate.num_qubits]])


def condition(rng, circuit, a, b):
    kind = rng.integers(5)
    if kind == 0:
        return (circuit.clbits[rng.integers(len(circuit.clbits))], int(rng.integers(2)))
    if kind == 1:
        return (a, int(rng.integers(4))) if rng.integers(2) else (b, int(rng.integers(8)))
    if kind == 2:
        return expr.less(a, int(rng.integers(1, 4)))
    if kind == 3:
        return expr.logic_or(expr.bit_and(a[0], b[1]), expr.logic_not(b[0]))
    return expr.equal(expr.bit_xor(expr.cast(a, types.Uint(3)), b), int(rng.integers(8)))


def flow(rng, circuit, a, b, depth):
    kind = rng.integers(6) if depth < 2 else 5
    n = circuit.num_qubits

    def inside():
        some_gates(rng, circuit)
        if rng.integers(3) == 0:
            flow(rng, circuit, a, b, depth + 1)

    if kind == 0:
        with circuit.if_test(condition(rng, circuit, a, b)) as otherwise:
            inside()
        if rng.integers(2):
            with otherwise:
                inside()
    elif kind == 1:
        with circuit.for_loop(range(int(rng.integers(1, 4)))):
            inside()
            with circuit.if_test(condition(rng, circuit, a, b)):
                if rng.integers(2):
                    circuit.break_loop()
                else:
                    circuit.continue_loop()
            some_gates(rng, circuit)
    elif kind == 2:
        qubit = int(rng.integers(n))
        circuit.h(qubit)
        circuit.measure(qubit, a[0])
        with circuit.while_loop((a[0], 1)):
            some_gates(rng, circuit)
            circuit.reset(qubit)
            circuit.h(qubit)
            circuit.measure(qubit, a[0])
    elif kind == 3:
        with circuit.switch(a if rng.integers(2) else expr.lift(a)) as case:
            with case(0):
                inside()
            with case(1, 2):
                some_gates(rng, circuit)
            if rng.integers(2):
                with case(case.DEFAULT):
                    some_gates(rng, circuit)
    elif kind == 4:
        circuit.reset(int(rng.integers(n)))
        circuit.measure(int(rng.integers(n)), b[int(rng.integers(3))])
    else:
        some_gates(rng, circuit)


def agree(a, b, sigmas=5.5):
    """Two dictionaries of counts come from one distribution: chi-square over outcomes seen often enough."""
    n, m = sum(a.values()), sum(b.values())
    chi = cells = rest = 0
    for key in set(a) | set(b):
        x, y = a.get(key, 0), b.get(key, 0)
        if x + y < 10:
            rest += x + y
            continue
        p = (x + y) / (n + m)
        chi += (x - n * p) ** 2 / (n * p) + (y - m * p) ** 2 / (m * p)
        cells += 1
    freedom = max(cells - 1, 1)
    return chi < freedom + sigmas * np.sqrt(2 * freedom) + sigmas**2 and rest < 0.2 * (n + m)
