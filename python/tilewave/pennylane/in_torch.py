"""What a tape measures as a function of PyTorch's tensors, which goes under backward() and any nest of torch.func's vmap, grad,
vjp, jacrev, jvp and jacfwd.

One autograd function takes the numbers of all gates, [..., numbers], and answers with [..., answer]. Backward derivatives are
vector-Jacobian products, one backward run whatever is measured; forward ones are Jacobians, a run for each number that is
answered. A second derivative is an error and not a missing term.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import torch
from pennylane.exceptions import DeviceError

from ..torch import first_derivative, in_front
from .traced import Answers, Calls


def as_tensors(answers: Any, device: Any) -> Any:
    """Answers as tensors of a device, None for PyTorch's default."""
    if isinstance(answers, (tuple, list)):
        return type(answers)(as_tensors(value, device) for value in answers)
    return answers if isinstance(answers, dict) else torch.as_tensor(answers, device=device)


def device_of(numbers: Sequence[Any]) -> Any:
    """That of the first tensor that is not on the CPU; None where there is none."""
    return next((value.device for value in numbers if isinstance(value, torch.Tensor) and value.device.type != "cpu"), None)


def answers_in_torch(answers: Answers, numbers: Sequence[Any], batch: Optional[int], initial: Any) -> Any:
    """The answers at numbers of gates, each a number or [batch]; tensors, in double precision."""
    own, device = () if batch is None else (batch,), device_of(numbers)
    columns = [torch.as_tensor(value, dtype=torch.float64, device=device).expand(own) for value in numbers]
    table = torch.stack(columns, dim=-1) if columns else torch.zeros((*own, 0), dtype=torch.float64)
    start, initial = (None, initial) if isinstance(initial, torch.Tensor) else (initial, None)
    if initial is not None:
        initial = initial.to(torch.complex128)
        initial = initial.expand(*own, -1) if own and initial.ndim == 1 else initial  # whose derivative is the sum
    parts = _Values.apply(table, initial, Calls(answers, np.float64, np.complex128, start))
    return answers.finish(parts, batch)


class _Values(torch.autograd.Function):
    """Of each part, [..., answer]."""

    @staticmethod
    def forward(table: Any, initial: Any, calls: Calls) -> Any:
        return tuple(torch.as_tensor(part, device=table.device) for part in calls.values(_array(table), _array(initial)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        table, initial, ctx.calls = inputs
        ctx.save_for_backward(table, initial)
        ctx.save_for_forward(table, initial)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        table, initial = ctx.saved_tensors
        # PyTorch's cotangents of complex numbers are the conjugates of what `Calls.vjp` takes
        cotangents = tuple(v.conj().resolve_conj() for v in cotangents)
        by_start = _Product.apply(table, initial, ctx.calls, True, *cotangents) if ctx.needs_input_grad[1] else None
        return _Product.apply(table, initial, ctx.calls, False, *cotangents), by_start, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, of_start: Any, *_: Any) -> Any:
        if of_start is not None:
            raise DeviceError("forward-mode derivatives by the amplitudes that a circuit begins in are not supported: use backward(), "
                              "torch.func.grad or jacrev")
        table, initial = ctx.saved_tensors
        rows, at = _Jacobians.apply(table, initial, ctx.calls), tangent.ndim - 1
        return tuple((row * tangent.reshape(tangent.shape[:at] + (1,) * (row.ndim - tangent.ndim) + tangent.shape[at:])).sum(dim=-1)
                     for row in rows)

    @staticmethod
    def vmap(info: Any, in_dims: Any, table: Any, initial: Any, calls: Calls) -> Any:
        found = _Values.apply(*_sets_in_front(table, initial, in_dims, info.batch_size), calls)
        return found, (0,) * len(found)


_First = first_derivative(
    DeviceError,
    "second derivatives of a circuit are not supported by tilewave.qubit's adjoint method: make the QNode with "
    "diff_method='parameter-shift' and max_diff=2, and differentiate it with torch.autograd.functional.hessian")


class _Product(_First):
    """By the numbers, [..., numbers], or by the amplitudes that sets begin in, [..., 2^n], for a cotangent [..., answer] of each
    part."""

    @staticmethod
    def forward(table: Any, initial: Any, calls: Calls, by_start: bool, *cotangents: Any) -> Any:
        product = calls.initial_vjp if by_start else calls.vjp
        return torch.as_tensor(product(_array(table), [_array(v) for v in cotangents], _array(initial)), device=table.device)

    @staticmethod
    def vmap(info: Any, in_dims: Any, table: Any, initial: Any, calls: Calls, by_start: bool, *cotangents: Any) -> Any:
        table, initial = _sets_in_front(table, initial, in_dims, info.batch_size)
        many = [in_front(v, dim, info.batch_size) for v, dim in zip(cotangents, in_dims[4:])]
        return _Product.apply(table, initial, calls, by_start, *many), 0


class _Jacobians(_First):
    """Of each part, [..., answer, numbers]."""

    @staticmethod
    def forward(table: Any, initial: Any, calls: Calls) -> Any:
        return tuple(torch.as_tensor(part, device=table.device) for part in calls.jacobians(_array(table), _array(initial)))

    @staticmethod
    def vmap(info: Any, in_dims: Any, table: Any, initial: Any, calls: Calls) -> Any:
        found = _Jacobians.apply(*_sets_in_front(table, initial, in_dims, info.batch_size), calls)
        return found, (0,) * len(found)


def _sets_in_front(table, initial, dims, size):
    """The table and the states its sets begin in."""
    return in_front(table, dims[0], size), None if initial is None else in_front(initial, dims[1], size)


def _array(tensor):
    return None if tensor is None else tensor.detach().resolve_conj().cpu().numpy()
