"""OpenQASM 3 as Qiskit writes it, read back: the same states, and the same outcomes of dynamic circuits."""
import os

import numpy as np
import pytest

qiskit = pytest.importorskip("qiskit")
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister, qasm3, transpile  # noqa: E402
from qiskit.circuit import Clbit, Duration, Parameter, Qubit  # noqa: E402
from qiskit.circuit.classical import expr, types  # noqa: E402

import tilewave as tw  # noqa: E402
from qiskit_circuits import agree, random_dynamic_circuit, random_unitary_circuit  # noqa: E402
from tilewave.qiskit import from_qiskit  # noqa: E402

NUM_UNITARY = int(os.environ.get("TILEWAVE_RANDOM_CIRCUITS", 350))
NUM_DYNAMIC = NUM_UNITARY * 3 // 7
SWITCH_V1 = qasm3.ExperimentalFeatures.SWITCH_CASE_V1
# the ways to write a circuit, one after the other
WAYS = [{}, {"disable_constants": True}, {"includes": (), "basis_gates": ("U", "cx", "id")},
        {"experimental": SWITCH_V1, "indent": ""}]


def read(circuit, inputs=None, **options):
    return tw.Circuit.from_qasm(qasm3.dumps(circuit, **options), inputs)


def outcomes(circuit, shots=1000, **options):
    """What the text does and what the circuit does."""
    return (tw.sample(read(circuit, **options), shots, seed=1), tw.sample(from_qiskit(circuit), shots, seed=2))


def difference(found, expected):
    """The largest difference of amplitudes after one common phase: Qiskit writes no global phase."""
    overlap = np.vdot(found, expected)
    return np.abs(found * (overlap / abs(overlap)) - expected).max()


def test_random_circuits_come_back_as_the_same_state():
    for seed in range(NUM_UNITARY):
        circuit = random_unitary_circuit(np.random.default_rng(seed))
        found = tw.simulate(read(circuit, **WAYS[seed % len(WAYS)]))
        wrong = difference(found, tw.simulate(from_qiskit(circuit)))  # which is Qiskit's: test_qiskit.py, same seeds
        assert wrong < 1e-10, f"seed {seed}: {wrong}"


def test_random_dynamic_circuits_come_back_with_the_same_outcomes():
    wrong = [seed for seed in range(NUM_DYNAMIC)
             if not agree(*outcomes(random_dynamic_circuit(np.random.default_rng(seed)), 4000,
                                    **WAYS[seed % len(WAYS)]))]
    assert not wrong


def test_variables_of_a_loop_that_runs():
    circuit = QuantumCircuit(2, 8)
    count = circuit.add_var("count", expr.lift(0, types.Uint(8)))
    half = circuit.add_var("half", expr.lift(1.0))
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.while_loop(expr.logic_and(expr.less(count, 5), circuit.clbits[0])):
        circuit.h(0)
        circuit.measure(0, 0)
        circuit.store(count, expr.add(count, expr.lift(1, types.Uint(8))))
        circuit.store(half, expr.div(half, expr.lift(2.0)))
    with circuit.if_test(expr.equal(count, expr.lift(3, types.Uint(8)))):
        circuit.x(1)
        circuit.measure(1, 1)
    with circuit.if_test(expr.less(half, expr.lift(0.2))):
        circuit.measure(1, 2)
    found, expected = outcomes(circuit, 20000)
    assert set(found) == set(expected) and agree(found, expected)
    # 0, 1 or 2 turns; exactly 3 turns (half = 1/8); 4 turns; 5 turns, the last of them with one more throw
    assert abs(found["00000110"] / 20000 - 1 / 16) < 0.01


def test_loops_inside_loops():
    circuit = QuantumCircuit(2, 4)
    turns = circuit.add_var("turns", expr.lift(0, types.Uint(2)))
    circuit.h([0, 1])
    circuit.measure([0, 1], [0, 1])
    with circuit.while_loop((circuit.clbits[0], 1)):
        with circuit.while_loop((circuit.clbits[1], 1)):
            circuit.store(turns, expr.add(turns, expr.lift(1, types.Uint(2))))
            circuit.h(1)
            circuit.measure(1, 1)
        circuit.h([0, 1])
        circuit.measure([0, 1], [0, 1])
        with circuit.if_test(expr.equal(turns, expr.lift(3, types.Uint(2)))):
            circuit.break_loop()
    with circuit.if_test(expr.index(turns, 0)):
        circuit.reset(0)
        circuit.x(0)
        circuit.measure(0, 2)
    with circuit.if_test(expr.less(expr.lift(1, types.Uint(2)), turns)):
        circuit.reset(0)
        circuit.x(0)
        circuit.measure(0, 3)
    found, expected = outcomes(circuit, 20000)
    assert len(expected) > 5 and agree(found, expected)


def test_inputs():
    angle, circuit = Parameter("θ"), QuantumCircuit(1, 1)
    circuit.rx(angle * 2, 0)
    circuit.measure(0, 0)
    assert tw.sample(read(circuit, {"θ": np.pi / 2}), 20) == {"1": 20}
    assert read(circuit).parameters == (tw.Parameter("θ"),)
    assert tw.sample(read(circuit).bind([np.pi / 2]), 20) == {"1": 20}
    with pytest.raises(ValueError, match="the parameter 'θ' has no value"):
        tw.sample(read(circuit), 20)
    with pytest.raises(ValueError, match="the program has no input 'x'"):
        read(circuit, {"θ": 1, "x": 2})
    circuit = QuantumCircuit(1, 1, inputs=[expr.Var.new("n", types.Uint(4)), expr.Var.new("on", types.Bool())])
    with circuit.if_test(expr.logic_and(expr.less(circuit.get_var("n"), 5), circuit.get_var("on"))):
        circuit.x(0)
    circuit.measure(0, 0)
    for n, on, bit in ((4, True, "1"), (5, True, "0"), (4, False, "0")):
        assert tw.sample(read(circuit, {"n": n, "on": on}), 5) == {bit: 5}
    with pytest.raises(ValueError, match="only programs in OpenQASM 3 have inputs"):
        tw.Circuit.from_qasm("qreg q[1];", {"a": 1})
    with pytest.raises(ValueError, match="input 'n' must be an integer"):
        read(circuit, {"n": 0.5, "on": 1})


def test_times_and_boxes():
    circuit = QuantumCircuit(2, 2)
    circuit.h(0)
    circuit.delay(100, 0, "ns")
    circuit.delay(12, 1, "dt")
    stretch = circuit.add_stretch("s")
    circuit.delay(expr.add(stretch, Duration.us(10)), 1)
    with circuit.box(duration=200, unit="ns"):
        circuit.cx(0, 1)
    circuit.measure([0, 1], [0, 1])
    assert set(outcomes(circuit)[0]) == {"00", "11"}


def test_bits_in_several_registers():
    q, c = [Qubit() for _ in range(4)], [Clbit() for _ in range(3)]
    circuit = QuantumCircuit(q, c, QuantumRegister(bits=q[1:3], name="a"), QuantumRegister(bits=q[2:4], name="b"),
                             ClassicalRegister(bits=c[:2], name="c"), ClassicalRegister(bits=c[1:], name="d"))
    circuit.h(q[1])
    circuit.cx(q[1], q[3])
    circuit.measure(q[1], c[0])
    circuit.measure(q[3], c[2])
    with circuit.if_test((circuit.cregs[1], 2)):
        circuit.x(q[0])
        circuit.measure(q[0], c[1])
    assert set(tw.sample(read(circuit, allow_aliasing=True), 200)) == {"0 0 0", "1 1 1"}


@pytest.mark.parametrize("options", [{}, {"experimental": SWITCH_V1}])
def test_switch(options):
    circuit = QuantumCircuit(3, 3)
    circuit.h([0, 1])
    circuit.measure([0, 1], [0, 1])
    with circuit.switch(circuit.cregs[0]) as case:
        with case(0, 3):
            circuit.x(2)
        with case(1):
            circuit.h(2)
        with case(case.DEFAULT):
            circuit.z(2)
    circuit.measure(2, 2)
    found, expected = outcomes(circuit, 4000, **options)
    assert set(found) == {"100", "001", "101", "010", "111"} and agree(found, expected)


def test_physical_qubits_of_a_transpiled_circuit():
    from qiskit.transpiler import CouplingMap
    circuit = QuantumCircuit(4, 4)
    circuit.h(0)
    circuit.cx(0, 3)
    circuit.crx(0.3, 3, 1)
    circuit.measure(range(4), range(4))
    lowered = transpile(circuit, coupling_map=CouplingMap.from_line(5), basis_gates=["cx", "rz", "sx", "x"],
                        initial_layout=[0, 1, 3, 4], seed_transpiler=1)
    found, expected = outcomes(lowered, 4000)
    assert agree(found, expected) and agree(found, tw.sample(from_qiskit(circuit), 4000, seed=3))


# --- what depends on measurements, written by hand, against the same with a switch in Aer

def prepared(rng, n):
    """A Qiskit circuit that puts two random bits into c, and the text that does the same."""
    circuit = QuantumCircuit(QuantumRegister(n, "q"), ClassicalRegister(2, "c"), ClassicalRegister(n, "r"))
    text = f'OPENQASM 3.0; include "stdgates.inc"; qubit[{n}] q; bit[2] c; bit[{n}] r;\n'
    for q in range(n):
        angles = [float(a) for a in rng.uniform(-3, 3, 3)]
        circuit.u(*angles, q)
        text += f"u({angles[0]!r}, {angles[1]!r}, {angles[2]!r}) q[{q}];\n"
    for q in range(n - 1):
        circuit.cx(q, q + 1)
        text += f"cx q[{q}], q[{q + 1}];\n"
    circuit.measure([0, 1], [0, 1])
    return circuit, text + "c = measure q[0:1];\n"


def in_cases(circuit, body):
    """body(v) for every value v of c."""
    with circuit.switch(circuit.cregs[0]) as case:
        for v in range(4):
            with case(v):
                body(v)


def angle(circuit, a, b):
    in_cases(circuit, lambda v: circuit.rzx(a * v + b, 1, 2))
    return f"uint[2] v = c; rzx({a!r} * v + {b!r}) q[1], q[2];"


def function_of_angle(circuit, a, b):
    in_cases(circuit, lambda v: circuit.u(a * np.cos(b * v), 2.0 ** -v, v % 3, 2))
    return f"uint[2] v = c; U({a!r} * cos({b!r} * v), 2.0 ** -int(v), v % 3) q[2];"


def under_modifiers(circuit, a, b):
    from qiskit.circuit.library import RYGate
    in_cases(circuit, lambda v: (circuit.append(RYGate(a * v).inverse().control(1, ctrl_state=0), [0, 2]),
                                 circuit.ry(2 * (b + v), 1)))
    return f"negctrl @ inv @ ry({a!r} * int(c)) q[0], q[2]; pow(2) @ ry({b!r} + int(c)) q[1];"


def index(circuit, a, b):
    in_cases(circuit, lambda v: (circuit.ry(a, v % 3), circuit.crx(b, v % 3, (v + 1) % 3)))
    return f"int i = int[64](int(c) % 3); ry({a!r}) q[i]; crx({b!r}) q[i], q[(i + 1) % 3];"


def measured_index(circuit, a, b):
    in_cases(circuit, lambda v: (circuit.ry(a, v % 3), circuit.measure(v % 3, circuit.cregs[1][2 - v % 3]),
                                 circuit.reset((v + 1) % 3)))
    return f"int i = int(c) % 3; ry({a!r}) q[i]; r[2 - i] = measure q[i]; reset q[(i + 1) % 3];"


def loop(circuit, a, b):
    in_cases(circuit, lambda v: [circuit.ry(a * k + b, k % 3) for k in range(v, -1, -1)])
    return f"for int k in [int(c):-1:0] {{ ry({a!r} * k + {b!r}) q[k % 3]; }}"


def subroutine(circuit, a, b):
    def body(v):
        for k in range(min(v, 2)):
            circuit.ry(a, 2)
        if v == 3:
            circuit.rx(b, 2)
    in_cases(circuit, body)
    return (f"turn(q[2], c);", f"def turn(qubit x, bit[2] v) {{ for int k in [0:2] {{ if (k == int(v)) return;"
            f" if (k == 2) {{ rx({b!r}) x; return; }} ry({a!r}) x; }} }}\n")


@pytest.mark.parametrize("how", [angle, function_of_angle, under_modifiers, index, measured_index, loop, subroutine],
                         ids=lambda f: f.__name__)
def test_what_depends_on_measurements_does_as_in_aer(how):
    aer = pytest.importorskip("qiskit_aer")
    theirs = aer.AerSimulator()
    for seed in range(3):
        rng = np.random.default_rng(100 + seed)
        circuit, text = prepared(rng, 3)
        added = how(circuit, float(rng.uniform(0.3, 2)), float(rng.uniform(0.3, 2)))
        before, added = (added[1], added[0]) if isinstance(added, tuple) else ("", added)
        head, rest = text.split("\n", 1)
        if how is not measured_index:
            circuit.measure(range(3), circuit.cregs[1])
            added += " r = measure q;"
        found = tw.sample(tw.Circuit.from_qasm(f"{head}\n{before}{rest}{added}\n"), 20000, seed=1)
        expected = theirs.run(transpile(circuit, theirs, optimization_level=0), shots=2000, seed_simulator=2)
        assert agree(found, expected.result().get_counts()), (seed, added)
