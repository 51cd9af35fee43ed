"""Arrays of any package: NumPy's, and those that speak DLPack, on the host or on a CUDA device."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._types import AnyArray

_HOST, _CUDA = (1, 3), (2, 13)  # device types of DLPack: CPU and pinned memory; CUDA and managed memory


def device_type(array: Any) -> Optional[int]:
    """DLPack's number of the device an array lies on; None where it does not speak DLPack."""
    return int(array.__dlpack_device__()[0]) if hasattr(array, "__dlpack_device__") else None


def on_cuda(array: Any) -> bool:
    """Whether an array lies on a CUDA device. Raises ValueError where it lies on one that this build cannot use."""
    kind = None if isinstance(array, np.ndarray) else device_type(array)
    if kind is None or kind in _HOST:
        return False
    if kind not in _CUDA:
        raise ValueError(f"the array lies on a device of DLPack's kind {kind}, which is neither host nor CUDA memory: "
                         "copy it to the host")
    if not _core.built_with_cuda():
        raise ValueError("the array lies on a CUDA device, and this build of tilewave has no CUDA back end: copy it to "
                         "the host, or install tilewave where nvcc is found")
    return True


def as_host_array(array: AnyArray) -> NDArray[Any]:
    """A NumPy array over the same memory where there is one. Raises ValueError for a masked array, whose mask it would lose."""
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError("a masked array would lose its mask here: give it values with .filled(value)")
    if not isinstance(array, np.ndarray) and device_type(array) in _HOST:
        return np.from_dlpack(array)
    return np.asarray(array)


def to_device(array: ArrayLike, device: int = 0) -> Any:
    """A copy of a NumPy array (uint8, float or complex) on the CUDA device of that number, an object that speaks DLPack:
    for entropy and map, or ``cupy.from_dlpack`` and ``torch.from_dlpack``. Raises MemoryError where there is none,
    ValueError in a build without CUDA."""
    return _core._to_device(np.ascontiguousarray(as_host_array(array)), device)


def to_host(array: AnyArray) -> NDArray[Any]:
    """A NumPy array with the values of an array on a CUDA device."""
    return _core._to_host(array) if on_cuda(array) else as_host_array(array)
