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
import numpy as np

from .followed import is_jit
from .traced import Answers, Calls


def as_arrays(answers: Any) -> Any:
    """Answers as JAX's arrays."""
    return tuple(jnp.asarray(value) for value in answers) if isinstance(answers, tuple) else jnp.asarray(answers)


def answers_in_jax(answers: Answers, numbers: Sequence[Any], batch: Optional[int], initial: Any) -> Any:
    """The answers at numbers of gates, each a number or [batch] and some of them traced; arrays of JAX."""
    real, own = jnp.result_type(float), () if batch is None else (batch,)
    is_followed = isinstance(initial, jax.Array)  # a constant is NumPy's
    calls = Calls(answers, real, jnp.result_type(complex), None if is_followed else initial)
    columns = [jnp.broadcast_to(jnp.asarray(value, real), own) for value in numbers]
    table = jnp.stack(columns, axis=-1) if columns else jnp.zeros((*own, 0), real)

    def structure(lead, last=()):
        return tuple(jax.ShapeDtypeStruct(lead + shape + last, kind) for shape, kind in zip(answers.shapes, calls.types))

    if is_followed:
        initial = jnp.broadcast_to(initial.astype(calls.complex), own + initial.shape[-1:])  # whose derivative is the sum
    given = (table, initial) if is_followed else (table,)

    def asked(method, shapes, *arguments):
        """An answer of `calls`."""
        def ask(*arguments):
            return method(*arguments[:-1], np.asarray(arguments[-1])) if is_followed else method(*arguments)
        return jax.pure_callback(ask, shapes, *arguments, vmap_method="expand_dims")

    def called(table, *start):
        return asked(calls.values, structure(table.shape[:-1]), table, *start)

    forward = is_jit() and not is_followed and not any(kind == "state" for kind, _ in answers.parts)
    if forward:  # under jit
        call = jax.custom_jvp(called)

        @call.defjvp
        def forward_mode(primals, tangents):
            (table,), (tangent,) = primals, tangents
            rows = asked(calls.jacobians, structure(table.shape[:-1], table.shape[-1:]), table)
            spread = [jnp.expand_dims(tangent, tuple(range(len(own), len(own) + len(shape)))) for shape in answers.shapes]
            return call(table), tuple((row * t).sum(axis=-1) for row, t in zip(rows, spread))
    else:
        call = jax.custom_vjp(called)

        def backward(saved, cotangents):
            table, *start = saved
            products = [asked(calls.vjp, jax.ShapeDtypeStruct(table.shape, table.dtype), table, cotangents, *start)]
            for amplitudes in start:
                # JAX's cotangents of complex numbers are the conjugates of PyTorch's
                products.append(asked(calls.initial_vjp, jax.ShapeDtypeStruct(amplitudes.shape, amplitudes.dtype), table, cotangents,
                                      *start).conj())
            return tuple(products)
        call.defvjp(lambda *saved: (call(*saved), saved), backward)
    parts = call(*given)
    return answers.finish(parts, batch)
