"""Registers larger than what a circuit touches, and than any state: circuits written for a device, and Clifford circuits."""
import math

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit.transpiler import CouplingMap

import tilewave as tw
from tilewave.qiskit import EstimatorV2, SamplerV2, TilewaveBackend


def on_a_line(circuit, width=127, first=100):
    """The circuit as it is transpiled for a line of qubits, whose others stay idle."""
    return transpile(circuit, coupling_map=CouplingMap.from_line(width), basis_gates=["cx", "rz", "sx", "x"],
                     initial_layout=[first + 2 * q for q in range(circuit.num_qubits)], seed_transpiler=3, optimization_level=1)


def small():
    circuit = QuantumCircuit(3)
    circuit.ry(0.7, 0)
    circuit.cx(0, 1)
    circuit.t(1)
    circuit.ry(1.1, 2)
    circuit.cx(1, 2)
    return circuit


def test_circuits_of_a_device_run_everywhere():
    circuit = small()
    measured = circuit.copy()
    measured.measure_all()
    expected = Statevector(circuit).probabilities_dict()
    shots = 20000
    wide = on_a_line(measured)
    assert wide.num_qubits == 127
    counts = [TilewaveBackend().run(wide, shots=shots, seed_simulator=2).result().get_counts(),
              SamplerV2(seed=2).run([wide], shots=shots).result()[0].data.meas.get_counts(),
              tw.sample(wide, shots, seed=2)]
    for found in counts:
        for key, p in expected.items():
            assert abs(found.get(key, 0) - shots * p) < 6 * math.sqrt(shots * p * (1 - p)) + 1, (key, found)
        assert sum(found.values()) == shots
    observable = SparsePauliOp.from_list([("ZZI", 0.5), ("XIY", 1.5), ("IIX", -1), ("III", 2)])
    wide = on_a_line(circuit)
    laid_out = observable.apply_layout(wide.layout)
    assert laid_out.num_qubits == 127
    exact = Statevector(circuit).expectation_value(observable).real
    assert EstimatorV2().run([(wide, laid_out)]).result()[0].data.evs == pytest.approx(exact, abs=1e-12)
    assert tw.expectation(wide, laid_out) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("n, qubit", [(60, 3), (64, 63), (65, 64), (127, 100), (300, 299)])
def test_answers_are_the_registers(n, qubit):
    other = (qubit + n // 2) % n
    circuit = tw.Circuit(n).ry(0.8, qubit).cx(qubit, other).t(other)
    one = math.sin(0.4) ** 2
    marginals = tw.marginals(circuit)
    assert marginals.shape == (n,)
    expected = np.zeros(n)
    expected[[qubit, other]] = one
    np.testing.assert_allclose(marginals, expected, atol=1e-14)
    idle = next(q for q in range(n) if q not in (qubit, other))
    for observable, value in [(f"Z{qubit}", 1 - 2 * one), (f"Z{idle}", 1), (f"X{idle}", 0), (f"Y{idle} Z{other}", 0),
                              (f"Z{qubit} Z{other} Z{idle}", 1), (f"2 Z{qubit} - 3 Z{idle} + X{qubit} X{idle}", 2 - 4 * one - 3)]:
        assert tw.expectation(circuit, observable) == pytest.approx(value, abs=1e-14), observable
    joint = tw.probabilities(circuit, [idle, other, qubit])
    np.testing.assert_allclose(joint, [1 - one, 0, 0, 0, 0, 0, one, 0], atol=1e-14)
    result = tw.run(circuit, 500, seed=1, probabilities=True, observables=f"Z{other}", record_shots=True)
    assert result.num_qubits == n and result.num_shot_bits == n and result.memory_bytes < 1 << 24
    np.testing.assert_allclose(result.probabilities, expected, atol=1e-14)
    keys = {"0" * n, "".join("1" if q in (qubit, other) else "0" for q in reversed(range(n)))}
    assert set(result.counts) <= keys
    bits = tw.sample_bits(circuit, 500, seed=1)
    assert bits.shape == (500, n) and not bits[:, idle].any()
    assert bits[:, qubit].sum() == result.counts[max(keys)]
    if n <= 64:
        both = 1 << qubit | 1 << other
        amplitudes = tw.amplitudes(circuit, [0, both, 1 << idle])
        np.testing.assert_allclose(amplitudes, [math.cos(0.4), math.sin(0.4) * np.exp(0.25j * math.pi), 0], atol=1e-14)


def test_measured_qubits_need_not_be_touched():
    circuit = tw.Circuit(90).x(80).t(80).measure_all()
    assert tw.sample(circuit, 5) == {"0" * 9 + "1" + "0" * 80: 5}
    overwritten = tw.Circuit(70, 1).x(1).t(1).measure(1, 0).measure(60, 0)
    assert tw.sample(overwritten, 5) == {"0": 5}
    noise = {"readout": [{"qubits": [60], "p1_given_0": 1}]}  # of an idle qubit, too
    assert tw.sample(overwritten, 5, noise=noise) == {"1": 5}
    dynamic = tw.Circuit(100, 2).x(70).measure(70, 0).x(99).c_if(0, 1).t(99).measure(99, 1)
    assert tw.sample(dynamic, 5) == {"11": 5}


def test_the_same_seed_gives_the_same_shots_with_idle_qubits():
    rng = np.random.default_rng(5)
    narrow = tw.Circuit(4)
    wide = tw.Circuit(9)
    places = [1, 4, 5, 8]
    for _ in range(30):
        a, b = (int(q) for q in rng.choice(4, 2, replace=False))
        angle = float(rng.random())
        narrow.ry(angle, a).cx(a, b)
        wide.ry(angle, places[a]).cx(places[a], places[b])
    bits = tw.sample_bits(wide, 300, seed=9)
    assert (bits[:, places] == tw.sample_bits(narrow, 300, seed=9)).all()
    assert bits.sum() == bits[:, places].sum()
    state = tw.simulate(wide)  # of the whole register
    inside = [sum((x >> j & 1) << q for j, q in enumerate(places)) for x in range(16)]
    np.testing.assert_allclose(state[inside], tw.simulate(narrow), atol=1e-14)
    assert np.linalg.norm(state) == pytest.approx(1)
    np.testing.assert_allclose(tw.State(wide).take(), state, atol=1e-14)


def test_noise_leaves_idle_qubits_out_too():
    noise = {"channels": [{"after": "all", "channel": "amplitude_damping", "gamma": 0.2}]}
    wide = tw.Circuit(50).ry(0.9, 7).cx(7, 30)
    narrow = tw.Circuit(2).ry(0.9, 0).cx(0, 1)
    for engine in ("density", "auto"):
        found = tw.run(wide, observables="Z7 Z30 + X7 X30 + Z9", noise=noise, engine=engine)
        assert found.engine == "density"
        expected = tw.run(narrow, observables="Z0 Z1 + X0 X1 + I", noise=noise, engine="density")
        np.testing.assert_allclose(found.expectations, expected.expectations, atol=1e-12)


def test_whole_states_that_do_not_fit_are_refused():
    circuit = tw.Circuit(60).h(3)
    for call in (lambda: tw.simulate(circuit), lambda: tw.State(circuit).take(), lambda: tw.amplitudes(circuit)):
        with pytest.raises(MemoryError, match="cannot place 60 qubits in double precision"):
            call()
    for n in (100, 145, 200, 1200):
        with pytest.raises(MemoryError, match=r"needs more than 1000000 PiB, .* available"):
            tw.simulate(tw.Circuit(n))
    with pytest.raises(ValueError, match="qubit is out of range: the circuit has 60 qubits"):
        tw.expectation(circuit, "Z60")
    with pytest.raises(ValueError, match="the observable is on 61 qubits, the circuit has 60"):
        tw.expectation(circuit, SparsePauliOp("Z" * 61))


@pytest.mark.parametrize("n", [40, 65, 100])
def test_large_clifford_circuits_give_their_shots(n):
    ghz = QuantumCircuit(n)
    ghz.h(0)
    for q in range(n - 1):
        ghz.cx(q, q + 1)
    ghz.measure_all()
    shots, ends = 400, {"0" * n, "1" * n}
    result = TilewaveBackend().run(ghz, shots=shots, seed_simulator=4, memory=True).result()
    counts = result.get_counts()
    assert set(counts) == ends and sum(counts.values()) == shots
    memory = result.get_memory()
    assert {key: memory.count(key) for key in ends} == counts
    bits = SamplerV2(seed=4).run([ghz], shots=shots).result()[0].data.meas
    assert set(bits.get_counts()) == ends
    converted = tw.Circuit.from_qiskit(ghz)
    rows = tw.sample_bits(converted, shots, seed=4)
    assert rows.shape == (shots, n) and ((rows == rows[:, :1]).all())
    assert tw.run(converted, shots, seed=4, record_shots=True).engine == "stabilizer"
    found = tw.sample(converted, shots, seed=4)
    assert found["1" * n] == rows[:, 0].sum()  # the same shots as are counted


def test_clifford_shots_fill_registers_in_any_order():
    circuit = tw.Circuit(30)
    first, second = circuit.add_creg("a", 3), circuit.add_creg("b", 70)
    circuit.x(4).h(20).cx(20, 21)
    circuit.measure(4, second + 69).measure(20, first + 2).measure(21, second).measure(5, first)
    result = tw.run(circuit, 200, seed=3, record_shots=True)
    assert result.engine == "stabilizer"
    bits = tw.sample_bits(circuit, 200, seed=3)
    assert bits.shape == (200, 73) and bits[:, second + 69].all() and (bits[:, 2] == bits[:, second]).all()
    assert bits.sum() == 200 + 2 * bits[:, 2].sum()
    again = {}
    for row in bits:
        key = "".join("01"[int(b)] for b in row[:2:-1]) + " " + "".join("01"[int(b)] for b in row[2::-1])
        again[key] = again.get(key, 0) + 1
    assert again == result.counts


def test_clifford_shots_with_uneven_readout_errors():
    circuit = tw.Circuit(25).x(3).measure_all()
    noise = {"readout": [{"p1_given_0": 0.0, "p0_given_1": 0.25}]}
    bits = tw.sample_bits(circuit, 8000, seed=3, noise=noise, engine="stabilizer")
    assert abs(bits[:, 3].mean() - 0.75) < 0.03 and bits.sum() == bits[:, 3].sum()
    assert tw.sample(circuit, 8000, seed=3, noise=noise, engine="stabilizer")["0" * 21 + "1000"] == bits[:, 3].sum()


def test_a_report_of_a_circuit_without_a_state(tmp_path):
    ghz = tw.Circuit(200).h(0)
    for q in range(199):
        ghz.cx(q, q + 1)
    result = tw.report(ghz, tmp_path / "ghz.html", 100)
    assert result.engine == "stabilizer" and (tmp_path / "ghz.html").stat().st_size > 1000
    assert len(tw.report(tw.Circuit(2).h(0), tmp_path / "small.html", 100).probabilities) == 2
