"""bench/peers/nvidia_suite.py: the back ends for NVIDIA's benchmark package. The package itself is not on PyPI:
its tables are stood in for here, and what the back ends answer is compared with Cirq's simulator and Qiskit's
state."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(os.environ["TILEWAVE_ROOT"])
N = 5


@pytest.fixture(scope="module")
def package():
    """The tables that back ends are added to, as version 0.6.1 has them."""
    modules = {
        name: ModuleType(f"nv_quantum_benchmarks{name}") for name in ("", ".backends", ".config", ".run_interface")
    }
    modules[".backends"].backends, modules[".config"].backends, modules[".run_interface"].CPU_BACKENDS = (
        {},
        {},
        {"cirq"},
    )
    sys.modules.update({module.__name__: module for module in modules.values()})
    kept = sys.path[:]
    spec = importlib.util.spec_from_file_location("nvidia_suite", ROOT / "bench" / "peers" / "nvidia_suite.py")
    suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    suite.register()
    yield suite, modules
    sys.path[:] = kept
    for module in modules.values():
        del sys.modules[module.__name__]


def cirq_circuit():
    cirq = pytest.importorskip("cirq")
    qubits, draw = cirq.LineQubit.range(N), np.random.default_rng(1)
    circuit = cirq.Circuit()
    for _ in range(4):
        circuit.append(cirq.ry(draw.uniform(0, 6)).on(q) for q in qubits)
        circuit.append(cirq.CZPowGate(exponent=draw.uniform(0, 2)).on(a, b) for a, b in zip(qubits, qubits[1:]))
        circuit.append(cirq.MatrixGate(cirq.testing.random_unitary(4, random_state=7)).on(qubits[3], qubits[0]))
    state = cirq.Simulator(dtype=np.complex128).simulate(circuit).final_state_vector
    return circuit + cirq.measure(*qubits, key="result"), state.reshape((2,) * N)  # axis k is qubit k


def qiskit_circuit():
    qiskit = pytest.importorskip("qiskit")
    from qiskit.quantum_info import Statevector

    draw = np.random.default_rng(2)
    circuit = qiskit.QuantumCircuit(N, N)
    for _ in range(4):
        for q in range(N):
            circuit.ry(draw.uniform(0, 6), q)
        for q in range(N - 1):
            circuit.cp(draw.uniform(0, 6), q, q + 1)
    state = Statevector(circuit).data.reshape((2,) * N).transpose()
    circuit.measure(range(N), range(N))
    return circuit, state


CASES = pytest.mark.parametrize("front_end, make", [("cirq", cirq_circuit), ("qiskit", qiskit_circuit)])


def back_end(package, front_end, circuit, mode, pauli=None, precision="double"):
    suite, modules = package
    made = modules[".backends"].backends[f"{front_end}-tilewave"](0, 1, precision, nqubits=N, nfused=None)
    made.preprocess_circuit(circuit, circuit_filename="", compute_mode=mode, pauli=pauli)
    made.pre_run(circuit, nshots=10)
    return made


def test_they_are_in_the_tables(package):
    suite, modules = package
    names = {"cirq-tilewave", "qiskit-tilewave", "cirq-tilewave-cuda", "qiskit-tilewave-cuda"}
    assert set(modules[".backends"].backends) == set(modules[".config"].backends) == names
    assert modules[".run_interface"].CPU_BACKENDS == {"cirq", "cirq-tilewave", "qiskit-tilewave"}
    for name in names:
        config = modules[".config"].backends[name]["config"]
        assert set(config) == {"nshots", "nfused", "ngpus", "ncputhreads", "precision", "compute_mode"}
        assert config["ngpus"] == name.endswith("cuda")


@CASES
def test_states_and_amplitudes(package, front_end, make):
    circuit, state = make()
    flat = (state if front_end == "cirq" else state.transpose()).reshape(-1)
    for precision, off in (("double", 1e-13), ("single", 1e-6)):
        got = back_end(package, front_end, circuit, "statevector", precision=precision).run(circuit, 10)
        assert set(got) == {"results", "post_results", "run_data"}
        assert np.abs(np.asarray(got["results"]) - flat).max() < off
    [amplitude] = back_end(package, front_end, circuit, "amplitude").run(circuit, 10)["results"]
    assert abs(amplitude - flat[0]) < 1e-13


@CASES
def test_expectations(package, front_end, make):
    suite, _ = package
    circuit, state = make()
    letters = {
        "I": np.eye(2),
        "X": np.array([[0, 1], [1, 0]]),
        "Y": np.array([[0, -1j], [1j, 0]]),
        "Z": np.diag([1, -1]),
    }
    place = (lambda k, n: n - 1 - k) if front_end == "cirq" else (lambda k, n: k)
    flat = (state if front_end == "cirq" else state.transpose()).reshape(-1)
    for pauli in ("XYZIZ", "IIIII", "ZIIIX", "IYYXI"):
        whole = np.eye(1)
        for letter in pauli:  # the first is that of axis 0
            whole = np.kron(whole, letters[letter])
        want = np.vdot(state.reshape(-1), whole @ state.reshape(-1)).real
        got = back_end(package, front_end, circuit, "expectation", list(pauli)).run(circuit, 10)["results"]
        assert abs(got - want) < 1e-12, pauli
        assert abs(suite.expected(flat, list(pauli), place) - want) < 1e-12, pauli


@CASES
def test_samples(package, front_end, make):
    circuit, state = make()
    bits = back_end(package, front_end, circuit, "sampling").run(circuit, 20000)["post_results"]
    assert bits.shape == (20000, N)
    counts = np.bincount(bits @ (1 << np.arange(N)[::-1]), minlength=1 << N)
    want = 20000 * (abs(state) ** 2).reshape(-1)
    assert (abs(counts - want) < 6 * np.sqrt(want + 1)).all()


def test_what_is_refused(package):
    _, modules = package
    make = modules[".backends"].backends["qiskit-tilewave"]
    with pytest.raises(ValueError, match="--ngpus 0"):
        make(1, 1, "single", nqubits=N)
    with pytest.raises(ValueError, match="compute mode 'density'"):
        make(0, 1, "single", nqubits=N).preprocess_circuit(None, compute_mode="density")
    with pytest.raises(ValueError, match="--ngpus 1"):
        modules[".backends"].backends["qiskit-tilewave-cuda"](0, 1, "single", nqubits=N)
