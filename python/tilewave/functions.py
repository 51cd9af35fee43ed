"""Circuits as functions of their parameters: values, derivatives, states and samples, for one set of values or many."""
from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from functools import cache
from operator import index
from typing import Any, Literal, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._types import AnyCircuit, Bits, Complex, Device, Observable, PauliOrder, Places, Precision
from .angles import Parameter, value_array
from .observables import NO_TERMS, real_terms

Floats = NDArray[np.float64]
#: What processes of a run share.
Ranks = Union[bool, Literal["sets", "state"]]
#: Amplitudes to start from: one state, or one for each set of values.
Start = Optional[ArrayLike]


class CircuitFunction:
    """A circuit of gates as a function of its parameters; `Circuit.compile` makes it. Values are arrays float64[P], or
    float64[B, P] for B sets at a time, P being the number of parameters in the order of ``parameters``; a dictionary from
    parameters or their names to numbers or arrays will do as well. Results of several sets have B in front.

    Observables are numbered in their order, M of them; where one observable was given, not a list, there is no axis for them.
    Derivatives are exact (the adjoint method), in double precision to about 1e-12 and in single to about 1e-5 of the
    observable's norm. They need two states of 2^n amplitudes in memory, of 16 bytes each, or 8 in single precision.

    Sets of values are shared by CUDA devices (``device="cuda:0-3"``) and, with ``ranks="sets"`` (or True), by the processes that mpirun,
    srun or the variables TILEWAVE_PROCESSES, TILEWAVE_PROCESS and TILEWAVE_ROOT make one run: each takes a part of them, and
    every process has all results. With ``ranks="state"`` a power of two of them share one state, on CPUs or on a CUDA device
    each, set after set: for expectations and their derivatives, of circuits that no process has memory for. All processes make the same calls with the same values. A process that ends with an
    exception ends the run.

    Every call takes ``initial_state``, the amplitudes to start from in the place of |0...0>: complex128[2^n] for all sets, or
    [B, 2^n], of norm 1. One set of values [P] with [B, 2^n] is used for all B states, and results have B in front.

    Raises ValueError for values of another shape or that are not finite."""

    def __init__(self, circuit: AnyCircuit, observables: Any = None, *, pauli_order: PauliOrder = "last",
                 precision: Precision = "double", device: Device = "auto", threads: int = 0, ranks: Ranks = False) -> None:
        from .circuits import circuit_of
        from .runs import how_of
        own = circuit_of(circuit)
        self._is_single = observables is not None and not _is_list(observables)
        listed = [] if observables is None else [observables] if self._is_single else list(observables)
        parts = [_observable(k, observable, own.num_qubits, pauli_order) for k, observable in enumerate(listed)]
        columns = zip(*parts) if parts else [[column] for column in NO_TERMS]
        coefficients, x, z = (np.ascontiguousarray(np.concatenate(list(column))) for column in columns)
        numbers = np.repeat(np.arange(len(parts), dtype=np.uint32), [len(part[0]) for part in parts]).astype(np.uint32)
        self._names: list[str] = own._parameter_names
        self._num_qubits, self._num_observables = own.num_qubits, len(parts)
        self._function = _core._Function(own, (coefficients, x, z), numbers, len(parts), *how_of(precision, device, threads),
                                        _shared_by_ranks(ranks))
        if ranks:
            _finish_at_exit()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order of values."""
        return tuple(Parameter(name) for name in self._names)

    @property
    def num_parameters(self) -> int:
        return len(self._names)

    @property
    def num_observables(self) -> int:
        return self._num_observables

    @property
    def num_qubits(self) -> int:
        return self._num_qubits

    def expectation(self, values: Any, *, initial_state: Start = None) -> Any:
        """<psi|O|psi> of every observable: float64[M], or [B, M]; of one observable a number, or [B]."""
        sets, start, is_batch = self._given(values, initial_state)
        self._need_observables()
        return self._shaped(self._function._expectations(sets, start), is_batch)

    def value_and_grad(self, values: Any, weights: Optional[ArrayLike] = None, *,
                       initial_state: Start = None) -> tuple[Any, Floats]:
        """The sum of the observables with ``weights`` (float64[M]; default: all 1), and its derivatives: a number and
        float64[P], or [B] and [B, P]."""
        sets, start, is_batch = self._given(values, initial_state)
        v = self._cotangents(np.ones(self._num_observables) if weights is None else weights, sets, "weights")
        expectations, gradient = self._function._vjp(sets, start, v, True)
        total = np.einsum("bm,bm->b", v, expectations)
        return (total, gradient) if is_batch else (float(total[0]), gradient[0])

    def gradient(self, values: Any, weights: Optional[ArrayLike] = None, *, initial_state: Start = None) -> Floats:
        """The derivatives of `value_and_grad` alone."""
        sets, start, is_batch = self._given(values, initial_state)
        v = self._cotangents(np.ones(self._num_observables) if weights is None else weights, sets, "weights")
        gradient = self._function._vjp(sets, start, v, False)[1]
        return gradient if is_batch else gradient[0]

    def vjp(self, values: Any, v: ArrayLike, *, initial_state: Start = None) -> Floats:
        """The derivatives of sum_m v_m E_m, in one backward run whatever M: ``v`` is float64[M], or [B, M] (float64[] or
        [B] for one observable); the result float64[P], or [B, P]."""
        return self.expectation_and_vjp(values, v, initial_state=initial_state, wants_expectation=False)[1]

    def expectation_and_vjp(self, values: Any, v: ArrayLike, *, initial_state: Start = None,
                            wants_expectation: bool = True) -> tuple[Any, Floats]:
        """`expectation` and `vjp` together."""
        sets, start, is_batch = self._given(values, initial_state)
        cotangents = self._cotangents(v, sets, "v")
        expectations, gradient = self._function._vjp(sets, start, cotangents, wants_expectation)
        if wants_expectation:
            expectations = self._shaped(expectations, is_batch)
        return expectations, gradient if is_batch else gradient[0]

    def jacobian(self, values: Any, *, initial_state: Start = None) -> Floats:
        """The derivatives of every observable: float64[M, P], or [B, M, P]; without M for one observable. Takes a
        backward run for each observable: where M is large and a loss is what counts, `vjp` takes one."""
        sets, start, is_batch = self._given(values, initial_state)
        self._need_observables()
        if len(start) > 1:
            start = np.repeat(start, self._num_observables, axis=0)
        many, units = np.repeat(sets, self._num_observables, axis=0), np.tile(np.eye(self._num_observables), (len(sets), 1))
        rows = self._function._vjp(many, start, units, False)[1].reshape(len(sets), self._num_observables, len(self._names))
        if self._is_single:
            rows = rows[:, 0]
        return rows if is_batch else rows[0]

    def state(self, values: Any, *, initial_state: Start = None) -> Complex:
        """The amplitudes: complex128[2^n], or [B, 2^n]; qubit k is bit k of the index."""
        sets, start, is_batch = self._given(values, initial_state)
        states = self._function._states(sets, start)
        return states if is_batch else states[0]

    def state_vjp(self, values: Any, g: ArrayLike, *, initial_state: Start = None) -> Floats:
        """The derivatives of Re sum_x conj(g_x) psi_x, for ``g`` of the shape of `state`: float64[P], or [B, P]."""
        sets, start, is_batch = self._given(values, initial_state)
        cotangents = np.ascontiguousarray(g, np.complex128)
        if cotangents.shape != ((len(sets),) if is_batch else ()) + (2**self._num_qubits,):
            raise ValueError(f"g has the shape {cotangents.shape}: give that of the state")
        _need_finite(cotangents, "g")
        gradient = self._function._state_vjp(sets, start, cotangents)
        return gradient if is_batch else gradient[0]

    def metric_tensor(self, values: Any, *, initial_state: Start = None) -> Floats:
        """The real part of the quantum geometric tensor (the metric of Fubini and Study; a quarter of the quantum Fisher
        information), Re(<d_i psi|d_j psi> - <d_i psi|psi><psi|d_j psi>): float64[P, P], symmetric, or [B, P, P]. Exact; takes
        1.2 to 1.4 times a gradient for each parameter, and the memory of two states. Observables do not matter to it.

        Raises ValueError where the function was compiled for a CUDA device: it is computed on the CPU."""
        sets, start, is_batch = self._given(values, initial_state)
        metric = self._function._metric_tensor(sets, start)
        return metric if is_batch else metric[0]

    def probabilities(self, values: Any, qubits: Optional[Places] = None, *, initial_state: Start = None) -> Floats:
        """Probabilities of the 2^k outcomes of chosen qubits (default: all): float64[2^k], or [B, 2^k]; bit j of an index is
        qubits[j]."""
        chosen = np.array(self._chosen(qubits), np.uint32)
        sets, start, is_batch = self._given(values, initial_state)
        found = self._function._probabilities(sets, start, chosen)
        return found if is_batch else found[0]

    def probabilities_vjp(self, values: Any, qubits: Optional[Places], v: ArrayLike, *,
                          initial_state: Start = None) -> Floats:
        """The derivatives of sum_y v_y P_y, for ``v`` of the shape of `probabilities`: float64[P], or [B, P]."""
        chosen, states = self._chosen(qubits), self.state(values, initial_state=initial_state)
        cotangents = np.asarray(v, np.float64)
        if cotangents.shape != states.shape[:-1] + (2**len(chosen),):
            raise ValueError(f"v has the shape {cotangents.shape}: give that of the probabilities")
        _need_finite(cotangents, "v")
        outcome = np.zeros(2**self._num_qubits, np.int64)
        for j, qubit in enumerate(chosen):
            outcome |= (np.arange(2**self._num_qubits) >> qubit & 1) << j
        return self.state_vjp(values, 2 * cotangents[..., outcome] * states, initial_state=initial_state)

    def sample(self, values: Any, shots: int, seed: Optional[int] = None, *, initial_state: Start = None) -> Bits:
        """Measurements of all qubits: bool[shots, n], or [B, shots, n]; column k is qubit k. The same seed draws the same
        shots, set by set."""
        from .runs import _count, seed_of
        sets, start, is_batch = self._given(values, initial_state)
        seed = seed_of(seed)
        drawn = int(np.random.default_rng().integers(1 << 63)) if seed is None else seed
        outcomes = self._function._samples(sets, start, _count(shots), drawn)
        bits = bits_of(outcomes, range(self._num_qubits))
        return bits if is_batch else bits[0]

    def explain(self) -> str:
        """The passes over the state, as a table."""
        return str(self._function._explain())

    def __repr__(self) -> str:
        return (f"<tilewave.CircuitFunction: {self._num_qubits} qubits, {len(self._names)} parameters, "
                f"{self._num_observables} observables>")

    def _given(self, values, initial):
        """The sets of values, the states they start from, and whether results have an axis for them."""
        array = value_array(self._names, values)
        if array.ndim > 2:
            raise ValueError(f"{len(self._names)} parameters, got values of shape {array.shape}: give [P], or [B, P] for B sets")
        sets, size = np.atleast_2d(array), 2**self._num_qubits
        if initial is None:
            return np.ascontiguousarray(sets), np.zeros((0, 1), np.complex128), array.ndim == 2
        start = np.ascontiguousarray(initial, np.complex128)
        is_batch = array.ndim == 2 or start.ndim == 2
        if array.ndim == 1 and start.ndim == 2:  # a set of values for many states
            sets = np.broadcast_to(sets, (len(start), sets.shape[1]))
        if start.shape not in ((size,), (len(sets), size)):
            raise ValueError(f"initial_state has the shape {start.shape}: give [{size}]"
                             + (f", or [{len(sets)}, {size}]" if array.ndim == 2 else f", or [B, {size}]"))
        _need_finite(start, "initial_state")
        return np.ascontiguousarray(sets), np.atleast_2d(start), is_batch

    def _need_observables(self):
        if not self._num_observables:
            raise ValueError("the circuit was compiled without observables: give compile(observables=...)")

    def _cotangents(self, v, sets, name):
        self._need_observables()
        if np.iscomplexobj(v) and np.any(np.imag(v)):
            raise ValueError(f"{name} is complex: expectations are real, so give real numbers")
        array = np.asarray(np.real(v), np.float64)
        if self._is_single and array.ndim < 2 and array.shape in ((), (len(sets),)):
            array = array[..., None]
        if array.shape not in ((self._num_observables,), (len(sets), self._num_observables)):
            raise ValueError(f"{name} has the shape {np.shape(v)}: give a number for each of {self._num_observables} observables"
                             + (f", in one row or {len(sets)}" if len(sets) > 1 else ""))
        _need_finite(array, name)
        return np.ascontiguousarray(np.broadcast_to(array, (len(sets), self._num_observables)))

    def _shaped(self, rows, is_batch):
        if self._is_single:
            rows = rows[:, 0]
            return rows if is_batch else float(rows[0])
        return rows if is_batch else rows[0]

    def _chosen(self, qubits):
        chosen = list(range(self._num_qubits)) if qubits is None else [index(q) for q in qubits]
        for q in chosen:
            if not 0 <= q < self._num_qubits:
                raise ValueError(f"qubit {q} is out of range: the circuit has {self._num_qubits} qubits")
        if len(set(chosen)) != len(chosen):
            raise ValueError("a qubit is named twice: use distinct qubits")
        return chosen


def _shared_by_ranks(ranks):
    if ranks is True or ranks is False:
        return "sets" if ranks else ""
    if ranks not in ("sets", "state"):
        raise ValueError(f"ranks is {ranks!r}: use 'sets' (or True), 'state', or False")
    return ranks


@cache
def _finish_at_exit():
    atexit.register(_finish)


def _finish():
    if getattr(sys, "last_value", None) is not None:  # an exception ended the program: the others are to hear of it
        return
    try:
        _core._finish_ranks()
    except ConnectionError as error:
        print(f"tilewave: at the end of the program: {error}", file=sys.stderr)


def bits_of(outcomes: NDArray[np.uint64], qubits: Sequence[int]) -> Bits:
    """Bits of basis states, bool[..., k] for k qubits. One after the other: all at a time would be 64 times their memory."""
    bits = np.empty((*outcomes.shape, len(qubits)), np.bool_)
    for k, qubit in enumerate(qubits):
        bits[..., k] = outcomes >> np.uint64(qubit) & np.uint64(1)
    return bits


def _need_finite(array, name):
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has an element that is not a finite number")


def _is_list(observables):
    """Whether these are several observables, rather than one as a list of its terms."""
    if isinstance(observables, (str, dict)) or not isinstance(observables, (list, tuple)):
        return False
    # [("ZZ", 0.5), ("XI", 1)] is one observable; a list of texts is several
    return not (observables and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
                                    and not isinstance(item[1], str) for item in observables))


def _observable(number, observable, num_qubits, pauli_order):
    try:
        return real_terms(observable, num_qubits, pauli_order)
    except ValueError as error:
        raise ValueError(f"observable {number}: {error}") from error
