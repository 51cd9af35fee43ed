"""Braket's local simulator "tilewave" against the default simulator, and gradients against published numbers."""
from importlib.metadata import entry_points

import numpy as np
import pytest

pytest.importorskip("braket.circuits", reason="amazon-braket-sdk is not installed")
pytest.importorskip("braket.default_simulator", reason="amazon-braket-default-simulator is not installed")
from braket.circuits import Circuit, FreeParameter, Observable, gates  # noqa: E402
from braket.circuits.gate import Gate  # noqa: E402
from braket.devices import LocalSimulator  # noqa: E402
from braket.ir.openqasm import Program  # noqa: E402
from scipy.linalg import fractional_matrix_power  # noqa: E402

import tilewave as tw  # noqa: E402
from tilewave.braket import TilewaveSimulator  # noqa: E402

THEIRS = LocalSimulator("braket_sv")


def ours(**options):
    return LocalSimulator(TilewaveSimulator(**options))


def same(circuit, inputs=None, simulator=None):
    found = (simulator or ours()).run(circuit, inputs=inputs).result().values
    expected = THEIRS.run(circuit, inputs=inputs).result().values
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        if isinstance(a, dict):
            assert set(a) == set(b) and all(np.isclose(a[k], b[k], atol=1e-12) for k in a)
        else:
            assert np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-12)


def before():
    circuit = Circuit()
    for k in range(4):
        circuit.ry(k, 0.3 + 0.2 * k).rz(k, 0.7 - 0.3 * k)
    return circuit


GATES = sorted(name for name, kind in vars(gates).items() if isinstance(kind, type) and issubclass(kind, Gate)
               and kind is not Gate and name not in ("PulseGate", "Unitary", "AngledGate", "DoubleAngledGate", "TripleAngledGate"))


@pytest.mark.parametrize("name", GATES)
def test_every_gate_with_numbers_symbols_controls_and_powers(name):
    rng = np.random.default_rng(len(name))
    kind = getattr(gates, name)
    count = {"U": 3, "MS": 3, "PRx": 2}.get(name, 1 if hasattr(kind, "angle") else 0)
    numbers = rng.uniform(-3, 3, count)
    plain = kind(*numbers)
    if name == "GPhase":
        same(before().gphase(numbers[0]).state_vector())
        return same(before().gphase(2 * FreeParameter("p")).state_vector(), {"p": numbers[0]})
    targets = [int(k) for k in rng.permutation(4)[:plain.qubit_count]]
    free = [k for k in range(4) if k not in targets]
    for options in ({}, {"control": free[:1], "control_state": [0]}, {"control": free[:1], "power": 2}, {"power": 0.5}):
        if options.get("control") == []:
            continue
        circuit = before().add_instruction(_instruction(plain, targets, options)).state_vector()
        found = ours().run(circuit).result().values[0]
        # the default simulator forgets the powers of some gates
        assert np.allclose(found, acted_on(plain.to_matrix(), targets, **options), atol=1e-12), options
    if count:
        symbols = [FreeParameter(f"p{k}") for k in range(count)]
        bound = kind(*(s + 0.1 if k else 2 * s for k, s in enumerate(symbols)))
        circuit = before().add_instruction(_instruction(bound, targets, {})).state_vector()
        simulator = ours()
        for _ in range(2):
            same(circuit, {s.name: float(rng.uniform(-3, 3)) for s in symbols}, simulator)


def acted_on(matrix, targets, control=(), control_state=(1,), power=1):
    state = THEIRS.run(before().state_vector()).result().values[0].reshape((2,) * 4)
    k = len(targets)
    tensor = fractional_matrix_power(matrix, power).reshape((2,) * (2 * k))
    moved = np.moveaxis(np.tensordot(tensor, state, (range(k, 2 * k), targets)), range(k), targets)
    for qubit in control:
        taken = np.arange(2).reshape([2 if axis == qubit else 1 for axis in range(4)]) == control_state[0]
        moved = np.where(taken, moved, state)
    return moved.reshape(-1)


def _instruction(gate, targets, options):
    from braket.circuits import Instruction
    return Instruction(gate, targets, **options)


def test_result_types():
    rng = np.random.default_rng(1)
    a = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))
    big = rng.normal(size=(32, 32))
    unitary = np.linalg.qr(a)[0]
    circuit = before().cnot(0, 2).unitary(matrix=unitary, targets=[3, 1]).xx(1, 2, 0.4)
    for name, arguments in [
            ("expectation", (Observable.X(), 0)),
            ("expectation", (Observable.Y() @ Observable.H() @ Observable.Z(), [3, 1, 0])),
            ("expectation", (Observable.Hermitian(a + a.conj().T), [2, 0])), ("expectation", (Observable.Z(),)),
            ("expectation", (Observable.Hermitian(a + a.conj().T) @ Observable.I() @ Observable.Y(), [0, 1, 2, 3])),
            ("variance", (Observable.H(), 2)), ("variance", (Observable.Hermitian(a + a.conj().T), [1, 2])),
            ("variance", (Observable.X() @ Observable.Y(), [0, 3])), ("probability", ([2, 0],)), ("probability", ()),
            ("density_matrix", ([1, 3],)), ("density_matrix", ()), ("state_vector", ()),
            ("amplitude", (["0000", "0110", "1011"],))]:
        same(getattr(circuit.copy(), name)(*arguments))
    wide = before().cnot(3, 4).expectation(Observable.Hermitian(big + big.T), range(5))
    same(wide)
    apart = Circuit().h(2).cnot(2, 7).rx(5, 0.3).expectation(Observable.Z() @ Observable.Y(), [7, 5]).probability([5])
    same(apart)


def test_shots():
    circuit = Circuit().ry(0, 0.8).cnot(0, 3).h(1)
    result = ours(seed=1).run(circuit, shots=20000).result()
    assert set(result.measurement_counts) == {"000", "010", "101", "111"}
    ones = sum(count for bits, count in result.measurement_counts.items() if bits[0] == "1") / 20000
    assert abs(ones - np.sin(0.4) ** 2) < 0.02
    again = ours(seed=1).run(circuit, shots=20000).result()
    assert np.array_equal(result.measurements, again.measurements)
    asked = Circuit().ry(0, 0.8).cnot(0, 1).expectation(Observable.X() @ Observable.X(), [0, 1]).sample(Observable.X(), 0)
    values = ours(seed=2).run(asked, shots=20000).result().values
    assert abs(values[0] - np.sin(0.8)) < 0.03 and len(values[1]) == 20000
    partly = Circuit().x(0).h(1).measure(0)
    assert ours().run(partly, shots=50).result().measurement_counts == {"1": 50}


def test_a_program_is_read_once_and_bound_for_each_run(monkeypatch):
    simulator = TilewaveSimulator()
    reads = []
    original = simulator._read
    monkeypatch.setattr(simulator, "_read", lambda source: reads.append(source) or original(source))
    theta, phi = FreeParameter("theta"), FreeParameter("phi")
    circuit = Circuit().rx(0, theta).ry(1, 2 * phi - 1).cphaseshift(0, 1, theta)
    circuit.expectation(Observable.X() @ Observable.Y(), [0, 1])
    device = LocalSimulator(simulator)
    for values in ((0.1, 0.2), (0.3, -0.4), (0.0, 0.5)):
        inputs = dict(zip(("theta", "phi"), values))
        found, expected = (d.run(circuit, inputs=inputs).result().values[0] for d in (device, THEIRS))
        assert np.isclose(found, expected)
    assert len(reads) == 1
    batch = device.run_batch(circuit, inputs=[{"theta": 0.1 * k, "phi": 1.0} for k in range(4)]).results()
    for k, result in enumerate(batch):
        assert np.isclose(result.values[0], THEIRS.run(circuit, inputs={"theta": 0.1 * k, "phi": 1.0}).result().values[0])
    assert len(reads) == 1
    with pytest.raises(NameError, match="Missing input variable 'phi'"):
        simulator.run(Program(source=reads[0], inputs={"theta": 0.1}))


CONTROL_FLOW = """
OPENQASM 3.0;
input int n;
input float theta;
qubit[2] q;
bit[2] b;
for int k in [1:n] { ry(theta) q[0]; }
b[0] = measure q[0];
if (b[0] == 1) { x q[1]; }
b[1] = measure q[1];
"""


def test_control_flow_is_read_with_its_inputs():
    for n, theta in ((1, np.pi), (2, np.pi), (3, 0.4)):
        result = ours(seed=3).run(Program(source=CONTROL_FLOW, inputs={"n": n, "theta": theta}), shots=4000).result()
        counts, p = result.measurement_counts, np.sin(n * theta / 2) ** 2
        assert set(counts) <= {"00", "11"} and abs(counts["11"] / 4000 - p) < 0.05
    reset = "OPENQASM 3.0; qubit[2] q; h q[0]; cnot q[0], q[1]; reset q[0];"
    counts = ours(seed=1).run(Program(source=reset), shots=4000).result().measurement_counts
    assert set(counts) == {"00", "01"} and abs(counts["01"] / 4000 - 0.5) < 0.05  # the default simulator has them in one state
    mean = ours().run(Program(source=reset + "\n#pragma braket result expectation z(q[1])\n"), shots=0).result().values
    assert np.isclose(mean[0], 0)


# --- gradients

def gradient(circuit, inputs, **options):
    (value,) = ours(**options).run(circuit, inputs=inputs).result().values
    return value["expectation"], value["gradient"]


def test_gradients_are_those_of_sv1():
    theta = FreeParameter("theta")
    observable = (-2 * Observable.Y()) @ (3 * Observable.I()) + 0.75 * Observable.Y() @ Observable.Z()
    circuit = Circuit().rx(0, theta).adjoint_gradient(observable=observable, target=[[0, 1], [2, 3]], parameters=["theta"])
    result = ours().run(circuit, inputs={"theta": 0.2}).result()
    assert np.isclose(result.values[0]["expectation"], 1.1920159847703675, atol=1e-12)  # published
    assert np.isclose(result.values[0]["gradient"]["theta"], 5.880399467047451, atol=1e-12)
    assert result.result_types[0].type.observable == "-6 * y @ i + 0.75 * y @ z"
    sums = Circuit().rx(0, theta).adjoint_gradient(observable=2 * Observable.X() + 3 * Observable.Y() - Observable.Z(),
                                                   target=[[0], [1], [2]], parameters=["theta"])
    result = ours().run(sums, inputs={"theta": 0.2}).result()
    assert result.values == [{"expectation": pytest.approx(-1), "gradient": {"theta": pytest.approx(0)}}]
    assert result.result_types[0].type.observable == "2 * x + 3 * y - 1 * z"


def test_gradients_are_slopes():
    rng = np.random.default_rng(2)
    a, b, c = (FreeParameter(name) for name in ("alpha", "beta", "gamma"))
    matrix = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))
    observable = (0.3 * Observable.Hermitian(matrix + matrix.conj().T) + 1.5 * Observable.H() @ Observable.Y()
                  - 0.7 * Observable.X())
    circuit = before().rx(0, a * b).xy(1, 2, 2 * b - 1).ms(0, 3, a, c ** 2, b).prx(1, c, a).u(2, a, b, c).pswap(0, 1, c)
    circuit.gpi(3, b).cphaseshift01(1, 3, a)
    targets = [[2, 0], [1, 3], [0]]
    asked = circuit.copy().adjoint_gradient(observable=observable, target=targets)
    inputs = {"alpha": 0.4, "beta": -1.1, "gamma": 0.7}
    value, slopes = gradient(asked, inputs)

    def energy(inputs):
        state = THEIRS.run(circuit.copy().state_vector(), inputs=inputs).result().values[0].reshape((2,) * 4)
        total = 0.0
        for term, qubits in zip(observable.summands, targets):
            k = len(qubits)
            tensor = term.to_matrix().reshape((2,) * (2 * k))
            moved = np.moveaxis(np.tensordot(tensor, state, (range(k, 2 * k), qubits)), range(k), qubits)
            total += np.vdot(state, moved).real
        return total
    assert np.isclose(value, energy(inputs), atol=1e-11) and set(slopes) == set(inputs)
    for name in inputs:
        h = 1e-5
        slope = (energy({**inputs, name: inputs[name] + h}) - energy({**inputs, name: inputs[name] - h})) / (2 * h)
        assert np.isclose(slopes[name], slope, atol=1e-8), name
    some = circuit.copy().adjoint_gradient(observable=observable, target=targets, parameters=["beta"])
    assert gradient(some, inputs)[1] == {"beta": pytest.approx(slopes["beta"])}
    single = gradient(asked, inputs, precision="single")
    assert np.isclose(single[0], value, atol=1e-4) and np.isclose(single[1]["alpha"], slopes["alpha"], atol=1e-3)


DECLARED = """gate turn x, y { rx(1.1) x; cnot x, y; }
gate phase x { gphase(0.7); rx(0.3) x; }
gate both x, y { pow(2) @ turn x, y; inv @ phase y; }
gate scaled(a) x { gphase(a / 2); pow(3) @ rz(-a) x; }
"""


@pytest.mark.parametrize("call", [
    "pow(2) @ turn q[0], q[1];", "pow(-3) @ turn q[0], q[1];", "pow(0) @ turn q[0], q[1];", "ctrl @ turn q[2], q[0], q[1];", "both q[0], q[1];",
    "ctrl @ phase q[0], q[1];", "negctrl @ phase q[0], q[1];", "ctrl(2) @ phase q[0], q[1], q[2];", "negctrl @ ctrl @ phase q[0], q[1], q[2];",
    "ctrl @ both q[2], q[0], q[1];", "inv @ pow(2) @ both q[0], q[1];", "pow(2) @ ctrl @ phase q[0], q[1];", "inv @ phase q[0];",
    "ctrl @ inv @ scaled(t) q[0], q[1];", "pow(1 + 1) @ ctrl @ scaled(2 * t) q[1], q[2];", "ctrl @ gphase(0.4) q[0];",
    "negctrl @ gphase(t) q[0];", "negctrl(2) @ gphase(0.4) q[0], q[1];", "pow(2) @ ctrl @ gphase(0.4) q[0];", "pow(2) @ inv @ gphase(0.3);"])
def test_modifiers_of_declared_gates_mean_what_openqasm_says(call):
    # the default simulator hands them to each statement of the body, and forgets phases
    text = f"{DECLARED}rx(0.3) q[0]; ry(0.5) q[1]; h q[2]; {call}"
    asked = f"OPENQASM 3.0; input float t; qubit[3] q;\n{text}\n#pragma braket result state_vector\n"
    found = ours().run(Program(source=asked, inputs={"t": 0.37})).result().values[0]
    own = f"""OPENQASM 3.0; include "stdgates.inc"; input float t; gate cnot x, y {{ cx x, y; }} qubit[3] q; {text}"""
    right = tw.simulate(tw.Circuit.from_qasm(own, inputs={"t": 0.37}))
    assert np.allclose(found, np.asarray(right).reshape(2, 2, 2).T.reshape(-1), atol=1e-12)


def test_modifiers_of_declared_gates_in_steered_programs():
    text = f"""OPENQASM 3.0; qubit[2] q; bit[2] c; {DECLARED} gate flip x {{ rx(pi / 2) x; h x; h x; }} gate half x {{ gphase(pi / 2); }}
        for int i in [0:0] {{ pow(2) @ flip q[0]; }} c[0] = measure q[0];
        if (c[0] == 1) {{ h q[0]; pow(2) @ ctrl @ half q[0], q[1]; h q[0]; x q[1]; }} c[0] = measure q[0]; c[1] = measure q[1];"""
    assert ours().run(Program(source=text), shots=50).result().measurement_counts == {"01": 50}


def test_shots_of_clifford_circuits_that_no_memory_holds():
    text = "OPENQASM 3.0; qubit[70] q; bit[70] b; h q[0]; {} b = measure q;"
    chain = "".join(f"cnot q[{k}], q[{k + 1}]; " for k in range(69))
    for body in (chain, "for int i in [0:68] { cnot q[i], q[i + 1]; }", chain + "reset q[5]; "):
        counts = TilewaveSimulator(seed=1).run(Program(source=text.replace("{}", body)), shots=200).measurements
        rows = {"".join(map(str, row)) for row in counts}
        assert rows == {"0" * 70, "1" * 5 + ("0" if "reset" in body else "1") + "1" * 64}
    asked = "OPENQASM 3.0; qubit[70] q; h q[0]; " + chain + "\n#pragma braket result expectation x(q[0]) @ x(q[1])\n"
    rows = np.array(TilewaveSimulator(seed=1).run(Program(source=asked), shots=2000).measurements).astype(int)
    assert abs(np.mean((-1.0)**(rows[:, 0] + rows[:, 1]))) < 0.12 and (rows[:, 2:] == rows[:, 2:3]).all()  # in the basis of X
    result = TilewaveSimulator().run(Program(source=asked.replace("x(q[1])", "x(q[1])\n#pragma braket result expectation z(q[0]) @ z(q[69])")))
    assert [value.value for value in result.resultTypes] == [0, 1]
    with pytest.raises(MemoryError, match="cannot place 70 qubits.*the gate is not Clifford"):
        TilewaveSimulator().run(Program(source=asked.replace("h q[0];", "h q[0]; t q[0];")), shots=0)


def test_errors():
    simulator = TilewaveSimulator()
    text = "OPENQASM 3.0; input float t; qubit[1] q; rx(t) q[0];\n#pragma braket result adjoint_gradient expectation({}) t\n"
    for program, inputs, shots, kind, message in [
            (text.format("z(q[0])"), {"t": 1.0}, 10, ValueError, "exact: ask for shots=0"),
            (text.format("z(q[4])"), {"t": 1.0}, 0, ValueError, "not declared"),
            (text.format("w(q[0])"), {"t": 1.0}, 0, ValueError, "not understood"),
            (text.format("hermitian([[0, 1], [0, 0]]) q[0]"), {"t": 1.0}, 0, ValueError, "not Hermitian"),
            (text.format("z(q[0])").replace(") t\n", ") u\n"), {"t": 1.0}, 0, ValueError, "by 'u': the program has no such input, it has t"),
            (text.format("z(q[0])").replace("rx(t)", "if (t > 0) rx(t)"), {"t": 1.0}, 0, ValueError, "without control flow"),
            (text.format("z(q[0])").replace("rx(t)", "pow(0.5) @ rx(t)"), {"t": 1.0}, 0, ValueError, "without powers .* whose angles depend"),
            (text.format("z(q[0])").replace("rx(t)", "pow(0.5) @ rx(t)"), {}, 0, NameError, "'t': the program has a free parameter"),
            (text.format("z(q[0])").replace("rx(t)", "gate g x { rx(1) x; } pow(0.5) @ g"), {"t": 1.0}, 0, ValueError, "declares take whole powers"),
            (text.format("z(q[0])").replace("rx(t)", "gate g x { rx(1) x; } pow(t) @ g"), {"t": 1.0}, 0, ValueError, "declares take whole powers"),
            (text.format("z(q[0])").replace("rx(t)", "if (t > 0) rx(t)"), {}, 0, NameError, "'t': the program has a free parameter"),
            (text.format("z(q[0])"), {}, 0, NameError, "'t': the program has a free parameter without a value, give run"),
            (text.format("z(q[0])"), {"t": 1.0}, 2.5, TypeError, "^shots is 2.5 .float.: give a whole number"),
            (text.format("z(q[0])"), {"t": 1.0}, float("nan"), TypeError, "^shots is nan .float.: give a whole number"),
            (text.format("z(q[0])"), {"t": 1.0}, True, TypeError, "^shots is True .bool.: give a whole number"),
            (text.format("z(q[0])"), {"t": 1.0}, -1, ValueError, "^-1 shots cannot be taken: ask for 0 or more"),
            (text.format("z(q[0])"), {"t": 1.0}, 10**12, ValueError, "^at most 100000000 shots in one run"),
            ("OPENQASM 3.0; qubit[1] q; h q[0];", {}, 0, ValueError, "Result types must be specified"),
            ("OPENQASM 3.0; qubit[1] q; h q[0]; reset q[0];\n#pragma braket result state_vector\n", {}, 0, ValueError,
             "no single state"),
            ("OPENQASM 3.0; qubit[1] q; h q[0];\n#pragma braket noise bit_flip(0.1) q[0]\n", {}, 10, TypeError, "Noise")]:
        with pytest.raises(kind, match=message):
            simulator.run(Program(source=program, inputs=inputs), shots=shots)
    with pytest.raises(ValueError, match="the input 't' is nan: give a finite number"):  # Braket's own check is of Program(...) only
        simulator.run(Program.construct(source=text.format("z(q[0])"), inputs={"t": float("nan")}), shots=0)


def test_braket_finds_the_simulator_and_its_properties():
    properties = TilewaveSimulator().properties
    action = properties.action["braket.ir.openqasm.program"]
    assert "AdjointGradient" in [kind.name for kind in action.supportedResultTypes]
    assert properties.paradigm.qubitCount == tw._core._most_qubits("double")
    if any(e.name == "tilewave" for e in entry_points(group="braket.simulators")):
        assert LocalSimulator("tilewave").run(Circuit().x(0), shots=5).result().measurement_counts == {"1": 5}
