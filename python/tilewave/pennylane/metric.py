"""The metric tensor of a QNode by the engine, in the place of PennyLane's `adjoint_metric_tensor`, which moves NumPy arrays."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pennylane as qml
from pennylane.devices.preprocess import decompose
from pennylane.exceptions import DeviceError
from pennylane.gradients.metric_tensor import _contract_metric_tensor_with_cjac
from pennylane.transforms.core import transform

from .device import TilewaveQubit
from .gradients import is_differentiable


def _expand(tape, precision="double", threads=0):
    """Into gates whose trainable numbers are angles."""
    (expanded,), first = decompose(tape, stopping_condition=is_differentiable, skip_initial_state_prep=False,
                                   name="metric_tensor")
    if expanded is not tape:
        expanded.trainable_params = qml.math.get_trainable_indices(expanded.get_parameters(trainable_only=False))
    return [expanded], first


@partial(transform, expand_transform=_expand, classical_cotransform=_contract_metric_tensor_with_cjac, is_informative=True)
def metric_tensor(tape: Any, precision: str = "double", threads: int = 0) -> Any:
    """The metric tensor (Fubini-Study) of a QNode or tape, float64[P, P] for P trainable parameters, on CPUs; the QNode may
    be of any device. Exact, with classical processing of the arguments as in `qml.adjoint_metric_tensor`, to which its
    results are equal; it goes where that does: `qml.QNGOptimizer().step(node, x, metric_tensor_fn=metric_tensor(node))`.

    Raises ValueError for shots, and DeviceError for circuits that measure in the middle, batches of parameters, and trainable
    entries of matrices or states."""

    def compute(tapes):
        (own,) = tapes
        if own.shots:
            raise ValueError("the metric tensor of a circuit with shots is not exact: use shots=None, or qml.metric_tensor")
        if own.batch_size is not None:
            raise DeviceError("the metric tensor is of one set of parameters: the circuit has a batch of them")
        metric = TilewaveQubit(precision=precision, device="cpu", threads=threads, seed=0)._metric_tensor(own)
        return qml.math.asarray(metric, like=qml.math.get_interface(*own.get_parameters(trainable_only=False)))

    return [tape], compute
