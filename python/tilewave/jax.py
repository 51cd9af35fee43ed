"""Circuits as functions of their parameters in JAX: differentiable, and usable under jit and vmap.

Values are computed on the CPU, in the precision that the function was compiled for; results have the type of the values. Forward-mode
and second derivatives are not there: asking for them raises TypeError."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .functions import CircuitFunction


def function(compiled: CircuitFunction) -> Callable[..., Any]:
    """Expectations of a compiled circuit as a function of an array of values: [..., P] to [..., M] (without M for one
    observable), any number of sets at a time. The backward pass is one run whatever M; under vmap the sets run side by side.
    With ``initial_state=`` it starts from a state [2^n], or from one for each set [..., 2^n] (of values [P] as well), by whose
    amplitudes it is not differentiated: asking for that raises ValueError."""
    last = () if compiled._is_single else (compiled.num_observables,)
    size = 2**compiled.num_qubits

    def rows_of(lead: tuple[int, ...], values: Any, initial: Any) -> tuple[Any, Any]:
        """The sets of values [B, P] and the states they start from, [2^n] or [B, 2^n]."""
        rows = np.broadcast_to(np.asarray(values, np.float64), lead + values.shape[-1:]).reshape(-1, values.shape[-1])
        if initial is None:
            return rows, None
        states = np.asarray(initial, np.complex128)
        if states.size > size:
            states = np.broadcast_to(states, lead + (size,))
        return rows, states.reshape(-1, size) if states.size > size else states.reshape(size)

    def expectation(values: Any, initial: Any) -> Any:
        values = np.asarray(values)
        lead = np.broadcast_shapes(values.shape[:-1], () if initial is None else initial.shape[:-1])
        rows, states = rows_of(lead, values, initial)
        return np.asarray(compiled.expectation(rows, initial_state=states), values.dtype).reshape(lead + last)

    def vjp(values: Any, initial: Any, v: Any) -> Any:
        values, v = np.asarray(values), np.asarray(v, np.float64)
        lead = np.broadcast_shapes(values.shape[:-1], () if initial is None else initial.shape[:-1], v.shape[:v.ndim - len(last)])
        rows, states = rows_of(lead, values, initial)
        cotangents = np.broadcast_to(v, lead + last).reshape((len(rows), *last))
        return np.asarray(compiled.vjp(rows, cotangents, initial_state=states), values.dtype).reshape(lead + values.shape[-1:])

    @jax.custom_vjp
    def call(values: Any, initial: Any) -> Any:
        shape = jax.ShapeDtypeStruct(values.shape[:-1] + last, values.dtype)
        return jax.pure_callback(expectation, shape, values, initial, vmap_method="expand_dims")

    def forward(values: Any, initial: Any) -> Any:
        if initial is not None and initial.perturbed:
            raise ValueError("derivatives by the amplitudes of initial_state are not there: use jax.lax.stop_gradient on it")
        initial = None if initial is None else initial.value
        return call(values.value, initial), (values.value, initial)

    def backward(saved: Any, v: Any) -> Any:
        values, initial = saved
        v = jnp.zeros(v.shape, v.dtype) if isinstance(v, jax.custom_derivatives.SymbolicZero) else v
        shape = jax.ShapeDtypeStruct(values.shape, values.dtype)
        return jax.pure_callback(vjp, shape, values, initial, v, vmap_method="expand_dims"), None

    call.defvjp(forward, backward, symbolic_zeros=True)

    def checked(values: Any, initial_state: Any = None) -> Any:
        values = jnp.asarray(values)
        if jnp.issubdtype(values.dtype, jnp.complexfloating):
            raise ValueError("values are complex: angles are real numbers")
        if not jnp.issubdtype(values.dtype, jnp.floating):
            values = values.astype(jnp.result_type(float))
        if values.ndim == 0 or values.shape[-1] != compiled.num_parameters:
            raise ValueError(f"{compiled.num_parameters} parameters, got values of shape {values.shape}: the last dimension is "
                             "the parameters")
        if initial_state is None:
            return call(values, None)
        states = jnp.asarray(initial_state)
        if states.ndim == 0 or states.shape[-1] != size or (states.ndim > 1 and values.ndim > 1 and
                                                            states.shape[:-1] != values.shape[:-1]):
            raise ValueError(f"initial_state has the shape {states.shape}: give [{size}]"
                             + (f", or {[*values.shape[:-1], size]}" if values.ndim > 1 else f", or [..., {size}]"))
        if states.ndim > 1:
            values = jnp.broadcast_to(values, states.shape[:-1] + values.shape[-1:])  # whose derivative is the sum
        return call(values, states)

    return checked
