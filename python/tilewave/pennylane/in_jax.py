"""What a tape measures as a function of JAX's arrays, whose values and derivatives go under any nest of vmap, grad, jacobian
and jit.

One callback takes the numbers of all gates, [..., numbers], and answers with [..., answer]. Eagerly, and where the state is asked
for, derivatives are vector-Jacobian products, one backward run whatever is measured; under jit they are Jacobians, which
forward-mode transformations take as well.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import jax
import jax.numpy as jnp

from .followed import is_jit
from .traced import Answers, Calls


def as_arrays(answers: Any) -> Any:
    """Answers as JAX's arrays."""
    return tuple(jnp.asarray(value) for value in answers) if isinstance(answers, tuple) else jnp.asarray(answers)


def answers_in_jax(answers: Answers, numbers: Sequence[Any], batch: Optional[int], initial: Any) -> Any:
    """The answers at numbers of gates, each a number or [batch] and some of them traced; arrays of JAX."""
    real, own = jnp.result_type(float), () if batch is None else (batch,)
    calls = Calls(answers, real, jnp.result_type(complex))
    columns = [jnp.broadcast_to(jnp.asarray(value, real), own) for value in numbers]
    table = jnp.stack(columns, axis=-1) if columns else jnp.zeros((*own, 0), real)

    def structure(lead, last=()):
        return tuple(jax.ShapeDtypeStruct(lead + shape + last, kind) for shape, kind in zip(answers.shapes, calls.types))

    def called(table):
        return jax.pure_callback(lambda t: calls.values(t, initial), structure(table.shape[:-1]), table, vmap_method="expand_dims")

    forward = is_jit() and not any(kind == "state" for kind, _ in answers.parts)
    if forward:  # under jit
        call = jax.custom_jvp(called)

        @call.defjvp
        def forward_mode(primals, tangents):
            (table,), (tangent,) = primals, tangents
            rows = jax.pure_callback(lambda t: calls.jacobians(t, initial), structure(table.shape[:-1], table.shape[-1:]), table,
                                     vmap_method="expand_dims")
            spread = [jnp.expand_dims(tangent, tuple(range(len(own), len(own) + len(shape)))) for shape in answers.shapes]
            return call(table), tuple((row * t).sum(axis=-1) for row, t in zip(rows, spread))
    else:
        call = jax.custom_vjp(called)

        def backward(table, cotangents):
            shape = jax.ShapeDtypeStruct(table.shape, table.dtype)
            return (jax.pure_callback(lambda t, v: calls.vjp(t, v, initial), shape, table, cotangents, vmap_method="expand_dims"),)
        call.defvjp(lambda table: (call(table), table), backward)
    parts = call(table)
    return answers.finish(parts, batch)
