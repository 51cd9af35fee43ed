"""Circuits as functions of their parameters in PyTorch: `function` for use in any module, `Layer` as a module.

Values are computed and differentiated on the CPU, in the precision that the function was compiled for; results are tensors of the
type and on the device of the values. Second derivatives are not there: asking for them raises RuntimeError."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

import numpy as np
import torch

from .angles import Parameter
from .functions import CircuitFunction


class _Expectation(torch.autograd.Function):
    @staticmethod
    def forward(values: Any, function: CircuitFunction, initial: Any) -> Any:
        last = () if function._is_single else (function.num_observables,)
        found = function.expectation(_rows(values), initial_state=initial)
        return torch.as_tensor(found.reshape((*values.shape[:-1], *last)), dtype=values.dtype, device=values.device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        values, ctx.function, ctx.initial = inputs
        ctx.save_for_backward(values)
        ctx.save_for_forward(values)

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        return _Gradient.apply(ctx.saved_tensors[0], v, ctx.function, ctx.initial), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, *_: Any) -> Any:
        rows = _Jacobian.apply(ctx.saved_tensors[0], ctx.function, ctx.initial)
        return (rows * tangent.unsqueeze(-2)).sum(dim=-1) if rows.ndim > tangent.ndim else (rows * tangent).sum(dim=-1)

    @staticmethod
    def vmap(info: Any, in_dims: Any, values: Any, function: CircuitFunction, initial: Any) -> Any:
        values = in_front(values, in_dims[0], info.batch_size)
        return _Expectation.apply(values, function, _again(initial, values, info.batch_size)), 0


def first_derivative(error: type[Exception], text: str) -> Any:
    """A base of first derivatives, each in a graph of its own, so that a second one is this error and not a missing term."""
    class First(torch.autograd.Function):
        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise error(text)

        @staticmethod
        def jvp(ctx: Any, *_: Any) -> Any:
            raise error(text)
    return First


_First = first_derivative(RuntimeError, "second derivatives of a circuit are not there: leave create_graph out, or detach the gradient")


class _Jacobian(_First):
    """[..., observables, parameters], without observables for one."""

    @staticmethod
    def forward(values: Any, function: CircuitFunction, initial: Any) -> Any:
        found = function.jacobian(_rows(values), initial_state=initial)
        return torch.as_tensor(found.reshape((*values.shape[:-1], *found.shape[1:])), dtype=values.dtype, device=values.device)

    @staticmethod
    def vmap(info: Any, in_dims: Any, values: Any, function: CircuitFunction, initial: Any) -> Any:
        values = in_front(values, in_dims[0], info.batch_size)
        return _Jacobian.apply(values, function, _again(initial, values, info.batch_size)), 0


class _Gradient(_First):
    @staticmethod
    def forward(values: Any, v: Any, function: CircuitFunction, initial: Any) -> Any:
        cotangents = _array(v).reshape(-1, function.num_observables)
        found = function.vjp(_rows(values), cotangents, initial_state=initial)
        return torch.as_tensor(found.reshape(values.shape), dtype=values.dtype, device=values.device)

    @staticmethod
    def vmap(info: Any, in_dims: Any, values: Any, v: Any, function: CircuitFunction, initial: Any) -> Any:
        values, v = in_front(values, in_dims[0], info.batch_size), in_front(v, in_dims[1], info.batch_size)
        return _Gradient.apply(values, v, function, _again(initial, values, info.batch_size)), 0


def in_front(tensor: Any, dim: Optional[int], size: int) -> Any:
    """With the axis of a vmap in front."""
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _again(initial, values, size):
    """A state for each set, for sets that come so many times more often."""
    return initial if initial is None or np.ndim(initial) == 1 else np.tile(initial, (size, 1))


def _rows(values):
    """The sets of values, [sets, parameters]."""
    if values.ndim == 0:
        raise ValueError("values are a number: give a tensor whose last dimension is the parameters")
    return _array(values).reshape(-1, values.shape[-1])


def _array(tensor):
    return tensor.detach().to("cpu", torch.float64).numpy()


def _real(values):
    """A tensor of real numbers: whole ones become those of torch's default type."""
    values = torch.as_tensor(values)
    if values.is_complex():
        raise ValueError("values are complex: angles are real numbers")
    return values if values.is_floating_point() else values.to(torch.get_default_dtype())


def _states(initial):
    if not isinstance(initial, torch.Tensor):
        return initial
    if initial.requires_grad:
        raise ValueError("derivatives by the amplitudes of initial_state are not there: detach it")
    return initial.detach().to("cpu", torch.complex128).numpy()


def function(compiled: CircuitFunction) -> Callable[..., Any]:
    """Expectations of a compiled circuit as a differentiable function of a tensor of values: [..., P] to [..., M] (without M
    for one observable), any number of sets at a time. The backward pass is one run whatever M. It goes under torch.func's grad,
    vjp, jacrev and vmap, and under jvp and jacfwd, which take a backward run for each observable. With ``initial_state=`` it
    starts from a state [2^n], or from one for each set [B, 2^n] (of values [P] as well), by whose amplitudes it is not
    differentiated."""
    def expectation(values: Any, initial_state: Any = None) -> Any:
        states, values = _states(initial_state), _real(values)
        if states is not None and np.ndim(states) == 2 and values.ndim == 1:
            values = values.expand(len(states), -1)  # whose derivative is the sum
        return _Expectation.apply(values, compiled, states)
    return expectation


class Layer(torch.nn.Module):
    """A compiled circuit as a module. ``inputs`` names the parameters whose values are given in every call, all others are
    trained: in ``weight``, in the order of the circuit. ``initial`` are their first values (default: uniform in [0, 2 pi)).

    Calling it with a tensor [inputs], or [..., inputs], gives expectations [M], or [..., M]; without inputs, call it without.
    ``initial_state``, [2^n] or [..., 2^n], is what it starts from: data that were loaded into amplitudes."""

    def __init__(self, compiled: CircuitFunction, inputs: Sequence[Union[str, Parameter]] = (), initial: Any = None,
                 dtype: Optional[Any] = None) -> None:
        super().__init__()
        names = [parameter.name for parameter in compiled.parameters]
        given = [name.name if isinstance(name, Parameter) else name for name in inputs]
        for name in given:
            if name not in names:
                raise ValueError(f"the circuit has no parameter '{name}' that could be an input")
        if len(set(given)) != len(given):
            raise ValueError("an input is named twice")
        self._function, self._num_inputs = compiled, len(given)
        trained = [k for k, name in enumerate(names) if name not in set(given)]
        # values = [inputs, weights] in the circuit's order
        order = np.empty(len(names), np.int64)
        order[[names.index(name) for name in given] + trained] = np.arange(len(names))
        self.register_buffer("_order", torch.as_tensor(order), persistent=False)
        first = 2 * np.pi * torch.rand(len(trained), dtype=torch.float64) if initial is None else torch.as_tensor(initial)
        if first.shape != (len(trained),):
            raise ValueError(f"initial has the shape {tuple(first.shape)}: {len(trained)} parameters are trained")
        self.weight = torch.nn.Parameter(first.to(dtype or torch.get_default_dtype()))

    def forward(self, inputs: Any = None, initial_state: Any = None) -> Any:
        if (inputs is None) != (self._num_inputs == 0) or (inputs is not None and inputs.shape[-1] != self._num_inputs):
            raise ValueError(f"the layer has {self._num_inputs} inputs, got "
                             + ("none" if inputs is None else f"a tensor of shape {tuple(inputs.shape)}"))
        states, call = _states(initial_state), function(self._function)
        lead = () if inputs is None else tuple(inputs.shape[:-1])
        if states is not None and np.ndim(states) > 1:
            if inputs is not None and np.shape(states)[:-1] != lead:
                raise ValueError(f"initial_state has the shape {np.shape(states)}: give [2^n], or {list(lead)} states for the inputs")
            lead, states = np.shape(states)[:-1], np.reshape(states, (-1, np.shape(states)[-1]))
        if inputs is None:
            out = call(self.weight[self._order], states)
            return out.reshape(lead + out.shape[1:]) if lead else out
        rows = _real(inputs).reshape(-1, self._num_inputs)
        weights = self.weight.expand(rows.shape[0], -1).to(rows.dtype)
        values = torch.cat([rows, weights], dim=1)[:, self._order]
        out = call(values, states)
        return out.reshape(lead + out.shape[1:])
