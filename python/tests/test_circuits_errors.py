"""Everything that is wrong with circuits, and with what is asked of them."""
import math

import numpy as np
import pytest

import tilewave as tw
from wide_circuits import all_qubits


@pytest.mark.parametrize("matrix, targets, message", [
    (np.diag([1, 2]), [1], "qubit 1 is not unitary.* 3 off the identity, at most 1e-08"),
    ([[1, 1e-7], [0, 1]], [0], "1e-07 off"),
    (np.diag([1, 1.001]).astype(np.complex64), [0], "0.002 off the identity, at most 1e-04"),
    (np.kron(np.eye(2), [[1, 0], [0, 0.5]]), [0, 2], "qubits 0, 2 is not unitary"),
])
def test_matrices_that_are_not_unitary(matrix, targets, message):
    circuit = tw.Circuit(3)
    with pytest.raises(ValueError, match=message):
        circuit.unitary(matrix, targets)
    assert len(circuit) == 0
    assert len(circuit.unitary(matrix, targets, check=False)) == 1


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, complex(1, math.nan), 1.5e308])
def test_coefficients_that_are_not_finite(number):
    qiskit = pytest.importorskip("qiskit.quantum_info")
    circuit = tw.Circuit(2).h(0)
    for observable in ({"XI": number, "IX": number}, [("XI", number), ("Z0", number)],
                       qiskit.SparsePauliOp(["XI", "IX"], [number, number])):
        asked = [lambda: tw.expectation(circuit, observable), lambda: tw.expectation(circuit, observable, shots=10)]
        if not isinstance(number, complex):
            asked.append(lambda: tw.run(circuit, observables=observable))
        for ask in asked:
            with pytest.raises(ValueError, match="^the coefficients of the observable must be finite, and so must their sum$"):
                ask()


@pytest.mark.parametrize("observable", [{}, [], (), iter([])])
def test_observables_without_terms(observable):
    for ask in (tw.expectation, lambda circuit, observable: tw.run(circuit, observables=observable)):
        with pytest.raises(ValueError, match="the observable is empty: give a Pauli sum such as '0.5 ZZI"):
            ask(tw.Circuit(2), observable)
    for text in ("", "  \n"):
        with pytest.raises(ValueError, match="no Pauli string: write a sum such as '0.5 ZZI"):
            tw.expectation(tw.Circuit(2), text)


@pytest.mark.parametrize("wrong, exception, message", [
    (lambda: tw.Circuit(2).h(2), ValueError, "out of range"),
    (lambda: tw.Circuit(2).cx(1, 1), ValueError, "named twice"),
    (lambda: tw.Circuit(2).rx(float("inf"), 0), ValueError, "not a finite number"),
    (lambda: tw.Circuit(2).rx(0), TypeError, "^rx: qubit is missing: give one whole number"),
    (lambda: tw.Circuit(2).h(), TypeError, "^h: qubit is missing: give one whole number, and call it once for each gate$"),
    (lambda: tw.Circuit(2).measure(), TypeError, "^measure: qubit is missing: .*measure_all takes several"),
    (lambda: tw.Circuit(-1), ValueError, "^Circuit: num_qubits is -1: give 0 to 2147483647$"),
    (lambda: tw.Circuit(2**70), ValueError, "^Circuit: num_qubits is 1180591620717411303424: give 0 to 2147483647$"),
    (lambda: tw.Circuit(1, -1), ValueError, "^Circuit: num_clbits is -1: give"),
    (lambda: tw.probabilities(tw.Circuit(3), np.array([0, 3])), ValueError, "^probabilities: qubit 3 is out of range"),
    (lambda: tw.probabilities(tw.Circuit(3), np.array([0.0, 1.0])), TypeError, "^probabilities: qubits is .*0.0.*: give one whole number$"),
    (lambda: tw.Circuit(3).unitary(np.eye(4), np.array([[0, 2]])), TypeError, "^unitary: targets is .*: give one whole number$"),
    (lambda: tw.Circuit(2.5), TypeError, r"^Circuit: num_qubits is 2.5 \(float\): give one whole number$"),
    (lambda: tw.Circuit("3"), TypeError, r"^Circuit: num_qubits is '3' \(str\): give one whole number$"),
    (lambda: tw.Circuit(None), TypeError, "^Circuit: num_qubits is missing: give one whole number$"),
    (lambda: tw.Circuit().add_creg("c", -1), ValueError, "^add_creg: size is -1: give"),
    (lambda: tw.Circuit().add_qreg("q", 2.5), TypeError, r"^add_qreg: size is 2.5 \(float\)"),
    (lambda: tw.Circuit(1, 1).x(0).c_if(-1), ValueError, "^c_if: first is -1: give"),
    (lambda: tw.Circuit(1, 1).x(0).c_if(0, -1), ValueError, "^c_if: value is -1: give a whole number, 0 or more$"),
    (lambda: tw.Circuit(1, 1).x(0).c_if(0, 2.5), ValueError, "^c_if: value is 2.5: give"),
    (lambda: tw.Circuit(2).gate("x", 0, controls=1, control_values=-1), ValueError, "^gate: control_values is -1: give a whole"),
    (lambda: tw.Circuit(2).gate("x", 0, controls=1, control_values=2), ValueError, "^gate: control_values is 2: there is 1 control"),
    (lambda: tw.Circuit(2).unitary(np.eye(2), 0, (), 1), ValueError, "^unitary: control_values is 1: there are 0 controls"),
    (lambda: tw.Circuit(2).unitary(np.eye(2), 0, 1, 2**70), ValueError, "^unitary: control_values is 11805.*: give a whole"),
    (lambda: tw.sample(tw.Circuit(1), 2**70), ValueError, "^at most 100000000 shots in one run: split them by seed$"),
    (lambda: tw.run(tw.Circuit(1), 2**70), ValueError, "^at most 100000000 shots in one run"),
    (lambda: tw.sample(tw.Circuit(1), threads=2**70), ValueError, "^threads=1180591620717411303424: use 0"),
    (lambda: tw.compile_sampler("M 0", threads=2**70), ValueError, "^threads=1180591620717411303424: use 0"),
    (lambda: tw.compile_sampler("M 0").sample(2**70), ValueError, "^at most 4503599627370495 shots in one run"),
    (lambda: tw.compile_sampler("M 0").sample(2.5), TypeError, r"^shots is 2.5 \(float\): give a whole number$"),
    (lambda: tw.run(tw.Circuit(2), 1, probabilities=[-1]), ValueError, "^run: qubit -1 is out of range: the circuit has 2"),
    (lambda: tw.run(tw.Circuit(2), 1, probabilities=[0.5]), TypeError, "^run: probabilities is 0.5 "),
    (lambda: tw.probabilities(tw.Circuit(1), [2**70]), ValueError, "^probabilities: qubit 11805.* has 1 qubit$"),
    (lambda: tw.amplitudes(tw.Circuit(1), [-1]), ValueError, "^amplitude -1 does not exist: a state of 1 qubit has indices 0 to 1$"),
    (lambda: tw.State(tw.Circuit(1)).amplitudes([2**70]), ValueError, "^amplitude 11805"),
    (lambda: tw.Circuit(1).measure(0, 0), ValueError, "classical bit 0"),
    (lambda: tw.Circuit(1).gate("hh", [0]), ValueError, "no gate 'hh'"),
    (lambda: tw.Circuit(1).x(0).c_if(0), ValueError, "do not all exist"),
    (lambda: tw.Circuit(2).unitary(np.eye(2), [0, 1]), ValueError, "4\\^targets"),
    (lambda: tw.Circuit.from_qasm("OPENQASM 2.0;\nqreg q[1];\nfoo q[0];"), ValueError, "<text>:3:1: unknown gate"),
    (lambda: tw.Circuit.from_qasm("missing.qasm"), FileNotFoundError, "missing.qasm"),
    (lambda: tw.Circuit.from_qasm(3), TypeError, "path"),
    (lambda: tw.Circuit.from_stim("FOO 0\n"), ValueError, "FOO"),
    (lambda: tw.simulate(tw.Circuit()), ValueError, "no qubits"),
    (lambda: tw.simulate(tw.Circuit(44)), MemoryError, r"44 qubits .*needs 256 TiB, .* available.*precision=\"single\""),
    (lambda: tw.State(all_qubits(44)), MemoryError, r"44 qubits .*needs 256 TiB, .* available.*use at most \d+ qubits"),
    (lambda: tw.simulate("OPENQASM 3; input int a; qubit q;"), ValueError, r"inputs=\{\"a\": <number>\}"),
    (lambda: tw.simulate("OPENQASM 3; input float a; qubit q; U(a, 0, 0) q;"), ValueError, "the parameter 'a' has no value"),
    (lambda: tw.simulate(tw.Circuit(1), precision="half"), ValueError, "precision"),
    (lambda: tw.simulate(tw.Circuit(1), device="tpu"), ValueError, "unknown device"),
    (lambda: tw.probabilities(tw.Circuit(2), [0, 0]), ValueError, "asked for twice"),
    (lambda: tw.probabilities(tw.Circuit(2), [2]), ValueError, "^probabilities: qubit 2 is out of range: the circuit has 2 qubits"),
    (lambda: tw.amplitudes(tw.Circuit(2), [4]), ValueError, "does not exist"),
    (lambda: tw.State(tw.Circuit(2)).amplitudes([4]), ValueError, "a state of 2 qubits has indices 0 to 3$"),
    (lambda: tw.State(tw.Circuit(63)).amplitudes([2**63]), ValueError, "a state of 63 qubits has indices 0 to 9223372036854775807$"),
    (lambda: tw.State(tw.Circuit(64)).amplitudes([2**64]), ValueError, "a state of 64 qubits has indices 0 to 18446744073709551615$"),
    (lambda: tw.State(tw.Circuit(70)).amplitudes([-1]), ValueError, "a state of 70 qubits has indices 0 to 18446744073709551615$"),
    (lambda: tw.expectation(tw.Circuit(2), "ZZZ"), ValueError, "observable:1"),
    (lambda: tw.expectation(tw.Circuit(2), {"Z0 + Z1": 1}), ValueError, "is a sum"),
    (lambda: tw.run(tw.Circuit(2), observables={"ZZ": 1j}), ValueError, "Hermitian"),
    (lambda: tw.sample(tw.Circuit(2), -1), ValueError, "-1 shots cannot be taken"),
    (lambda: tw.sample(tw.Circuit(2), 1, seed=-1), ValueError, "seed -1 is out of range"),
    (lambda: tw.simulate(tw.Circuit(2), seed=2**64), ValueError, "out of range"),
    (lambda: tw.compile_sampler("M 0", seed=-1), ValueError, "seed -1 is out of range"),
    (lambda: tw.simulate(tw.Circuit(2), threads=-1), ValueError, "threads=-1: use 0"),
    (lambda: tw.compile_sampler("M 0", threads=-1), ValueError, "threads=-1"),
    (lambda: tw.entropy(np.zeros((3, 3), np.uint8), threads=5000), ValueError, "threads=5000"),
    (lambda: tw.map(np.zeros((3, 3), np.float32), "v", threads=-2), ValueError, "threads=-2"),
    (lambda: tw.amplitudes(tw.Circuit(3), ["01"]), ValueError, "'01' is no basis state of 3 qubits"),
    (lambda: tw.amplitudes(tw.Circuit(2), ["0x"]), ValueError, "write 2 characters"),
])
def test_errors(wrong, exception, message):
    with pytest.raises(exception, match=message):
        wrong()


def test_a_compose_that_fails_changes_nothing():
    other = tw.Circuit(2)
    other.add_creg("a", 2)
    other.add_creg("b", 2)
    other._add_clbits(1)
    other.h(0).measure(0, 1).x(1).c_if(0, 2, 2).rx(0.5, 1).kraus([np.eye(2)], 0)
    here = tw.Circuit(2, 2).h(1)
    here.add_creg("b", 3)
    for circuit, how, message in (
            (here, {}, "the classical register 'b' has 3 bits here and 2"),
            (here, {"qubits": [0, 5], "clbits": [0, 1, 2, 3, 4]}, "out of range"),
            (here, {"clbits": [1, 0, 2, 3, 4]}, "used as one number"),
            (here, {"clbits": [0, 1, 2, 3, 9]}, "out of range"),
            (tw.Circuit(3).h(0), {"qubits": [1, 1]}, "named twice"),
            (tw.Circuit(3).h(0), {"qubits": [0, 3]}, "out of range")):
        before = circuit._to_bytes()
        kept = circuit.copy()
        with pytest.raises(ValueError, match=message):
            circuit.compose(other, **how)
        assert circuit._to_bytes() == before == kept._to_bytes()
    together = tw.Circuit(2, 2).compose(other)
    assert together.cregs == [("c", 0, 2), ("a", 2, 2), ("b", 4, 2)] and together.num_clbits == 7
    assert len(together) == len(other)
    with pytest.raises(ValueError):
        together += tw.Circuit(3)
    assert len(together) == len(other)
