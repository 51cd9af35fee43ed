"""Derivatives of tapes by the engine's adjoint method: circuits of gates, and either expectation values of Pauli
sums or probabilities of wires."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import pennylane as qml
from numpy.typing import NDArray
from pennylane.exceptions import DeviceError
from pennylane.measurements import ExpectationMP, ProbabilityMP
from pennylane.operation import StatePrepBase
from pennylane.ops import Conditional, MidMeasure

from ..programs import Function, Start
from . import gates
from ..observables import Terms
from .followed import is_followed, may_vary
from .observables import sentence_of, with_terms

# Up to so many qubits a compiled function also answers forward: it plans nothing anew, which takes 0.1 to 1 ms a set of
# values. Beyond, bound circuits run about as fast (one core of an AMD EPYC, 2026-11-26: 2.6 and 3.4 ms at 18 qubits, 16 and
# 15 ms at 20), and from 20 on a GPU may be what suits them.
MOST_FORWARD_QUBITS = 18


def why_not(tape: Any) -> Optional[str]:
    """Why the derivatives of a tape are not those of an adjoint run; None where they are."""
    if tape.shots:
        return "it has shots: use parameter-shift"
    if tape.measurements and all(asks_probabilities(mp) for mp in tape.measurements):
        return why_no_gates(tape)
    for mp in tape.measurements:
        if type(mp) is not ExpectationMP or mp.mv is not None:
            return f"{mp} is no expectation value of an observable"
        if sentence_of(mp.obs) is None:
            return f"{mp.obs} is no sum of Pauli strings"
        if any(qml.math.requires_grad(value) for value in mp.obs.data):
            return f"the coefficients of {mp.obs} are trainable"
    return why_no_gates(tape)


def asks_probabilities(mp: Any) -> bool:
    """Whether it is of basis states of wires."""
    return type(mp) is ProbabilityMP and mp.obs is None and mp.mv is None


def why_no_gates(tape: Any) -> Optional[str]:
    """Why a tape is no circuit of gates; None where it is."""
    for op in tape.operations:
        if isinstance(op, (MidMeasure, Conditional)):
            return "it measures in the middle"
    return None


def is_differentiable(op: Any) -> bool:
    """Whether an operation is taken as it is where derivatives are asked for."""
    if isinstance(op, StatePrepBase):  # the first one is a state to begin in
        return is_amplitudes(op) or not any(may_vary(value) for value in op.data)
    if not gates.is_native(op, allows_measurements=False) or op.name == "Projector":
        return False
    return gates.angles_only(op) or not any(may_vary(value) for value in op.data)


def is_free_matrix(op: Any) -> bool:
    """Whether an operation is a matrix on several wires whose entries a framework follows, which has no decomposition into gates
    that all of them differentiate."""
    return (op.name in ("QubitUnitary", "ControlledQubitUnitary", "BlockEncode") and len(op.wires) > 1
            and any(is_followed(value) for value in op.data))


def is_followable(op: Any) -> bool:
    """Whether an operation is taken as it is where a framework follows numbers."""
    return is_free_matrix(op) or is_differentiable(op)


def is_amplitudes(op: Any) -> bool:
    """Whether the data of an operation are amplitudes to begin in."""
    return op.name in ("StatePrep", "AmplitudeEmbedding")


@qml.transform
def need_adjoint(tape):
    """Raises DeviceError for a tape that has no adjoint derivatives."""
    reason = why_not(tape)
    if reason is not None:
        remedy = "" if "use parameter-shift" in reason else " (diff_method='parameter-shift' may have them)"
        raise DeviceError(f"adjoint derivatives of this circuit are not supported: {reason}{remedy}")
    return (tape,), lambda results: results[0]


def outcomes_of(qubits: Sequence[int], num_wires: int) -> NDArray[np.int64]:
    """The outcome of every basis state, bit k of it being qubits[k]."""
    basis, outcome = np.arange(2**num_wires), np.zeros(2**num_wires, np.int64)
    for k, qubit in enumerate(qubits):
        outcome |= (basis >> qubit & 1) << k
    return outcome


def _again(rows, count, axis):
    """All rows, so many times."""
    return np.concatenate([rows] * count, axis=axis)


class _Products(tuple):  # type: ignore[type-arg]
    """Arrays of different shapes: PennyLane's interface to PyTorch asks NumPy to squeeze them, to see whether there are any."""

    def squeeze(self, axis: Any = None) -> NDArray[np.float64]:
        return np.zeros(len(self))


class Derivatives:
    """Of one tape: its function, its numbers as float64[sets, numbers], and where its trainable parameters are."""

    def __init__(self, tape: Any, function: Function, table: NDArray[np.float64], batch: Optional[int], wires: Any,
                 initial: Start, terms: Sequence[Terms] = ()) -> None:
        self.tape, self.function, self.table, self.batch, self.initial = tape, function, table, batch, initial
        self.terms, self.wires = terms, list(wires)
        self.outcomes = None
        if not function.num_observables and tape.measurements:
            self.outcomes = [outcomes_of([wires[wire] for wire in (mp.wires or wires)][::-1], len(wires))
                             for mp in tape.measurements]
        data = [value for op in tape.operations for value in op.data]
        self.shapes = [np.shape(value) for value in data]
        for k in tape.trainable_params:
            if k >= len(data):
                raise DeviceError("the coefficients of an observable are trainable: use parameter-shift")
        plain = [gates.angles_only(op) and not isinstance(op, StatePrepBase) for op in tape.operations for _ in op.data]
        self.by_start = bool(data) and 0 in tape.trainable_params and is_amplitudes(tape.operations[0])
        for k in tape.trainable_params:
            if not plain[k] and not (k == 0 and self.by_start):
                raise DeviceError("a trainable parameter is an entry of a matrix or a state: use parameter-shift")

    def jacobian(self) -> Any:
        """As compute_derivatives gives it."""
        self._need_angles()
        if self.outcomes is not None:
            return self._jacobian_of_probabilities()
        count, sets = self.function.num_observables, len(self.table)
        many = np.repeat(self.table, count, axis=0)
        _, rows = self.function.vjp(many, np.tile(np.eye(count), (sets, 1)), initial=self._starts(np.repeat, count))
        rows = rows.reshape(sets, count, -1)
        parts = [tuple(self._of_batch(rows[:, m, k], k) for k in self.tape.trainable_params) for m in range(count)]
        parts = [part[0] if len(part) == 1 else part for part in parts]
        return parts[0] if count == 1 else tuple(parts)

    def metric_tensor(self) -> NDArray[np.float64]:
        """[trainable, trainable], of one set."""
        self._need_angles()
        which = list(self.tape.trainable_params)
        return self.function.metric_tensor(self.table, self.initial)[0][np.ix_(which, which)]

    def _need_angles(self):
        if self.by_start:
            raise DeviceError("amplitudes to begin in are trainable: ask for a vector-Jacobian product, or use parameter-shift")

    def _jacobian_of_probabilities(self):
        if self.batch is not None:
            raise DeviceError("Jacobians of batches of probabilities are not supported: differentiate a function of them")
        parts = []
        for mp, outcome in zip(self.tape.measurements, self.outcomes):
            size = 2 ** len(mp.wires) if mp.wires else len(outcome)
            gradient = self._of_probabilities(np.repeat(self.table, size, axis=0), np.eye(size)[:, outcome])
            columns = tuple(gradient[:, k].reshape(size, *self.shapes[k]) for k in self.tape.trainable_params)
            parts.append(columns[0] if len(columns) == 1 else columns)
        return parts[0] if len(parts) == 1 else tuple(parts)

    def _starts(self, repeated, count):
        """The states to begin in where the table's rows come `count` times."""
        return self.initial if self.initial is None or self.initial.ndim == 1 else repeated(self.initial, count, axis=0)

    def _of_probabilities(self, table, weights):
        """The derivatives of sum_x w_x |psi_x|^2; the table is this one's, again and again."""
        initial = self._starts(_again, len(table) // len(self.table))
        return self.function.state_vjp(table, 2 * weights * self.function.states(table, initial), initial)

    def _vjp_of_probabilities(self, cotangents):
        sets = len(self.table)
        given = (cotangents,) if len(self.outcomes) == 1 and not isinstance(cotangents, (tuple, list)) else tuple(cotangents)
        weights = 0.0
        for v, outcome in zip(given, self.outcomes):
            v = np.asarray(qml.math.toarray(v) if not np.isscalar(v) else v, float)
            # [..., cotangents] of one set, [cotangents, sets, outcomes] else
            weights = weights + (v[..., outcome] if v.ndim else v)
        weights = np.broadcast_to(weights, np.broadcast_shapes(np.shape(weights), (sets, len(self.outcomes[0]))
                                                               if self.batch is not None else (len(self.outcomes[0]),)))
        many = weights.ndim > (2 if self.batch is not None else 1)
        rows = weights.reshape(-1, len(self.outcomes[0]))
        table = np.tile(self.table, (len(rows) // sets, 1))
        if self.by_start:
            states = self.function.states(table, self._starts(_again, len(rows) // sets))
            self._keep_by_start(table, 2 * rows * states)
        return self._of_probabilities(table, rows), many

    def _of_batch(self, column, k):
        """The derivatives of each set's value."""
        return column if self.batch is not None else np.reshape(column[0], self.shapes[k])

    def vjp(self, cotangents: Any) -> tuple[Any, ...]:
        """One entry a trainable parameter, of its shape; for a batch of cotangents [..., count], with that axis in front."""
        count, sets = self.function.num_observables, len(self.table)
        if self.outcomes is not None:
            return self._summed(*self._vjp_of_probabilities(cotangents))
        given = (cotangents,) if count == 1 and not isinstance(cotangents, (tuple, list)) else tuple(cotangents)
        arrays = np.broadcast_arrays(*(np.asarray(qml.math.toarray(v) if not np.isscalar(v) else v, float) for v in given))
        v = np.stack(arrays, axis=-1)  # [..., observables]
        if v.ndim == 1 and self.batch is not None:
            v = np.broadcast_to(v, (sets, count))
        many = v.ndim > (1 if self.batch is None else 2)
        if self.batch is None:
            rows = v.reshape(-1, count)
            table = np.broadcast_to(self.table, (len(rows), self.table.shape[1]))
        else:
            rows = v.reshape(-1, count)
            table = np.tile(self.table, (len(rows) // sets, 1))
        initial = self._starts(_again, len(table) // len(self.table))
        if self.by_start:
            states = self.function.states(table, initial)
            self._keep_by_start(table, sum(2 * rows[:, m:m + 1] * with_terms(states, terms) for m, terms in enumerate(self.terms)))
        return self._summed(self.function.vjp(table, rows, initial=initial)[1], many)

    def _keep_by_start(self, table, by_state):
        """The derivatives by the amplitudes that sets begin in, from those by final ones, dL = Re(g dpsi), [rows, amplitudes]."""
        op = self.tape.operations[0]
        count = self.shapes[0][-1]
        places = np.asarray(qml.StatePrep(np.arange(1, count + 1), op.wires, validate_norm=False).state_vector(wire_order=self.wires))
        places = places.real.reshape(-1).astype(int)
        own = np.empty((len(table), count), complex)
        own[:, places[places > 0] - 1] = self.function.undone(table, by_state)[:, places > 0].conj()
        self.of_start = own

    def _summed(self, gradient, many):
        """Of each trainable parameter: summed over the sets that share it."""
        gradient = gradient.reshape(-1, len(self.table), gradient.shape[1])  # [cotangents, sets, numbers]
        found = []
        for k in self.tape.trainable_params:
            if k == 0 and self.by_start:
                column = self.of_start.reshape(*gradient.shape[:2], -1)
                column = column if len(self.shapes[0]) == 2 else column.sum(axis=1)
                found.append(column if many else column[0])
                continue
            column = gradient[:, :, k]
            shape = self.shapes[k]
            if self.batch is None or shape != (self.batch,):  # of all sets
                column = column.sum(axis=1).reshape(-1, *shape)
            found.append(column if many else column[0])
        return _Products(found)
