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


def function(compiled: CircuitFunction) -> Callable[[Any], Any]:
    """Expectations of a compiled circuit as a function of an array of values: [..., P] to [..., M] (without M for one
    observable), any number of sets at a time. The backward pass is one run whatever M; under vmap the sets run side by side."""
    last = () if compiled._is_single else (compiled.num_observables,)

    def expectation(values: Any) -> Any:
        values = np.asarray(values)
        rows = np.asarray(values, np.float64).reshape(-1, values.shape[-1])
        return np.asarray(compiled.expectation(rows), values.dtype).reshape(values.shape[:-1] + last)

    def vjp(values: Any, v: Any) -> Any:
        values, v = np.asarray(values), np.asarray(v)
        rows = np.asarray(values, np.float64).reshape(-1, values.shape[-1])
        cotangents = np.asarray(v, np.float64).reshape((len(rows), *last))
        return np.asarray(compiled.vjp(rows, cotangents), values.dtype).reshape(values.shape)

    @jax.custom_vjp
    def call(values: Any) -> Any:
        shape = jax.ShapeDtypeStruct(values.shape[:-1] + last, values.dtype)
        return jax.pure_callback(expectation, shape, values, vmap_method="broadcast_all")

    def forward(values: Any) -> Any:
        return call(values), values

    def backward(values: Any, v: Any) -> Any:
        shape = jax.ShapeDtypeStruct(values.shape, values.dtype)
        return (jax.pure_callback(vjp, shape, values, v, vmap_method="broadcast_all"),)

    call.defvjp(forward, backward)

    def checked(values: Any) -> Any:
        values = jnp.asarray(values)
        if not jnp.issubdtype(values.dtype, jnp.floating):
            values = values.astype(jnp.result_type(float))
        if values.ndim == 0 or values.shape[-1] != compiled.num_parameters:
            raise ValueError(f"{compiled.num_parameters} parameters, got values of shape {values.shape}: the last dimension is "
                             "the parameters")
        return call(values)

    return checked
