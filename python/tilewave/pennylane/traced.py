"""Tapes whose numbers JAX traces: values and derivatives that go under any nest of vmap, grad, jacobian and jit.

PennyLane's own callbacks give a device the numbers of all levels of vmap as arrays whose leading axes do not say which level
they are of. Here JAX keeps them: one callback takes the numbers of all gates, [..., numbers], and answers with [..., answer].
Eagerly, and where the state is asked for, derivatives are vector-Jacobian products, one backward run whatever is measured; under
jit they are Jacobians, which forward-mode transformations take as well. What the engine does not answer itself PennyLane takes
from the state, with JAX.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Optional

import numpy as np
import pennylane as qml
from numpy.typing import NDArray
from pennylane.devices.qubit import measure as measure_amplitudes
from pennylane.exceptions import DeviceError
from pennylane.math import Interface
from pennylane.measurements import ExpectationMP, ProbabilityMP, StateMeasurement, StateMP, VarianceMP

from ..programs import Function
from .analytic import on_indices
from .gradients import asks_probabilities, outcomes_of, why_no_gates
from .observables import MOST_SQUARED_TERMS, Known, sentence_of

_MOST_ROWS = 1 << 12  # of a Jacobian that are asked for at a time


def is_jax(config: Any, circuit: Any) -> bool:
    """Whether JAX is what the numbers of a circuit come from."""
    if config is None or config.interface in (Interface.JAX, Interface.JAX_JIT):
        return config is not None
    if config.interface != Interface.AUTO or circuit is None:
        return False
    return bool(qml.math.get_interface(*circuit.get_parameters(trainable_only=False)) == "jax")


def is_jit() -> bool:
    """Whether JAX compiles what is run now."""
    import jax.numpy as jnp
    return bool(qml.math.is_abstract(jnp.zeros(())))


def is_traced(value: Any) -> bool:
    """Whether a number is one of JAX's that has no value yet, or several."""
    if not type(value).__module__.startswith("jax"):
        return False
    import jax
    return isinstance(value, jax.core.Tracer)


def in_jax(answers: Any) -> Any:
    """Answers as JAX's arrays."""
    import jax.numpy as jnp
    return tuple(jnp.asarray(value) for value in answers) if isinstance(answers, tuple) else jnp.asarray(answers)


def is_vmapped(value: Any) -> bool:
    """Whether a number is under a vmap."""
    while is_traced(value):
        if type(value).__name__ == "BatchTracer":
            return True
        value = getattr(value, "primal", None)
    return False


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
        return f"{others[0]} is no expectation value of a sum of Pauli strings without trainable coefficients"
    return why_no_gates(tape)


def _is_native(mp):
    """Whether the engine answers, rather than PennyLane from the state."""
    if asks_probabilities(mp) or type(mp) is StateMP:
        return True
    if type(mp) not in (ExpectationMP, VarianceMP) or any(qml.math.requires_grad(value) for value in mp.obs.data):
        return False
    sentence = sentence_of(mp.obs)
    return bool(sentence) and (type(mp) is ExpectationMP or len(sentence) <= MOST_SQUARED_TERMS)


@qml.transform
def need_traced(tape, under_jit):
    """Raises DeviceError for a tape that does not run here."""
    reason = why_not_traced(tape, under_jit)
    if reason is not None:
        raise DeviceError(f"adjoint derivatives of this circuit are not supported: {reason}")
    return (tape,), lambda results: results[0]


class Answers:
    """What a tape measures, as functions of sets of numbers: `parts`, what the engine answers, and `places`, for each
    measurement the number of its part, and itself where PennyLane answers it from the state that the part is."""

    def __init__(self, measurements: Sequence[Any], wires: dict[Any, int], find: Callable[[Any, bool], Known],
                 function: Callable[[Any, Sequence[Any]], Function]) -> None:
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
            else:
                known = find(mp.obs, type(mp) is VarianceMP)
                self.parts.append(("variance" if type(mp) is VarianceMP else "mean", len(terms)))
                self.shapes.append(())
                terms += known.terms
        self.num_terms = len(terms)
        key = tuple(part.tobytes() for each in terms for part in each)
        self.means = function(key, terms) if terms else None
        self.bare = function((), []) if len(terms) == 0 or any(kind in ("state", "probabilities") for kind, _ in self.parts) \
            else None

    def values(self, table: NDArray[np.float64], initial: Any) -> list[Any]:
        """Of each measurement, [sets, ...]."""
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

    def vjp(self, table: NDArray[np.float64], cotangents: Sequence[Any], initial: Any) -> NDArray[np.float64]:
        """The derivatives [sets, numbers] of the sum of Re(cotangent answer), cotangents [sets, ...]."""
        gradient = np.zeros(table.shape)
        if self.means:
            weights = np.zeros((len(table), self.num_terms))
            if any(kind == "variance" for kind, _ in self.parts):
                means = self.means.expectations(table, initial)
            for (kind, of), v in zip(self.parts, cotangents):
                if kind in ("mean", "variance"):
                    weights[:, of] += v
                if kind == "variance":
                    weights[:, of + 1] -= 2 * means[:, of + 1] * v
            gradient += self.means.vjp(table, weights, initial=initial)[1]
        if any(kind in ("state", "probabilities") for kind, _ in self.parts):
            states, by_state = self.bare.states(table, initial), 0
            for (kind, of), v in zip(self.parts, cotangents):
                if kind == "probabilities":
                    by_state = by_state + 2 * v[:, outcomes_of(of, self.num_wires)] * states
                elif kind == "state":
                    by_state = by_state + np.conj(v)
            gradient += self.bare.state_vjp(table, by_state, initial)
        return gradient

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


def answers_in_jax(answers: Answers, numbers: Sequence[Any], batch: Optional[int], initial: Any) -> Any:
    """The answers at numbers of gates, each a number or [batch] and some of them traced; arrays of JAX."""
    import jax
    import jax.numpy as jnp

    real, own = jnp.result_type(float), () if batch is None else (batch,)
    types = [jnp.result_type(complex) if kind == "state" else real for kind, _ in answers.parts]
    columns = [jnp.broadcast_to(jnp.asarray(value, real), own) for value in numbers]
    table = jnp.stack(columns, axis=-1) if columns else jnp.zeros((*own, 0), real)

    def rows_of(table, lead):
        """The sets of numbers, and the states they begin in."""
        rows = np.broadcast_to(np.asarray(table, np.float64), lead + table.shape[-1:]).reshape(prod(lead), table.shape[-1])
        if initial is None or initial.ndim == 1:
            return rows, initial
        return rows, np.broadcast_to(initial, (*lead[:-1], *initial.shape)).reshape(prod(lead), -1)

    def values(table):
        table, lead = np.asarray(table), table.shape[:-1]
        return tuple(np.asarray(value, kind).reshape(lead + shape) for value, kind, shape
                     in zip(answers.values(*rows_of(table, lead)), types, answers.shapes))

    def vjp(table, cotangents):
        table, cotangents = np.asarray(table), [np.asarray(v) for v in cotangents]
        lead = np.broadcast_shapes(table.shape[:-1], *(v.shape[:v.ndim - len(shape)]
                                                       for v, shape in zip(cotangents, answers.shapes)))
        rows, starts = rows_of(table, lead)
        many = [np.broadcast_to(v, lead + shape).reshape(prod(lead), *shape) for v, shape in zip(cotangents, answers.shapes)]
        return np.asarray(answers.vjp(rows, many, starts), real).reshape(lead + table.shape[-1:])

    def jacobians(table):
        table, lead = np.asarray(table), table.shape[:-1]
        return tuple(np.asarray(value, kind).reshape(lead + shape + table.shape[-1:]) for value, kind, shape
                     in zip(answers.jacobians(*rows_of(table, lead)), types, answers.shapes))

    def structure(lead, last=()):
        return tuple(jax.ShapeDtypeStruct(lead + shape + last, kind) for shape, kind in zip(answers.shapes, types))

    def called(table):
        return jax.pure_callback(values, structure(table.shape[:-1]), table, vmap_method="expand_dims")

    forward = is_jit() and not any(kind == "state" for kind, _ in answers.parts)
    if forward:  # under jit
        call = jax.custom_jvp(called)

        @call.defjvp
        def forward_mode(primals, tangents):
            (table,), (tangent,) = primals, tangents
            rows = jax.pure_callback(jacobians, structure(table.shape[:-1], table.shape[-1:]), table, vmap_method="expand_dims")
            spread = [jnp.expand_dims(tangent, tuple(range(len(own), len(own) + len(shape)))) for shape in answers.shapes]
            return call(table), tuple((row * t).sum(axis=-1) for row, t in zip(rows, spread))
    else:
        call = jax.custom_vjp(called)

        def backward(table, cotangents):
            shape = jax.ShapeDtypeStruct(table.shape, table.dtype)
            return (jax.pure_callback(vjp, shape, table, cotangents, vmap_method="expand_dims"),)
        call.defvjp(lambda table: (call(table), table), backward)
    parts = call(table)
    found = tuple(parts[at] if mp is None else measure_amplitudes(mp, parts[at].reshape(own + (2,) * answers.num_wires), bool(own))
                  for at, mp in answers.places)
    return found if len(found) > 1 else found[0]
