"""Tapes whose numbers JAX or PyTorch follows: what they measure as functions of all numbers of their gates at a time.

PennyLane's own callbacks give a device the numbers of all levels of a vmap as arrays whose leading axes do not say which level
they are of, and do not go under torch.func at all. Here one function takes the numbers of all gates, [..., numbers], and answers
with [..., answer]; `in_jax.py` and `in_torch.py` say to either framework what that function and its derivatives are. What the
engine does not answer itself PennyLane takes from the state, with the framework.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, Optional

import numpy as np
import pennylane as qml
from numpy.typing import NDArray
from pennylane.devices.qubit import measure as measure_amplitudes
from pennylane.exceptions import DeviceError
from pennylane.measurements import ExpectationMP, ProbabilityMP, StateMeasurement, StateMP, VarianceMP
from pennylane.pauli import PauliSentence

from ..programs import Function
from .analytic import on_indices
from .followed import may_vary
from .gradients import MOST_FORWARD_QUBITS, asks_probabilities, outcomes_of, why_no_gates
from .observables import MOST_SQUARED_TERMS, Known, sentence_of, terms_of, with_terms

_MOST_ROWS = 1 << 12  # of a Jacobian that are asked for at a time


def why_not_traced(tape: Any, under_jit: bool) -> Optional[str]:
    """Why a tape does not run here; None where it does."""
    if tape.shots:
        return "it has shots: use parameter-shift"
    for mp in tape.measurements:
        if mp.mv is not None or not isinstance(mp, StateMeasurement):
            return f"{mp} is not of the state that the circuit ends in"
    others = [mp for mp in tape.measurements if not _is_native(mp)]
    # what is linear in the density matrix has the parameter-shift rule, which forward-mode transformations take under jit
    if under_jit and others and all(type(mp) in (ExpectationMP, ProbabilityMP) for mp in others):
        return f"{others[0]} is no expectation value of a sum of Pauli strings"
    return why_no_gates(tape)


def _is_native(mp):
    """Whether the engine answers, rather than PennyLane from the state."""
    if asks_probabilities(mp) or type(mp) is StateMP:
        return True
    if type(mp) not in (ExpectationMP, VarianceMP):
        return False
    sentence = sentence_of(mp.obs)
    return bool(sentence) and (type(mp) is ExpectationMP or (len(sentence) <= MOST_SQUARED_TERMS and not _varies(mp)))


def _varies(mp):
    """Whether the coefficients of an observable are followed."""
    return any(may_vary(value) for value in mp.obs.data)


class Combination:
    """A sum of the answers of parts that follow each other, with coefficients that a framework follows."""

    def __init__(self, coefficients: Sequence[Any]) -> None:
        self.coefficients = coefficients

    def of(self, parts: Sequence[Any]) -> Any:
        return sum(qml.math.real(c) * part for c, part in zip(self.coefficients, parts))


@qml.transform
def need_traced(tape, under_jit):
    """Raises DeviceError for a tape that does not run here."""
    reason = why_not_traced(tape, under_jit)
    if reason is not None:
        raise DeviceError(f"adjoint derivatives of this circuit are not supported: {reason}")
    return (tape,), lambda results: results[0]


class Answers:
    """What a tape measures, as functions of sets of numbers: `parts`, what the engine answers, and `places`, for each
    measurement the number of its part, and what is made of it: itself where PennyLane answers it from the state that the part
    is, a Combination of it and those that follow, or None."""

    def __init__(self, measurements: Sequence[Any], wires: dict[Any, int], find: Callable[[Any, bool], Known],
                 function: Callable[[Any, Sequence[Any]], Function], state_of: Callable[[Any, Any], Any],
                 follows_start: bool = False) -> None:
        self.parts: list[tuple[str, Any]] = []  # what is asked, and of what
        self.places: list[tuple[int, Any]] = []
        self.shapes: list[tuple[int, ...]] = []
        terms: list[Any] = []
        self.num_wires = len(wires)
        state_at = None
        for mp in measurements:
            if not _is_native(mp) or type(mp) is StateMP:
                state_at = len(self.parts) if state_at is None else state_at
                self.places.append((state_at, None if type(mp) is StateMP else on_indices(mp, wires)))
                if state_at < len(self.parts):
                    continue
                self.parts.append(("state", None))
                self.shapes.append((2 ** len(wires),))
                continue
            self.places.append((len(self.parts), None))
            if asks_probabilities(mp):
                qubits = [wires[wire] for wire in (mp.wires or wires)][::-1]
                self.parts.append(("probabilities", qubits))
                self.shapes.append((2 ** len(qubits),))
            elif _varies(mp):
                sentence = sentence_of(mp.obs)
                self.places[-1] = len(self.parts), Combination(list(sentence.values()))
                for word in sentence:
                    self.parts.append(("mean", len(terms)))
                    self.shapes.append(())
                    terms.append(terms_of(PauliSentence({word: 1.0}), wires, len(wires)))
            else:
                known = find(mp.obs, type(mp) is VarianceMP)
                self.parts.append(("variance" if type(mp) is VarianceMP else "mean", len(terms)))
                self.shapes.append(())
                terms += known.terms
        self.terms, self.num_terms, self.state_of = terms, len(terms), state_of
        key = tuple(part.tobytes() for each in terms for part in each)
        self.means = function(key, terms) if terms else None
        is_bare = follows_start or len(terms) == 0 or any(kind in ("state", "probabilities") for kind, _ in self.parts)
        self.bare = function((), []) if is_bare else None

    def finish(self, parts: Sequence[Any], batch: Optional[int]) -> Any:
        """What a tape gives, made of a framework's arrays [..., answer] of the parts."""
        found, own = [], () if batch is None else (batch,)
        for at, made in self.places:
            if made is None:
                found.append(parts[at])
            elif isinstance(made, Combination):
                found.append(made.of(parts[at:]))
            else:
                found.append(measure_amplitudes(made, parts[at].reshape(own + (2,) * self.num_wires), bool(own)))
        return tuple(found) if len(found) > 1 else found[0]

    def values(self, table: NDArray[np.float64], initial: Any) -> list[Any]:
        """Of each measurement, [sets, ...]."""
        if self.num_wires > MOST_FORWARD_QUBITS:
            rows = [self._of_state(self.state_of(row, initial if initial is None or initial.ndim == 1 else initial[k]))
                    for k, row in enumerate(table)]
            return [np.stack(column) for column in zip(*rows)]
        means = self.means.expectations(table, initial) if self.means else None
        found = []
        for kind, of in self.parts:
            if kind == "mean":
                found.append(means[:, of])
            elif kind == "variance":
                found.append(means[:, of] - means[:, of + 1] ** 2)
            elif kind == "probabilities":
                found.append(self.bare.probabilities(table, of, initial))
            else:
                found.append(self.bare.states(table, initial))
        return found

    def _of_state(self, state):
        """Of each measurement, [...], of one state."""
        if self.terms:
            coefficients, x, z = (np.concatenate(part) for part in zip(*self.terms))
            values = coefficients * state._expectations((np.ones(len(coefficients)), x, z))
            means = [part.sum() for part in np.split(values, np.cumsum([len(part[0]) for part in self.terms])[:-1])]
        found: list[Any] = []
        for kind, of in self.parts:
            if kind == "mean":
                found.append(means[of])
            elif kind == "variance":
                found.append(means[of] - means[of + 1] ** 2)
            elif kind == "probabilities":
                found.append(state.probabilities(of))
            else:
                found.append(None)
        if any(kind == "state" for kind, _ in self.parts):
            amplitudes = state.take()
            found = [amplitudes if kind == "state" else value for value, (kind, _) in zip(found, self.parts)]
        return found

    def vjp(self, table: NDArray[np.float64], cotangents: Sequence[Any], initial: Any) -> NDArray[np.float64]:
        """The derivatives [sets, numbers] of the sum of Re(cotangent answer), cotangents [sets, ...]."""
        gradient = np.zeros(table.shape)
        if self.means:
            gradient += self.means.vjp(table, self._weights(table, cotangents, initial), initial=initial)[1]
        if any(kind in ("state", "probabilities") for kind, _ in self.parts):
            gradient += self.bare.state_vjp(table, self._by_state(table, cotangents, initial), initial)
        return gradient

    def initial_vjp(self, table: NDArray[np.float64], cotangents: Sequence[Any], initial: Any) -> NDArray[np.complex128]:
        """The derivatives h [sets, 2^n] by the amplitudes that each set begins in: the sum of Re(cotangent answer) changes by
        Re sum_x conj(h_x) dpsi_x."""
        by_state = self._by_state(table, cotangents, initial)
        if self.means:
            weights, states = self._weights(table, cotangents, initial), self.bare.states(table, initial)
            for k, terms in enumerate(self.terms):
                by_state = by_state + 2 * weights[:, k:k + 1] * with_terms(states, terms)
        return self.bare.undone(table, by_state)

    def _weights(self, table, cotangents, initial):
        """Of the engine's means, [sets, means]."""
        weights = np.zeros((len(table), self.num_terms))
        if any(kind == "variance" for kind, _ in self.parts):
            means = self.means.expectations(table, initial)
        for (kind, of), v in zip(self.parts, cotangents):
            if kind in ("mean", "variance"):
                weights[:, of] += v
            if kind == "variance":
                weights[:, of + 1] -= 2 * means[:, of + 1] * v
        return weights

    def _by_state(self, table, cotangents, initial):
        """Derivatives [sets, 2^n] by final amplitudes, of what is no mean."""
        by_state = np.zeros((len(table), 2**self.num_wires), complex)
        if any(kind == "probabilities" for kind, _ in self.parts):
            states = self.bare.states(table, initial)
        for (kind, of), v in zip(self.parts, cotangents):
            if kind == "probabilities":
                by_state += 2 * v[:, outcomes_of(of, self.num_wires)] * states
            elif kind == "state":
                by_state += np.conj(v)
        return by_state

    def jacobians(self, table: NDArray[np.float64], initial: Any) -> list[Any]:
        """Of each measurement, [sets, ..., numbers]."""
        found = []
        for k, (kind, _) in enumerate(self.parts):
            size = prod(self.shapes[k])
            rows = np.empty((len(table), size, table.shape[1]), complex if kind == "state" else float)
            step = max(1, _MOST_ROWS // max(1, len(table)))
            for first in range(0, size, step):
                some = np.arange(first, min(first + step, size))
                for factor in (1, -1j) if kind == "state" else (1,):
                    units = np.zeros((len(table), len(some), size), complex if kind == "state" else float)
                    units[:, np.arange(len(some)), some] = factor
                    many = [np.zeros((len(table) * len(some), *shape)) for shape in self.shapes]
                    many[k] = units.reshape(-1, *self.shapes[k])
                    start = initial if initial is None or initial.ndim == 1 else np.repeat(initial, len(some), axis=0)
                    part = self.vjp(np.repeat(table, len(some), axis=0), many, start).reshape(len(table), len(some), -1)
                    if factor == 1:
                        rows[:, some] = part
                    else:
                        rows[:, some] += 1j * part
            found.append(rows.reshape(len(table), *self.shapes[k], table.shape[1]))
        return found


class Calls(NamedTuple):
    """The answers and their derivatives for a table of numbers [..., numbers] that has any axes in front, as a framework calls
    them; `initial` is None, a state [2^n] for all sets, or one for each, [batch, 2^n] or [..., 2^n], and `start` the same where
    it is a constant."""
    answers: Answers
    real: Any
    complex: Any
    start: Any

    @property
    def types(self) -> list[Any]:
        """Of each part."""
        return [self.complex if kind == "state" else self.real for kind, _ in self.answers.parts]

    def values(self, table: Any, initial: Any = None) -> tuple[Any, ...]:
        """Of each part, [..., answer]."""
        initial = self.start if initial is None else initial
        lead = _lead(table, initial)
        return tuple(np.asarray(value, kind).reshape(lead + shape) for value, kind, shape
                     in zip(self.answers.values(*_rows_of(table, lead, initial)), self.types, self.answers.shapes))

    def vjp(self, table: Any, cotangents: Sequence[Any], initial: Any = None) -> Any:
        """[..., numbers], for cotangents [..., answer] of each part, which may have axes that the table has not."""
        initial = self.start if initial is None else initial
        found, lead = self._product(self.answers.vjp, table, cotangents, initial)
        return np.asarray(found, self.real).reshape(lead + np.shape(table)[-1:])

    def initial_vjp(self, table: Any, cotangents: Sequence[Any], initial: Any) -> Any:
        """[..., 2^n], by the amplitudes that each set begins in: h of `Answers.initial_vjp`."""
        found, lead = self._product(self.answers.initial_vjp, table, cotangents, initial)
        return np.asarray(found, self.complex).reshape(lead + np.shape(initial)[-1:])

    def _product(self, product, table, cotangents, initial):
        """A product of `answers` for rows of everything, and the axes of sets."""
        shapes, cotangents = self.answers.shapes, [np.asarray(v) for v in cotangents]
        lead = np.broadcast_shapes(_lead(table, initial), *(v.shape[:v.ndim - len(shape)] for v, shape in zip(cotangents, shapes)))
        rows, starts = _rows_of(table, lead, initial)
        many = [np.broadcast_to(v, lead + shape).reshape(prod(lead), *shape) for v, shape in zip(cotangents, shapes)]
        return product(rows, many, starts), lead

    def jacobians(self, table: Any, initial: Any = None) -> tuple[Any, ...]:
        """Of each part, [..., answer, numbers]."""
        initial = self.start if initial is None else initial
        lead, last = _lead(table, initial), np.shape(table)[-1:]
        return tuple(np.asarray(value, kind).reshape(lead + shape + last) for value, kind, shape
                     in zip(self.answers.jacobians(*_rows_of(table, lead, initial)), self.types, self.answers.shapes))


def _lead(table, initial):
    """The axes of sets."""
    return np.broadcast_shapes(np.shape(table)[:-1], () if initial is None or np.ndim(initial) == 1 else np.shape(initial)[:-1])


def _rows_of(table, lead, initial):
    """The sets of numbers, and the states they begin in."""
    rows = np.broadcast_to(np.asarray(table, np.float64), lead + np.shape(table)[-1:]).reshape(prod(lead), np.shape(table)[-1])
    if initial is None or initial.ndim == 1:
        return rows, initial
    return rows, np.broadcast_to(initial, lead + initial.shape[-1:]).reshape(prod(lead), -1)
