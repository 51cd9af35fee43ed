"""Building circuits and running them."""
import gc
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tilewave as tw
from wide_circuits import all_qubits

ROOT = Path(os.environ["TILEWAVE_ROOT"])


def random_circuit(rng, n, num_gates):
    circuit = tw.Circuit(n)
    for _ in range(num_gates):
        a, b = (int(q) for q in rng.choice(n, 2, replace=False))
        kind = rng.integers(5)
        if kind == 0:
            circuit.h(a)
        elif kind == 1:
            circuit.u(*map(float, rng.random(3)), a)
        elif kind == 2:
            circuit.cx(a, b)
        elif kind == 3:
            circuit.rzz(float(rng.random()), a, b)
        else:
            circuit.swap(a, b)
    return circuit


def dense(state, matrix, qubits):
    """matrix on qubits (the first is the lowest bit of its index) of a state."""
    n = int(np.log2(state.size))
    axes = [n - 1 - q for q in reversed(qubits)]
    tensor = np.moveaxis(state.reshape([2] * n), axes, range(len(axes)))
    shape = tensor.shape
    tensor = (matrix @ tensor.reshape(2 ** len(qubits), -1)).reshape(shape)
    return np.moveaxis(tensor, range(len(axes)), axes).reshape(-1)


def test_bell_pair():
    bell = tw.Circuit(2).h(0).cx(0, 1)
    np.testing.assert_allclose(tw.simulate(bell), np.array([1, 0, 0, 1]) / np.sqrt(2), atol=1e-15)
    assert tw.expectation(bell, "XX") == pytest.approx(1)
    assert tw.expectation(bell, {"ZZ": 2, "XI": 5, "YY": 0.5}) == pytest.approx(1.5)
    assert tw.expectation(bell, [("Z0 Z1", 1j)]) == pytest.approx(1j)
    counts = tw.sample(bell.copy().measure_all(), 1000, seed=4)
    assert set(counts) == {"00", "11"} and sum(counts.values()) == 1000


def test_methods_return_the_circuit_itself():
    circuit = tw.Circuit(1)
    assert circuit.h(0) is circuit and type(circuit) is tw.Circuit
    assert type(circuit.copy()) is tw.Circuit and len(circuit.copy().x(0)) == 2 and len(circuit) == 1


def test_a_circuit_equals_what_is_read_of_it():
    circuit = tw.Circuit(1, 1).h(0).measure(0, 0)
    circuit.x(circuit.add_qreg("anc", 2)).c_if(0, 1)
    read = tw.Circuit.from_qasm(circuit.to_qasm())
    assert read == circuit == tw.Circuit.from_qasm("\n\n" + circuit.to_qasm())  # wherever the lines are
    assert read != circuit.copy().h(1) and read != tw.Circuit.from_qasm(circuit.to_qasm().replace("h q", "y q"))


def test_every_gate_has_a_method():
    for name in tw.gate_names():
        assert callable(getattr(tw.Circuit, name)), name


@pytest.mark.parametrize("n", [1, 2, 5, 11, 15, 16, 17, 18])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_states_in_order_of_basis_states(n, precision):
    # beyond 13 qubits the engine keeps its rows in another order
    rng = np.random.default_rng(n)
    matrices = [np.linalg.qr(rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)))[0] for _ in range(2 * n)]
    circuit, expected = tw.Circuit(n), np.zeros(2**n, complex)
    expected[0] = 1
    for k, matrix in enumerate(matrices):
        circuit.unitary(matrix, [k % n])
        expected = dense(expected, matrix, [k % n])
        if n > 1:
            circuit.cx(k % n, (k + 1) % n)
            expected = dense(expected, np.eye(4)[[0, 3, 2, 1]], [k % n, (k + 1) % n])
    state = tw.simulate(circuit, precision=precision)
    assert state.dtype == (np.complex128 if precision == "double" else np.complex64)
    np.testing.assert_allclose(state, expected, atol=1e-12 if precision == "double" else 1e-5)
    answers = tw.State(circuit, precision)
    tolerance = 1e-12 if precision == "double" else 1e-5
    np.testing.assert_allclose(answers.probabilities(), abs(expected) ** 2, atol=tolerance)
    np.testing.assert_allclose(answers.amplitudes([0, 2**n - 1]), expected[[0, -1]], atol=tolerance)
    np.testing.assert_allclose(answers.take(), expected, atol=tolerance)
    with pytest.raises(ValueError, match="taken away"):
        answers.norm()


def test_arrays_are_not_copied_and_outlive_their_state():
    state = tw.simulate(random_circuit(np.random.default_rng(1), 16, 60))
    assert state.flags.c_contiguous and state.flags.writeable and not state.flags.owndata
    before = state.copy()
    gc.collect()
    tw.simulate(random_circuit(np.random.default_rng(2), 16, 60))
    np.testing.assert_array_equal(state, before)
    again = np.from_dlpack(state)
    assert again.__array_interface__["data"] == state.__array_interface__["data"]


def test_plans_are_kept_until_the_circuit_changes():
    circuit = random_circuit(np.random.default_rng(3), 6, 40)
    first = tw.simulate(circuit)
    np.testing.assert_array_equal(first, tw.simulate(circuit))
    circuit.x(3)
    np.testing.assert_allclose(tw.simulate(circuit), first.reshape(4, 2, 8)[:, ::-1].reshape(-1), atol=1e-14)


def test_several_threads_share_a_circuit():
    circuit = random_circuit(np.random.default_rng(4), 12, 200)
    expected, wrong = tw.simulate(circuit), []

    def work():
        for _ in range(20):
            if not np.array_equal(tw.simulate(circuit), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_interpreter_runs_while_a_circuit_does():
    circuit = random_circuit(np.random.default_rng(5), 21, 400)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (tw.simulate(circuit), done.set()))
    ticks = 0
    thread.start()
    while not done.wait(0.001):
        ticks += 1
    thread.join()
    assert ticks > 3


@pytest.mark.parametrize("ask", [tw.simulate, lambda c: tw.run(c, 10, seed=1).counts,
                                 lambda c: tw.sample(c, 2, seed=1, engine="trajectories", noise={
                                     "channels": [{"after": "h", "channel": "depolarizing", "p": 1e-5}]})],
                         ids=["simulate", "run", "trajectories"])
def test_an_interrupt_ends_a_run(ask):
    circuit = tw.Circuit(21)
    for k in range(150):  # a pass and more each
        for q in range(21):
            circuit.h(q).t(q)
            circuit.cx(q, (q + 1 + k % 19) % 21)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ask(circuit)
    stopped_s = time.monotonic() - start
    start = time.monotonic()
    again = ask(circuit)  # what was under way has left nothing behind
    whole_s = time.monotonic() - start
    assert stopped_s < 0.2 + 0.7 * whole_s, (stopped_s, whole_s)
    if ask is tw.simulate:
        np.testing.assert_array_equal(again, ask(circuit.copy()))


def test_shots():
    circuit = tw.Circuit(3, 3).h(0).cx(0, 1).measure(0, 2).measure(1, 0)
    bits = tw.sample_bits(circuit, 500, seed=7)
    assert bits.shape == (500, 3) and bits.dtype == np.bool_
    assert np.array_equal(bits[:, 0], bits[:, 2]) and not bits[:, 1].any() and 150 < bits[:, 0].sum() < 350
    keys = ["".join("01"[int(b)] for b in row[::-1]) for row in bits]
    counts = tw.sample(circuit, 500, seed=7)
    assert {key: keys.count(key) for key in set(keys)} == counts
    packed = tw.sample_bits(circuit, 500, seed=7, bit_packed=True)
    assert np.array_equal(packed, np.packbits(bits, axis=1, bitorder="little"))
    # neighbouring shots are independent: their order is that of the draws, not of the outcomes
    assert 0.3 < np.mean(bits[1:, 0] != bits[:-1, 0]) < 0.7


def test_shots_of_circuits_that_measure_in_the_middle():
    circuit = tw.Circuit(2, 2).h(0).measure(0, 0)
    circuit.x(1).c_if(0)
    circuit.measure(1, 1).reset(0).h(0)
    bits = tw.sample_bits(circuit, 400, seed=1)
    assert np.array_equal(bits[:, 0], bits[:, 1]) and 100 < bits[:, 0].sum() < 300
    assert tw.expectation(circuit, "IX", shots=100) == pytest.approx(1)
    state = tw.simulate(circuit, seed=3)
    assert np.count_nonzero(abs(state) > 1e-9) == 2
    with pytest.raises(ValueError, match="needs shots"):
        tw.expectation(circuit, "IX")


def test_no_shots_need_no_state():
    ghz = tw.Circuit(60).h(0)
    for k in range(59):
        ghz.cx(k, k + 1)
    beyond = tw.Circuit(60, 2)
    for k in range(60):
        beyond.h(k)
    beyond.ccx(0, 1, 2).cswap(3, 4, 5).measure(0, 0).x(1).c_if(0).measure(1, 1)
    steered = tw.Circuit(2, 2).h(0).measure(0, 0).x(1).c_if(0).measure(1, 1)
    damping = {"channels": [{"after": "all", "channel": "amplitude_damping", "gamma": 0.1}]}
    for circuit, bits in ((ghz, 60), (ghz.copy().measure_all(), 60), (beyond, 2), (steered, 2)):
        for noise in (None, damping):
            assert tw.sample(circuit, 0, noise=noise) == {}
            assert tw.sample_bits(circuit, 0, noise=noise).shape == (0, bits)
    result = tw.run(ghz, 0)
    assert result.engine == "stabilizer" and result.counts == {}
    assert tw.run(ghz, 0, observables="Z0 Z59").expectations == [1]
    assert tw.run(tw.Circuit(2).h(0), 0).norm == pytest.approx(1)
    with pytest.raises(ValueError, match="needs shots"):
        tw.run(steered, 0)


def test_measurements_that_never_happen_leave_bits_that_are_0():
    circuit = tw.Circuit(2, 3).h(0).measure(0, 0).c_if(1, 1)
    for engine in ("auto", "density", "stabilizer"):
        assert tw.sample(circuit, 50, seed=1, engine=engine) == {"000": 50}
    bits = tw.sample_bits(circuit, 50, seed=1)
    assert bits.shape == (50, 3) and not bits.any()


@pytest.mark.parametrize("value", [2, 3, 9, 2**63, 2**64, 2**64 + 1, 2**65 + 1, 2**200])
def test_conditions_that_their_bits_cannot_hold(value):
    """Whichever bits are 1: the value counts as a whole, on every engine."""
    for ones in (0, 1):
        for qubits in (2, 30):
            circuit = tw.Circuit(qubits, 2)
            if ones:
                circuit.x(0)
            circuit.measure(0, 0).x(1).c_if(0, value).measure(1, 1)
            for engine in ("auto", "stabilizer"):
                assert tw.sample(circuit, 20, engine=engine) == {f"0{ones}": 20}, (ones, qubits, engine)
        noise = {"channels": [{"after": ["h"], "channel": "bit_flip", "p": 0.25}]}
        noisy = tw.Circuit(3, 2)
        if ones:
            noisy.x(0)
        noisy.h(2).measure(0, 0).x(1).c_if(0, value).measure(1, 1)
        for engine in ("density", "trajectories", "stabilizer"):
            assert tw.sample(noisy, 20, noise=noise, engine=engine) == {f"0{ones}": 20}, (ones, engine)
    assert tw.sample(tw.Circuit(1, 2).x(0).c_if(0, value << 64, size=2).measure(0, 0), 5) == {"00": 5}
    assert tw.sample(tw.Circuit(1, 2).x(0).c_if(0, 1, size=0).measure(0, 0), 5) == {"00": 5}


def test_keys_of_registers_without_bits():
    """As Qiskit writes them: a blank between any two registers."""
    for sizes, key in [((2, 0), " 01"), ((0, 2), "01 "), ((0, 2, 0), " 01 "), ((1, 0, 1), "0  1"), ((2,), "01")]:
        circuit = tw.Circuit(1).x(0)
        for k, size in enumerate(sizes):
            circuit.add_creg(f"c{k}", size)
        assert tw.sample(circuit.measure(0, 0), 5) == {key: 5}


def test_more_than_64_classical_bits():
    circuit = tw.Circuit(2, 150).x(1)
    circuit.measure(1, 3).measure(1, 70).measure(1, 149).measure(0, 80)
    circuit.x(0).c_if(60, value=1 << 10, size=20)  # bit 70 alone
    circuit.measure(0, 0)
    bits = tw.sample_bits(circuit, 3)
    assert sorted(np.flatnonzero(bits[0])) == [0, 3, 70, 149]
    assert tw.sample_bits(circuit, 3, bit_packed=True).shape == (3, 19)


def test_run_answers_everything_at_once():
    circuit = tw.Circuit(3).h(0).cx(0, 1).cx(1, 2).measure_all()
    result = tw.run(circuit, 100, seed=5, probabilities=[0, 2], observables="0.5 ZZI + 2 Z0", record_steps=True,
                    explain=True)
    assert result.counts == tw.sample(circuit, 100, seed=5) and result.seed == 5
    np.testing.assert_allclose(result.probabilities, [0.5, 0.5])
    np.testing.assert_allclose(result.joint_probabilities, [0.5, 0, 0, 0.5], atol=1e-15)
    np.testing.assert_allclose(result.expectations, [0.5, 0], atol=1e-15)
    assert result.norm == pytest.approx(1) and result.steps and "total: 1 pass," in result.plan["text"]


def test_plan_explains_itself():
    plan = tw.plan(random_circuit(np.random.default_rng(6), 20, 50))
    assert plan.num_gates == 50 and plan.num_passes >= 1 and plan.num_bytes > 0
    assert "pass" in plan.explain() and "predicted" in plan.explain()
    assert tw.plan(all_qubits(36)).memory_bytes > 2**39  # far beyond this machine: nothing is allocated


def test_qasm_from_text_and_file(tmp_path):
    text = 'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[2];\ncreg c[2];\nh q[0];\ncx q[0],q[1];\nmeasure q -> c;\n'
    path = tmp_path / "bell.qasm"
    path.write_text(text)
    for source in (text, path, str(path)):
        circuit = tw.Circuit.from_qasm(source)
        assert isinstance(circuit, tw.Circuit) and circuit.num_qubits == 2 and circuit.cregs == [("c", 0, 2)]
    assert tw.Circuit.from_qasm(circuit.to_qasm()).to_qasm() == circuit.to_qasm()
    named = tw.Circuit()
    for add, name, size in [(named.add_qreg, "h", 2), (named.add_creg, "x", 1), (named.add_creg, "measure", 2)]:
        add(name, size)
    named.h(0).x(1).measure(1, 0).x(0).c_if(0).barrier().measure(0, 1).measure(1, 2)
    again = tw.Circuit.from_qasm(named.to_qasm())
    assert [size for _, _, size in again.cregs] == [1, 2] and len(again) == len(named)
    assert tw.sample(again, 200, seed=1) == tw.sample(named, 200, seed=1)
    for example in sorted((ROOT / "examples").glob("*.qasm")):
        if "24" not in example.name:
            assert sum(tw.sample(tw.Circuit.from_qasm(example), 10).values()) == 10


def test_programs_of_others(tmp_path):
    """Nothing is shown of a file that is no program, and includes can be refused."""
    secret = tmp_path / "secret"
    secret.write_text("root:$6$hunter2:19000:0:99999:7:::\n")
    gates = tmp_path / "gates.inc"
    gates.write_text("gate mine a { h a; }\n")
    heads = ("OPENQASM 2.0;\nqreg q[1];\n", "OPENQASM 3.0;\nqubit[1] q;\n")
    for source in (secret, str(secret), *(f'{head}include "{secret}";\n' for head in heads)):
        with pytest.raises(ValueError, match="does not start like") as caught:
            tw.Circuit.from_qasm(source)
        assert "hunter2" not in str(caught.value)
    for head in heads:
        program = f'{head}include "{gates}";\nmine q[0];\n'
        assert len(tw.Circuit.from_qasm(program)) == 1
        with pytest.raises(ValueError, match="gates.inc' is not read.*include=False"):
            tw.Circuit.from_qasm(program, include=False)
        assert len(tw.Circuit.from_qasm(f'{head}include "qelib1.inc";\nh q[0];\n', include=False)) == 1


def test_files_of_other_people(tmp_path):
    path = tmp_path / "a name with blanks, gr\u00f6\u00dfe.qasm"
    path.write_bytes(b"// caf\xe9, as Latin-1 writes it\r\nOPENQASM 2.0;\r\nqreg q[1];\r\nh q[0];\r\n")
    for source in (path, str(path)):
        assert len(tw.Circuit.from_qasm(source)) == 1
        np.testing.assert_allclose(tw.State(source).marginals(), [0.5])
    with pytest.raises(FileNotFoundError):
        tw.simulate(str(tmp_path / "no such file.qasm"))
    path.write_text("h 0", encoding="utf-16")
    with pytest.raises(ValueError, match="not a text file|NUL"):
        tw.simulate(path)


def test_matrices_of_any_kind():
    circuit = tw.Circuit(1)
    assert circuit.unitary([[0, 1], [1, 0]], [0]) is circuit
    np.testing.assert_allclose(tw.simulate(circuit), [0, 1])
    assert "norm" in tw.run(circuit.unitary(np.ones((2, 2)), [0], check=False), 1, seed=1).warnings[0]
    hadamard = np.array([[1, 1], [1, -1]]) * np.sqrt(0.5)
    for k, dtype in enumerate((complex, float, np.complex64, np.float32)):
        assert len(tw.Circuit(2).unitary(hadamard.astype(dtype), [1])) == 1, k


def test_shots_of_matrices_that_do_not_keep_the_norm():
    damped = tw.Circuit(2, 2).h(0).cx(0, 1).unitary(np.diag([1, 0.5]), 0, check=False).measure(0, 0).measure(1, 1)
    result = tw.run(damped, 20000, seed=3)
    assert set(result.counts) == {"00", "11"} and abs(result.counts["11"] / 20000 - 0.2) < 0.02
    assert abs(result.norm - 0.625) < 1e-12 and any("norm" in warning for warning in result.warnings)
    projected = tw.Circuit(2, 2).h(0).cx(0, 1).unitary(np.diag([0, 1]), 0, check=False).reset(0).measure(0, 0).measure(1, 1)
    assert tw.sample(projected, 500) == {"10": 500}


def test_stim_circuits_as_states():
    text = "H 0\nCX 0 1 0 2\nM 0 !1\nMPP X1*X2\nCX rec[-3] 2\nMR 2\nREPEAT 2 {\n    MX 0\n}\nDETECTOR rec[-1]\n"
    bits = tw.sample_bits(tw.Circuit.from_stim(text), 300, seed=2)
    assert bits.shape == (300, 6)
    assert np.array_equal(bits[:, 0], ~bits[:, 1]) and np.array_equal(bits[:, 4], bits[:, 5])
    # Records that no qubit makes are records all the same, of circuits that measure nothing too.
    for text, want in [("X 0\nMPAD 0\n", "0"), ("H 0\nMPAD 0 0\n", "00"), ("X 0 1 2\nMPAD 0\n", "0"), ("X 0\nMPAD 0 1\n", "10"),
                       ("X 0\nHERALDED_ERASE(0) !0 0\n", "00"), ("X 0 24\nMPAD 0\nCX rec[-1] 1\n", "0")]:
        assert tw.sample(tw.Circuit.from_stim(text), 20, seed=1) == {want: 20}, text
        assert tw.run(tw.Circuit.from_stim(text), 20, seed=1).counts == {want: 20}, text
    with pytest.raises(ValueError, match="noise"):
        tw.Circuit.from_stim("DEPOLARIZE1(0.1) 0\n")
    with pytest.raises(ValueError, match="twice"):
        tw.Circuit.from_stim("MPP X0*Z1*Z0*X1\n")


@pytest.mark.parametrize("listed", [np.array, lambda q: np.array(q, np.uint8), lambda q: np.repeat(q, 2)[::2], tuple],
                         ids=["int64", "uint8", "strided", "tuple"])
def test_lists_of_qubits_are_arrays_too(listed, tmp_path):
    def built(of):
        swap = np.eye(4)[[0, 2, 1, 3]]
        return (tw.Circuit(4).gate("cry", of([0, 2]), [0.7], of([1, 3])).unitary(swap, of([3, 1]), of([2]))
                .unitary(np.diag([1, 1j]), of([1])).kraus([swap], of([0, 3])).measure_all(of([2, 0])))

    assert list(built(listed)) == list(built(list))
    circuit = tw.Circuit(4).rx(0.3, 0).cx(0, 2).ry(0.8, 1)
    for qubits in ([2, 0], [3], [1, 3, 0, 2]):
        expected = tw.probabilities(circuit, qubits)
        assert np.array_equal(tw.probabilities(circuit, listed(qubits)), expected)
        assert np.array_equal(tw.State(circuit).probabilities(listed(qubits)), expected)
        assert np.allclose(tw.run(circuit, 9, probabilities=listed(qubits)).joint_probabilities, expected, atol=1e-14)
    report = tw.report(circuit, tmp_path / "report.html", 9, probabilities=listed([2, 0]))
    assert np.allclose(report.joint_probabilities, tw.probabilities(circuit, [2, 0]), atol=1e-14)
    function = circuit.compile("ZIII")
    assert np.array_equal(function.probabilities([], listed([2, 0])), function.probabilities([], [2, 0]))


def test_inverse():
    circuit = random_circuit(np.random.default_rng(8), 5, 60)
    both = circuit.copy()
    state = tw.simulate(circuit)
    back = tw.Circuit(5)
    back.unitary(np.eye(2), [0])
    np.testing.assert_allclose(abs(np.vdot(state, tw.simulate(both))), 1)
    assert isinstance(circuit.inverse(), tw.Circuit)
    with pytest.raises(ValueError):
        tw.Circuit(1, 1).measure(0, 0).inverse()


def test_observables_and_results_for_people():
    bell = tw.Circuit(2).h(0).cx(0, 1)
    assert tw.expectation(bell, ["ZZ", "XX"]) == pytest.approx(2)
    assert tw.expectation(bell, ["ZZ", ("XX", -0.5)]) == pytest.approx(0.5)
    assert repr(tw.State(bell)) == "<tilewave.State: 2 qubits>"
    assert repr(tw.run(bell, 100, seed=1, observables="ZZ")) == \
        "<tilewave.Result: 2 qubits, 100 shots with 2 outcomes, 1 expectation, statevector on cpu>"


def test_counts_in_words():
    bell = tw.Circuit(1, 1).h(0)
    for thing, words in ((tw.Circuit(1, 1), "<tilewave.Circuit: 1 qubit, 1 classical bit, 0 operations>"),
                         (tw.Circuit(2, 0).x(0), "<tilewave.Circuit: 2 qubits, 0 classical bits, 1 operation>"),
                         (tw.State(bell), "<tilewave.State: 1 qubit>"),
                         (tw.run(tw.Circuit(1), 1), "<tilewave.Result: 1 qubit, 1 shot with 1 outcome, statevector on cpu>"),
                         (tw.compile_sampler("M 0"), "<tilewave.CompiledSampler: 1 measurement on 1 qubit>"),
                         (tw.noise_model({"channels": []}), "<tilewave.NoiseModel: 0 channels, 0 readout errors>")):
        assert repr(thing) == words
    assert repr(tw.plan(bell)).startswith("<tilewave.Plan: 1 gate in 1 pass over 1 qubit, ")


def test_stubs_name_every_method():
    stub = (Path(tw.__file__).parent / "_core.pyi").read_text()
    assert "def cx(self, control: int, target: int) -> Self" in stub
    angle = "tilewave.angles.Angle"
    assert f"def u(self, theta: {angle}, phi: {angle}, lam: {angle}, qubit: int) -> Self" in stub
    for name in tw.gate_names():
        assert f"def {name}(" in stub, name


def test_circuits_of_other_kinds_are_taken_as_they_are(tmp_path):
    ours = tw.Circuit(2).h(0).cx(0, 1)
    text = 'OPENQASM 3; include "stdgates.inc"; qubit[2] q; h q[0]; cx q[0], q[1];'
    path = tmp_path / "bell.qasm"
    path.write_text(text)
    kinds = [text, path, str(path)]
    for name, make in (("qiskit", lambda qiskit: qiskit.QuantumCircuit(2)), ("stim", lambda stim: stim.Circuit())):
        try:
            kinds.append(make(__import__(name)))
        except ImportError:
            continue
        (kinds[-1].append("H", 0), kinds[-1].append("CX", [0, 1])) if name == "stim" else (kinds[-1].h(0), kinds[-1].cx(0, 1))
    assert len(kinds) > 2
    for circuit in kinds:
        np.testing.assert_allclose(tw.simulate(circuit), tw.simulate(ours))
        assert tw.sample(circuit, 50, seed=1) == tw.sample(ours, 50, seed=1)
        assert tw.expectation(circuit, "ZZ") == pytest.approx(1) and tw.run(circuit, 5, seed=1).shots == 5
        assert tw.plan(circuit).num_gates == 2 and len(tw.amplitudes(circuit)) == 4
        np.testing.assert_allclose(tw.marginals(circuit), [0.5, 0.5])
        np.testing.assert_allclose(tw.probabilities(circuit), [0.5, 0, 0, 0.5])
    with pytest.raises(TypeError, match="expected a tilewave.Circuit, a qiskit.QuantumCircuit, .*, not list"):
        tw.sample([1])


@pytest.mark.parametrize("precision", ["double", "single"])
def test_what_a_circuit_keeps_gives_the_same_state(precision):
    rng = np.random.default_rng(5)
    for qubits in (3, 6, 10, 17):
        circuit = tw.Circuit(qubits)
        for _ in range(60):
            a, b, c = (int(q) for q in rng.choice(qubits, 3, replace=False))
            circuit.u(*map(float, rng.uniform(-3, 3, 3)), a).cx(a, b).rzz(float(rng.uniform(-3, 3)), b, c).ccx(a, b, c)
        first = tw.simulate(circuit, precision=precision)
        np.testing.assert_array_equal(tw.simulate(circuit, precision=precision), first)
        np.testing.assert_allclose(tw.marginals(circuit, precision=precision),
                                   [np.sum(np.abs(first.reshape(-1, 2, 1 << q)[:, 1]) ** 2) for q in range(qubits)],
                                   atol=1e-5)
        circuit.h(0)  # drops what was kept
        after = tw.simulate(circuit, precision=precision).reshape(-1, 2)
        pairs = first.reshape(-1, 2)
        np.testing.assert_allclose(after[:, 0], (pairs[:, 0] + pairs[:, 1]) * np.sqrt(0.5), atol=1e-5)
