"""Arrays of any package: NumPy's, and those that speak DLPack, on the host or on a CUDA device."""
from __future__ import annotations

import math
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


def is_array(value: Any) -> bool:
    """Whether it is an array of any package, over whose memory there can be another."""
    return isinstance(value, np.ndarray) or device_type(value) is not None


def refuse_gradients(array: Any) -> None:
    """Raises ValueError for a tensor of PyTorch that requires gradients."""
    if getattr(array, "requires_grad", False):
        raise ValueError("a tensor that requires gradients would lose them here: give tensor.detach()")


def as_host_array(array: AnyArray) -> NDArray[Any]:
    """A NumPy array over the same memory where there is one. Raises ValueError for a masked array, whose mask it would lose."""
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError("a masked array would lose its mask here: give it values with .filled(value)")
    if not isinstance(array, np.ndarray) and device_type(array) in _HOST:
        refuse_gradients(array)
        try:
            return np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError) as error:  # of a type or layout that NumPy has not
            raise ValueError(f"a {type(array).__name__} of {getattr(array, 'dtype', 'this type')} cannot be read where it lies ({error}): "
                             "convert it to a dense array of a type that NumPy has") from None
    return np.asarray(array)


def to_device(array: ArrayLike, device: int = 0) -> Any:
    """A copy of a NumPy array (uint8, float or complex) on the CUDA device of that number, an object that speaks DLPack:
    for entropy and map, or ``cupy.from_dlpack`` and ``torch.from_dlpack``. Raises MemoryError where there is none,
    ValueError in a build without CUDA."""
    return _core._to_device(np.ascontiguousarray(as_host_array(array)), device)


def to_host(array: AnyArray) -> NDArray[Any]:
    """A NumPy array with the values of an array on a CUDA device."""
    return _core._to_host(array) if on_cuda(array) else as_host_array(array)


class DeviceArray:
    """An array in the memory of a CUDA device, made there: ``torch.from_dlpack(array)``, ``cupy.from_dlpack(array)``,
    ``cupy.asarray(array)`` and ``jax.dlpack.from_dlpack(array)`` are arrays of these packages over the same memory, and
    ``tilewave.to_host(array)`` is a copy on the host.

    All of it is written when the array is there, so that every stream may read it, and it may be written as well. The memory
    serves later calls of the sampler when the last array over it is gone; a call that takes it waits for the work of the device,
    and so does freeing it."""

    def __init__(self, array: Any, address: int, shape: tuple[int, ...], dtype: str) -> None:
        self._array, self._address, self._shape, self._dtype = array, address, shape, np.dtype(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def size(self) -> int:
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        return self.size * self._dtype.itemsize

    @property
    def device(self) -> str:
        return f"cuda:{self.__dlpack_device__()[1]}"

    def __len__(self) -> int:
        return self._shape[0]

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self._array.__dlpack_device__()
        return int(kind), int(number)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self._shape, "typestr": self._dtype.str, "data": (self._address, False), "strides": None, "version": 3,
                "stream": None}

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise TypeError("the array lies on a CUDA device: tilewave.to_host(array) copies it to the host")

    def __repr__(self) -> str:
        return f"<tilewave.DeviceArray: {self._dtype} {list(self._shape)} on {self.device}>"
