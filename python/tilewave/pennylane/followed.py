"""Numbers that JAX or PyTorch follows, whose values are not there yet or whose derivatives are asked for."""
from __future__ import annotations

from typing import Any, Optional

import pennylane as qml
from pennylane.math import Interface

_FRAMEWORKS = {Interface.JAX: "jax", Interface.JAX_JIT: "jax", Interface.TORCH: "torch"}


def framework_of(config: Any, circuit: Any) -> Optional[str]:
    """What the numbers of a circuit come from, "jax" or "torch"; None for another."""
    if config is None:
        return None
    if config.interface != Interface.AUTO or circuit is None:
        return _FRAMEWORKS.get(config.interface)
    found = qml.math.get_interface(*circuit.get_parameters(trainable_only=False))
    return found if found in ("jax", "torch") else None


def is_jit() -> bool:
    """Whether JAX compiles what is run now."""
    import jax.numpy as jnp
    return bool(qml.math.is_abstract(jnp.zeros(())))


def is_followed(value: Any) -> bool:
    """Whether a number is a tracer of JAX, or a tensor that PyTorch differentiates or maps."""
    module = type(value).__module__
    if module.startswith("jax"):
        import jax
        return isinstance(value, jax.core.Tracer)
    if not module.startswith("torch"):
        return False
    import torch
    if not isinstance(value, torch.Tensor):
        return False
    if is_wrapped(value) or (value.requires_grad and torch.is_grad_enabled()):
        return True
    return torch.autograd.forward_ad._current_level >= 0 and torch.autograd.forward_ad.unpack_dual(value).tangent is not None


def may_vary(value: Any) -> bool:
    """Whether derivatives by a number are asked for in any framework, or it is one of many."""
    return bool(qml.math.requires_grad(value)) or is_followed(value)


def is_wrapped(value: Any) -> bool:
    """Whether a number is a tensor of a transformation of torch.func, which has no memory of its own."""
    if not type(value).__module__.startswith("torch"):
        return False
    import torch
    return isinstance(value, torch.Tensor) and bool(torch._C._functorch.is_functorch_wrapped_tensor(value))


def is_vmapped(value: Any) -> bool:
    """Whether a number is under a vmap of JAX."""
    while type(value).__module__.startswith("jax") and is_followed(value):
        if type(value).__name__ == "BatchTracer":
            return True
        value = getattr(value, "primal", None)
    return False
