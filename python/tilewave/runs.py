"""Running circuits: one function for each question. Every function takes

precision  "double" (default) or "single"
device     "auto" (default), "cpu", "cuda" or "cuda:<index>"
threads    CPU threads, 0 for all
seed       of the shots; drawn when None

and, where a circuit may be noisy,

noise      a noise model: what `noise_model` takes (a dictionary, JSON, a path, Aer's NoiseModel)
engine     "auto" (default), "density" (exact) or "trajectories"
"""
import numpy as np

from . import _core
from .noise import core_of


def simulate(circuit, *, precision="double", device="auto", threads=0, seed=None, noise=None, on_device=False):
    """The final state: 2^n complex numbers, qubit 0 the least significant bit of the index. The array is the memory the
    state was computed in, not a copy. Trailing measurements are left out; a circuit that measures in the middle gives
    the state of one shot. With ``noise``: the density matrix, an array [2^n, 2^n]. With ``on_device`` the state stays on
    its CUDA device and is an object that speaks DLPack (``torch.from_dlpack``, ``cupy.from_dlpack``, to_host)."""
    if on_device:
        if noise is not None:
            raise ValueError("a density matrix lies on the host: leave on_device out")
        return _core._simulate_on_device(circuit, precision, "cuda" if device == "auto" else device, threads, seed)
    if noise is not None:
        elements = _core._density(circuit, core_of(noise), precision, device, threads)
        return elements.reshape(2**circuit.num_qubits, -1).T
    return _core._simulate(circuit, precision, device, threads, seed)


def run(circuit, shots=0, *, seed=None, probabilities=None, observables=None, pauli_order="last", precision="double",
        device="auto", threads=0, record_shots=False, record_steps=False, explain=False, noise=None, engine="auto"):
    """Everything in one run, as a Result. ``probabilities``: a list of qubits, or True for all. ``observables``: Pauli
    sums as `expectation` takes them."""
    if probabilities is True:
        probabilities = []
    elif probabilities is False:
        probabilities = None
    terms = [] if observables is None else _real_terms(observables, circuit.num_qubits, pauli_order)
    return _core._run(circuit, shots, seed, precision, device, threads, probabilities, terms, record_shots,
                      record_steps, explain, False, core_of(noise), engine)


def sample(circuit, shots=1024, *, seed=None, precision="double", device="auto", threads=0, noise=None,
           engine="auto"):
    """Counts of outcomes, a dictionary. Registers are separated by blanks, the last declared leftmost; without
    measurements the whole state is measured."""
    return _core._run(circuit, shots, seed, precision, device, threads, None, [], False, False, False, False,
                      core_of(noise), engine).counts


def sample_bits(circuit, shots=1024, *, seed=None, bit_packed=False, precision="double", device="auto", threads=0,
                noise=None, engine="auto"):
    """Every shot in order, an array [shots, bits] of bool; bit k is classical bit k (qubit k where nothing is measured).
    ``bit_packed``: uint8 [shots, ceil(bits / 8)], the lowest bit first."""
    result = _core._run(circuit, shots, seed, precision, device, threads, None, [], True, False, False, False,
                        core_of(noise), engine)
    return _bits_of(result, bit_packed)


def _bits_of(result, bit_packed):
    bits = result.num_shot_bits
    packed = result.shot_bits[:, :(bits + 7) // 8]
    if bit_packed:
        return packed
    return np.unpackbits(packed, axis=1, count=bits, bitorder="little").view(np.bool_)


def probabilities(circuit, qubits=None, *, precision="double", device="auto", threads=0, seed=None):
    """Probabilities of the 2^k outcomes of chosen qubits (at most 24; default: all); bit j of an index is qubits[j]."""
    return _core.State(circuit, precision, device, threads, seed).probabilities(qubits)


def marginals(circuit, *, precision="double", device="auto", threads=0, seed=None):
    """P(qubit = 1) of every qubit."""
    return _core.State(circuit, precision, device, threads, seed).marginals()


def amplitudes(circuit, indices=None, *, precision="double", device="auto", threads=0, seed=None):
    """Amplitudes of chosen basis states: numbers, or strings of bits such as "0110" (qubit 0 rightmost). All of them
    where none are given."""
    if indices is None:
        return simulate(circuit, precision=precision, device=device, threads=threads, seed=seed)
    chosen = [int(index, 2) if isinstance(index, str) else int(index) for index in indices]
    return _core.State(circuit, precision, device, threads, seed).amplitudes(chosen)


def expectation(circuit, observable, *, shots=0, pauli_order="last", precision="double", device="auto", threads=0,
                seed=None, noise=None, engine="auto"):
    """<psi|O|psi> of a sum of Pauli strings: a text such as "0.5 ZZI + 0.2 X0 Y3" (the rightmost character of a dense
    string is qubit 0; ``pauli_order="first"`` reads the other way), a dictionary string -> coefficient, a list of
    (string, coefficient), or a Qiskit SparsePauliOp or Pauli. A circuit that measures in the middle needs ``shots``,
    over which the expectation is averaged; a noisy one is exact or averaged over trajectories (``shots`` of them, 1000
    when none are given): `run` tells which, and the standard errors."""
    coefficients, terms = pauli_terms(observable, circuit.num_qubits, pauli_order)
    if shots or noise is not None or engine != "auto":
        values = _core._run(circuit, shots, seed, precision, device, threads, None, terms, False, False, False,
                            False, core_of(noise), engine).expectations
    else:
        if circuit.is_dynamic:
            raise ValueError("a circuit that measures or resets in the middle needs shots: ask for shots=N")
        values = _core.State(circuit, precision, device, threads, seed)._expectations(terms)
    total = np.dot(coefficients, values)
    return float(total.real) if np.isrealobj(coefficients) or not np.any(coefficients.imag) else complex(total)


def pauli_terms(observable, num_qubits, pauli_order="last"):
    """Coefficients (an array) and terms (1, x, z) of an observable."""
    if hasattr(observable, "paulis") and hasattr(observable, "coeffs"):  # SparsePauliOp
        x, z, coefficients = observable.paulis.x, observable.paulis.z, np.asarray(observable.coeffs)
        signs = np.asarray((-1j) ** observable.paulis.phase)
        return coefficients * signs, _masks(x, z)
    if hasattr(observable, "x") and hasattr(observable, "z") and hasattr(observable, "phase"):  # Pauli
        sign = (-1j) ** int(np.asarray(observable.phase).ravel()[0])
        return np.array([sign]), _masks(np.atleast_2d(observable.x), np.atleast_2d(observable.z))
    if isinstance(observable, str):
        terms = _core._parse_pauli_sum(observable, pauli_order, num_qubits)
        return np.array([c for c, _, _ in terms]), [(1.0, x, z) for _, x, z in terms]
    items = list(observable.items()) if hasattr(observable, "items") else list(observable)
    coefficients, terms = [], []
    for string, coefficient in items:
        (factor, x, z), *more = _core._parse_pauli_sum(string, pauli_order, num_qubits)
        if more:
            raise ValueError(f"'{string}' is a sum: give one Pauli string for each coefficient")
        coefficients.append(coefficient * factor)
        terms.append((1.0, x, z))
    return np.array(coefficients), terms


def _masks(x, z):
    weights = 1 << np.arange(x.shape[1], dtype=object)
    return [(1.0, int(np.dot(a, weights)), int(np.dot(b, weights))) for a, b in zip(x, z)]


def _real_terms(observables, num_qubits, pauli_order):
    coefficients, terms = pauli_terms(observables, num_qubits, pauli_order)
    if np.iscomplexobj(coefficients) and np.any(coefficients.imag):
        raise ValueError("the observable is not Hermitian: a coefficient is complex")
    return [(float(c.real), x, z) for c, (_, x, z) in zip(coefficients, terms)]


class Plan:
    """How a circuit would run: passes over the state, their bytes and times."""

    def __init__(self, result):
        self._plan = result.plan
        self.num_qubits, self.precision, self.device = result.num_qubits, result.precision, result.device
        self.memory_bytes = result.memory_bytes

    num_passes = property(lambda self: self._plan["passes"])
    num_gates = property(lambda self: self._plan["gates"])
    num_bytes = property(lambda self: self._plan["bytes"], doc="Read and written by all passes.")
    flops = property(lambda self: self._plan["flops"])
    predicted_s = property(lambda self: self._plan["predicted_s"])

    def explain(self):
        """The plan as a table: gates, actions, bytes, operations, predicted time and active positions of each pass."""
        return self._plan["text"]

    def __repr__(self):
        return (f"<tilewave.Plan: {self.num_gates} gates in {self.num_passes} passes over {self.num_qubits} qubits, "
                f"{self.num_bytes:.3g} bytes, {self.predicted_s:.3g} s>")


def plan(circuit, *, precision="double", device="auto", threads=0):
    """Plans a circuit without running it; takes no memory for the state."""
    return Plan(_core._run(circuit, 0, 0, precision, device, threads, None, [], False, False, True, True))
