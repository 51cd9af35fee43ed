"""Running circuits: one function for each question. Every function takes

circuit    a Circuit; or a qiskit.QuantumCircuit, a stim.Circuit without noise, OpenQASM (a text or a path), converted
precision  "double" (default) or "single"
device     "auto" (default), "cpu", "cuda" or "cuda:<index>" (upper case, and "gpu" for "cuda", are read, too)
threads    CPU threads, 0 for all
effort     how much planning a run is worth: "auto" (default: a circuit that comes again gets a plan that was searched for),
           "once", "repeated" or "best"
seed       of the shots; drawn when None
initial_state  where it is taken: 2^n complex numbers of norm 1 that the run begins in, instead of |0...0>

and, where a circuit may be noisy,

noise      a noise model: what `noise_model` takes (a dictionary, JSON, a path, Aer's NoiseModel)
engine     "auto" (default), "density" (exact), "trajectories", or "stabilizer" (Clifford gates and Pauli errors)
"""
from __future__ import annotations

import os
from collections.abc import Iterable
from operator import index
from typing import Any, Literal, Optional, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._types import (AnyCircuit, Bits, Complex, Device, Effort, InitialState, Noise, NoiseEngine, Observable, Path, PauliOrder, Places,
                     Precision, Seed)
from .circuits import Circuit, circuit_of
from .noise import noisy
from .observables import NO_TERMS, pauli_terms, real_terms


@overload
def simulate(circuit: AnyCircuit, *, precision: Precision = "double", device: Device = "auto", threads: int = 0,
             seed: Seed = None, noise: Noise = None, effort: Effort = "auto", on_device: Literal[False] = False,
             initial_state: InitialState = None) -> Complex: ...


@overload
def simulate(circuit: AnyCircuit, *, precision: Precision = "double", device: Device = "auto", threads: int = 0,
             seed: Seed = None, noise: Noise = None, effort: Effort = "auto", on_device: bool, initial_state: InitialState = None) -> Any: ...


def simulate(circuit: AnyCircuit, *, precision: Precision = "double", device: Device = "auto", threads: int = 0,
             seed: Seed = None, noise: Noise = None, effort: Effort = "auto", on_device: bool = False,
             initial_state: InitialState = None) -> Any:
    """The final state: 2^n complex numbers, qubit 0 the least significant bit of the index. The array is the memory the
    state was computed in, not a copy. Trailing measurements are left out; a circuit that measures in the middle gives
    the state of one shot. With ``noise``, and of a circuit with noise channels: the density matrix, an array [2^n, 2^n]. With ``on_device`` the state stays on
    its CUDA device and is an object that speaks DLPack (``torch.from_dlpack``, ``cupy.from_dlpack``, to_host)."""
    circuit, core = noisy(circuit, noise)
    precision, device, threads = how = how_of(precision, device, threads)
    initial = initial_of(initial_state, circuit.num_qubits)
    if on_device:
        if noise is not None or circuit.is_noisy:
            raise ValueError("a density matrix lies on the host: leave on_device out")
        return _core._simulate_on_device(circuit, precision, "cuda" if device == "auto" else device, threads, seed_of(seed),
                                         effort, initial)
    if noise is not None or circuit.is_noisy:
        if initial is not None:
            raise ValueError("a density matrix begins in |0...0>: leave initial_state out, or begin the circuit with its gates")
        elements = _core._density(circuit, core, *how)
        return elements.reshape(2**circuit.num_qubits, -1).T
    return _core._simulate(circuit, *how, seed_of(seed), effort, initial)


def run(circuit: AnyCircuit, shots: int = 0, *, seed: Seed = None,
        probabilities: Union[bool, Places, None] = None, observables: Optional[Observable] = None,
        pauli_order: PauliOrder = "last", precision: Precision = "double", device: Device = "auto", threads: int = 0,
        record_shots: bool = False, record_steps: bool = False, explain: bool = False, noise: Noise = None,
        engine: NoiseEngine = "auto", effort: Effort = "auto", initial_state: InitialState = None,
        checkpoint: Optional[Path] = None, checkpoint_every: float = 600.0, resume: Optional[Path] = None) -> _core.Result:
    """Everything in one run, as a Result. Without shots and questions a state is made for its norm and its times, but not where
    shots would have the stabilizer engine, nor of a noisy circuit: ``engine="statevector"`` makes it. ``probabilities``: a list of qubits, or True for all. ``observables``: Pauli
    sums as `expectation` takes them. ``checkpoint``: a folder in which the run keeps what it has, every ``checkpoint_every``
    seconds; ``resume``: the folder of a run to go on with, which is begun where the folder holds none and is that of
    ``checkpoint`` too. Files and refusals are those of ``tilewave run --checkpoint``; once the Result is returned the
    checkpoint is removed."""
    circuit, core = noisy(circuit, noise)
    if probabilities is True:
        probabilities = []
    elif probabilities is False:
        probabilities = None
    terms = NO_TERMS if observables is None else real_terms(observables, circuit.num_qubits, pauli_order)
    return _core._run(circuit, _count(shots), seed_of(seed), *how_of(precision, device, threads), probabilities, terms,
                      record_shots, record_steps, explain, False, core, engine, effort, initial_of(initial_state, circuit.num_qubits),
                      _folder(checkpoint), _seconds("checkpoint_every", checkpoint_every), _folder(resume))


def free_memory() -> None:
    """Gives back what is kept for the next run: plans, and the memory of the last state, of up to 1 GiB on the host and up to
    a quarter of a GPU's memory. Runs of this package take that memory by themselves where they need it; call this before
    somebody else does (another process, another package)."""
    _core._free_memory()


def _folder(path):
    return "" if path is None else os.fspath(path)


def _seconds(name, value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}): give seconds") from None


def sample(circuit: AnyCircuit, shots: int = 1024, *, seed: Seed = None, precision: Precision = "double",
           device: Device = "auto", threads: int = 0, noise: Noise = None, engine: NoiseEngine = "auto",
           effort: Effort = "auto", initial_state: InitialState = None) -> dict[str, int]:
    """Counts of outcomes, a dictionary. Registers are separated by blanks, the last declared leftmost; without
    measurements the whole state is measured."""
    circuit, core = noisy(circuit, noise)
    shots = _count(shots)
    # counts of no shots need no run: they are those of no rows
    return _core._run(circuit, shots, seed_of(seed), *how_of(precision, device, threads), None, NO_TERMS, shots == 0, False,
                      False, False, core, engine, effort, initial_of(initial_state, circuit.num_qubits)).counts


def sample_bits(circuit: AnyCircuit, shots: int = 1024, *, seed: Seed = None, bit_packed: bool = False,
                precision: Precision = "double", device: Device = "auto", threads: int = 0, noise: Noise = None,
                engine: NoiseEngine = "auto", effort: Effort = "auto",
                initial_state: InitialState = None) -> Bits:
    """Every shot in order, an array [shots, bits] of bool; bit k is classical bit k (qubit k where nothing is measured).
    ``bit_packed``: uint8 [shots, ceil(bits / 8)], the lowest bit first."""
    circuit, core = noisy(circuit, noise)
    result = _core._run(circuit, _count(shots), seed_of(seed), *how_of(precision, device, threads), None, NO_TERMS, True, False,
                        False, False, core, engine, effort, initial_of(initial_state, circuit.num_qubits))
    return _bits_of(result, bit_packed)


def _indices(chosen, num_qubits):
    for item in chosen:
        if not isinstance(item, str):
            yield index(item)
            continue
        if len(item) != num_qubits or set(item) - {"0", "1"}:
            raise ValueError(f"'{item}' is no basis state of {num_qubits} qubits: write {num_qubits} characters 0 or 1")
        yield int(item, 2)


def initial_of(state: InitialState, num_qubits: int) -> Optional[NDArray[np.complex128]]:
    """The state that a run begins in as the compiled part takes it. What is off norm 1 by the rounding of single precision
    is scaled. Raises ValueError where it is no state of so many qubits."""
    if state is None:
        return None
    amplitudes = np.ascontiguousarray(state, np.complex128).reshape(-1)
    # before the norm, which would be asked of the wrong numbers; simulate/initial_state.cc says the same of files
    if num_qubits > 62 or len(amplitudes) != 1 << num_qubits:
        raise ValueError(f"the initial state has {len(amplitudes)} amplitudes: a circuit of {num_qubits} qubits needs 2^{num_qubits}")
    norm = float(np.vdot(amplitudes, amplitudes).real)
    if not (np.isfinite(norm) and norm > 0):
        raise ValueError(f"the initial state has norm {norm:.6g}, the sum of |amplitude|^2: give amplitudes of norm 1")
    if not abs(norm - 1) <= 1e-5:
        raise ValueError(f"the initial state has norm {norm:.6g}, the sum of |amplitude|^2: divide it by {norm ** 0.5:.6g}")
    return amplitudes if abs(norm - 1) < 1e-14 else amplitudes / norm ** 0.5


def seed_of(seed: Seed) -> Optional[int]:
    """The seed as the compiled part takes it."""
    if seed is None:
        return None
    seed = _whole("seed", seed)
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed {seed} is out of range: use 0 to 2^64 - 1, or None to draw one")
    return seed


def _whole(name, value):
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}): give a whole number") from None


def how_of(precision: Any, device: Any, threads: Any) -> tuple[str, str, int]:
    """Precision, device and threads as the compiled part takes them, which knows their words."""
    for name, word in (("precision", precision), ("device", device)):
        if not isinstance(word, str):
            raise TypeError(f"{name} is {word!r} ({type(word).__name__}): give a word, as in {name}='{_EXAMPLES[name]}'")
    return precision, device, threads_of(threads)


def is_gpu(device: str) -> bool:
    """Whether the word for a device names GPUs, whatever a circuit asks for."""
    return device.lower().startswith(("cuda", "gpu"))


def threads_of(threads: Any) -> int:
    """The number of threads as the compiled part takes it."""
    threads = _whole("threads", threads)
    if not 0 <= threads <= 4096:
        raise ValueError(f"threads={threads}: use 0 (all) to 4096")
    return int(threads)


_EXAMPLES = {"precision": "single", "device": "cuda:0"}


def _count(shots, most=100_000_000, name="shots"):
    if isinstance(shots, (bool, np.bool_)):
        raise TypeError(f"{name} is {shots} (bool): give a whole number")
    shots = _whole(name, shots)
    if shots < 0:
        raise ValueError(f"{shots} shots cannot be taken: ask for 0 or more")
    if shots > most:
        raise ValueError(f"at most {most} shots in one run: split them by seed")
    return shots


def _bits_of(result, bit_packed):
    bits = result.num_shot_bits
    packed = result.shot_bits[:, :(bits + 7) // 8]
    if bit_packed:
        return packed
    return np.unpackbits(packed, axis=1, count=bits, bitorder="little").view(np.bool_)


def probabilities(circuit: AnyCircuit, qubits: Optional[Places] = None, *, precision: Precision = "double",
                  device: Device = "auto", threads: int = 0, seed: Seed = None,
                  effort: Effort = "auto") -> NDArray[np.float64]:
    """Probabilities of the 2^k outcomes of chosen qubits (at most 24; default: all); bit j of an index is qubits[j]."""
    circuit = circuit_of(circuit)
    return _core.State(circuit, *how_of(precision, device, threads), seed_of(seed), effort).probabilities(qubits)


def marginals(circuit: AnyCircuit, *, precision: Precision = "double", device: Device = "auto", threads: int = 0,
              seed: Seed = None, effort: Effort = "auto") -> NDArray[np.float64]:
    """P(qubit = 1) of every qubit."""
    circuit = circuit_of(circuit)
    return _core.State(circuit, *how_of(precision, device, threads), seed_of(seed), effort).marginals()


def amplitudes(circuit: AnyCircuit, indices: Optional[Iterable[Union[int, str]]] = None, *,
               precision: Precision = "double", device: Device = "auto", threads: int = 0, seed: Seed = None,
               effort: Effort = "auto") -> Complex:
    """Amplitudes of chosen basis states: numbers, or strings of bits such as "0110" (qubit 0 rightmost). All of them
    where none are given."""
    circuit = circuit_of(circuit)
    if indices is None:
        return simulate(circuit, precision=precision, device=device, threads=threads, seed=seed, effort=effort)
    chosen = list(_indices(indices, circuit.num_qubits))
    return _core.State(circuit, *how_of(precision, device, threads), seed_of(seed), effort).amplitudes(chosen)


_MOST_SURE_QUBITS = 20  # a state of so many is made at once


def means_of(circuit: Circuit, terms: Any, how: tuple[str, str, int], effort: Effort = "auto",
             initial: Any = None) -> NDArray[np.float64]:
    """<P> of every term in the state that a circuit of gates ends in, which large Clifford circuits do without."""
    found: NDArray[np.float64]
    if circuit.num_qubits <= _MOST_SURE_QUBITS:
        found = _core.State(circuit, *how, None, effort, initial)._expectations(terms)
    else:
        found = _core._exact_expectations(circuit, terms, *how, None, initial, effort)
    return found


def expectation(circuit: AnyCircuit, observable: Observable, *, shots: int = 0, pauli_order: PauliOrder = "last",
                precision: Precision = "double", device: Device = "auto", threads: int = 0, seed: Seed = None,
                noise: Noise = None, engine: NoiseEngine = "auto", effort: Effort = "auto") -> Any:
    """<psi|O|psi> of a sum of Pauli strings: a text such as "0.5 ZZI + 0.2 X0 Y3" (the rightmost character of a dense
    string is qubit 0; ``pauli_order="first"`` reads the other way), a dictionary string -> coefficient, a list of
    (string, coefficient) or of strings, or a Qiskit SparsePauliOp or Pauli. A circuit that measures in the middle needs ``shots``,
    over which the expectation is averaged; a noisy one, or one with ``engine="density"``, needs none and is exact or
    averaged over trajectories (``shots`` of them, 1000 when none are given): `run` tells which, and the standard errors."""
    circuit, core = noisy(circuit, noise)
    coefficients, x, z = pauli_terms(observable, circuit.num_qubits, pauli_order)
    terms, how = (np.ones(len(coefficients)), x, z), how_of(precision, device, threads)
    if shots or noise is not None or engine != "auto" or circuit.is_noisy:
        values = _core._run(circuit, _count(shots), seed_of(seed), *how, None, terms, False, False, False, False, core,
                            engine, effort).expectations
    else:
        if circuit.is_dynamic:
            raise ValueError("a circuit that measures or resets in the middle needs shots: ask for shots=N, or for "
                             'engine="density", which gives probabilities and expectations exactly')
        seed_of(seed)
        values = means_of(circuit, terms, how, effort)
    total = np.dot(coefficients, values)
    return float(total.real) if np.isrealobj(coefficients) or not np.any(coefficients.imag) else complex(total)


class State(_core.State):
    """The final state of a circuit (of one shot, when it measures in the middle), kept to be asked again and again.
    Trailing measurements are left out."""

    def __init__(self, circuit: AnyCircuit, precision: Precision = "double", device: Device = "auto", threads: int = 0,
                 seed: Seed = None, effort: Effort = "auto", initial_state: InitialState = None) -> None:
        circuit = circuit_of(circuit)
        super().__init__(circuit, *how_of(precision, device, threads), seed_of(seed), effort,
                         initial_of(initial_state, circuit.num_qubits))

    def apply(self, circuit: AnyCircuit) -> State:
        """Runs a unitary circuit of as many qubits on the state. Raises ValueError for one that measures or resets."""
        self._apply(circuit_of(circuit))
        return self

    def sample_bits(self, shots: int = 1024, *, seed: Seed = None) -> Bits:
        """Every qubit measured `shots` times, an array [shots, qubits] of bool; the state stays as it is."""
        return self._sample(_count(shots), seed_of(seed)).view(np.bool_)

    def save(self, folder: Path) -> None:
        """Keeps the state in a folder, with checksums; one that was kept there is replaced once this one is whole. Programs of
        the QuEST API read it too (tilewave_loadQureg). Raises MemoryError where there is no room for it."""
        self._save(os.fspath(folder))

    @classmethod
    def load(cls, folder: Path, device: Device = "auto", threads: int = 0) -> State:
        """The state that `save` (or tilewave_saveQureg) kept, to the same bits, on whatever device is asked for. Raises
        ValueError where the folder holds none, or a damaged one."""
        state = cls.__new__(cls)
        _core.State.__init__(state, os.fspath(folder), *how_of("double", device, threads)[1:])
        return state

    def __copy__(self) -> State:
        """A state of its own with the same content."""
        copy = State.__new__(State)
        _core.State.__init__(copy, self)
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.__copy__()


class Executable:
    """A circuit that was planned to run often: `compile` makes it. What `explain` prints is what every run runs."""

    def __init__(self, circuit: AnyCircuit, how: dict[str, Any]) -> None:
        self._circuit = circuit_of(circuit).copy()  # the caller may go on building
        self._how = how
        self._plan = plan(self._circuit, **how)

    @property
    def plan(self) -> Plan:
        """Passes, bytes and predicted time."""
        return self._plan

    def explain(self) -> str:
        """The passes of a run as a table."""
        return self._plan.explain()

    def run(self, shots: int = 0, **questions: Any) -> _core.Result:
        """As `run`: seed, probabilities, observables, pauli_order, record_shots, record_steps, explain."""
        return run(self._circuit, shots, **questions, **self._how)

    def sample(self, shots: int = 1024, *, seed: Seed = None) -> dict[str, int]:
        """Counts of outcomes, as `sample`."""
        return sample(self._circuit, shots, seed=seed, **self._how)

    def simulate(self, *, seed: Seed = None) -> Complex:
        """The final state, as `simulate`."""
        return simulate(self._circuit, seed=seed, **self._how)

    def expectation(self, observable: Observable, *, shots: int = 0, pauli_order: PauliOrder = "last",
                    seed: Seed = None) -> Any:
        """<psi|O|psi>, as `expectation`."""
        return expectation(self._circuit, observable, shots=shots, pauli_order=pauli_order, seed=seed, **self._how)

    def __repr__(self) -> str:
        return f"<tilewave.Executable: {self._plan.num_gates} gates in {self._plan.num_passes} passes>"


def compile(circuit: AnyCircuit, *, precision: Precision = "double", device: Device = "auto", threads: int = 0,
            effort: Effort = "repeated") -> Executable:
    """Plans a circuit that will run often: a plan of fewer passes is searched for at once, about as long as a few passes
    take. With ``effort="best"`` its first run on one GPU also compiles kernels for it, some seconds."""
    return Executable(circuit, {"precision": precision, "device": device, "threads": threads, "effort": effort})


class Plan:
    """How a circuit would run: passes over the state, their bytes and times."""

    def __init__(self, result: _core.Result) -> None:
        self._plan = result.plan
        self.steps = result.steps  #: of each pass and exchange: step, bytes, predicted_s
        self.num_qubits, self.precision, self.device = result.num_qubits, result.precision, result.device
        self.memory_bytes = result.memory_bytes

    @property
    def num_passes(self) -> int:
        return int(self._plan["passes"])

    @property
    def num_gates(self) -> int:
        return int(self._plan["gates"])

    @property
    def num_bytes(self) -> float:
        """Read and written by all passes."""
        return float(self._plan["bytes"])

    @property
    def flops(self) -> float:
        return float(self._plan["flops"])

    @property
    def predicted_s(self) -> float:
        """Of one shot, where the circuit measures or resets in the middle."""
        return float(self._plan["predicted_s"])

    def explain(self) -> str:
        """The plan as a table: gates, actions, bytes, operations, predicted time and active positions of each pass."""
        return str(self._plan["text"])

    def _repr_html_(self) -> str:
        from .notebooks import plan_html
        return plan_html(self)

    def __repr__(self) -> str:
        passes = "1 pass" if self.num_passes == 1 else f"{self.num_passes} passes"
        return (f"<tilewave.Plan: {_core._counted(self.num_gates, 'gate')} in {passes} over "
                f"{_core._counted(self.num_qubits, 'qubit')}, "
                f"{self.num_bytes:.3g} bytes, {self.predicted_s:.3g} s>")


def plan(circuit: AnyCircuit, *, precision: Precision = "double", device: Device = "auto", threads: int = 0,
         effort: Effort = "auto") -> Plan:
    """Plans a circuit without running it; takes no memory for the state."""
    circuit = circuit_of(circuit)
    return Plan(_core._run(circuit, 0, 0, *how_of(precision, device, threads), None, NO_TERMS, False, True, True, True, None,
                           "auto", effort))
