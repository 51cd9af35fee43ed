"""Rasters: local entropy and fused elementwise maps over arrays."""
from __future__ import annotations

from typing import Any, Literal, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._types import AnyArray, Device
from .arrays import as_host_array, on_cuda

Border = Literal["crop", "reflect", "nearest", "constant", "valid"]
MapPrecision = Literal["precise", "fast", "lut"]


def entropy(image: AnyArray, footprint: Union[ArrayLike, int, None] = None, out: Any = None,
            mask: Optional[ArrayLike] = None, *, base: Optional[float] = 2, border: Border = "crop", constant: int = 0,
            levels: Optional[int] = None, min_valid: float = 0.0, fill: float = 0.0, threads: int = 0,
            device: Device = "cpu") -> Any:
    """Local Shannon entropy, called as skimage.filters.rank.entropy is.

    image       integers of 0 to 65535 (uint8 and uint16 are used where they lie; bool counts as two classes)
                [rows, columns], or a stack [..., rows, columns] whose images are taken one by one. Every value is a class.
    footprint   the window: a 2-D array whose non-zero cells belong to it, its pixel at (rows // 2, columns // 2); a
                number r for a square of 2 r + 1 pixels; 5 x 5 when None
    out         float32 array for the result, made when None
    mask        of the image's shape: pixels where it is 0 belong to no window
    base        of the logarithm; None for natural
    border      what a window sees beyond the edge: crop (nothing), reflect, nearest, constant (the class `constant`),
                valid (no result there)
    levels      number of classes; values beyond are no data. The largest value + 1 when None
    min_valid   least share of a window that must be valid
    fill        result where no pixel of the window is valid
    device      "cpu", "cuda", "cuda:<index>", "cuda:0-3" (several), "cpu+cuda:0" (shared), or "auto": by
                measured costs

    Arrays of other packages are used where they lie (DLPack). An image on a CUDA device (CuPy, PyTorch, to_device) gives
    an array on that device, in `out` or new; it is contiguous and takes no mask, and uint16 needs `levels`.

    Returns float32 of the image's shape; |error| is at most 5e-6.
    """
    if on_cuda(image):
        return _entropy_on_device(image, footprint, out, mask, base, border, constant, levels, min_valid, fill)
    image = as_host_array(image)
    if image.dtype == np.bool_:
        image = image.view(np.uint8)
    if image.ndim < 2:
        raise ValueError(f"an image has two dimensions or more, not {image.ndim}")
    if 0 in image.shape:
        raise ValueError(f"the image is empty: {list(image.shape)}")
    image = _as_classes(image)
    cells = _footprint(footprint)
    if mask is not None:
        mask = np.broadcast_to(np.asarray(mask) != 0, image.shape)
    if out is None:
        out = np.empty(image.shape, np.float32)
    elif out.shape != image.shape or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError(f"out must be a contiguous float32 array of the shape {list(image.shape)}")
    flat = image.reshape(-1, *image.shape[-2:]) if image.ndim != 2 else image[np.newaxis]
    flat_out = out.reshape(flat.shape)
    flat_mask = None if mask is None else mask.reshape(flat.shape)
    for k, slice_ in enumerate(flat):
        if slice_.shape[1] > 1 and slice_.strides[1] != slice_.itemsize or slice_.strides[0] % slice_.itemsize or \
                slice_.strides[0] < 0:
            slice_ = np.ascontiguousarray(slice_)
        classes = max(_core._largest(slice_) + 1, 2) if levels is None else levels
        if flat_mask is not None:
            slice_, classes = _masked(slice_, flat_mask[k], classes)
        elif slice_.dtype == np.uint8 and classes > 256:
            slice_ = slice_.astype(np.uint16)
        _core._entropy(slice_, flat_out[k], cells, classes, 0.0 if base is None else float(base), border, constant,
                       min_valid, threads, device)
    if fill == fill and (mask is not None or border == "valid" or levels is not None or min_valid):
        np.nan_to_num(out, copy=False, nan=fill)
    return out


def _as_classes(image):
    """The image as uint8 or uint16, where its values are classes 0 to 65535 of any type of integer."""
    if image.dtype in (np.uint8, np.uint16):
        return image
    if image.dtype.kind not in "iu":
        raise ValueError(f"an image of {image.dtype} has no classes: convert it to uint8 or uint16 first")
    low, high = int(image.min()), int(image.max())
    if low < 0 or high > 65535:
        raise ValueError(f"values of {low} to {high} are no classes: relabel them 0 to 65535")
    return image.astype(np.uint8 if high < 256 else np.uint16)


def _entropy_on_device(image, footprint, out, mask, base, border, constant, levels, min_valid, fill):
    if mask is not None:
        raise ValueError("an image on a device takes no mask: give masked pixels a value of at least `levels`")
    if abs(fill) == float("inf"):
        raise ValueError("on a device fill is a number or NaN")
    has_gaps = levels is not None or border == "valid" or min_valid  # as on the host
    made = _core._entropy_on_device(image, out, _footprint(footprint), levels,
                                    0.0 if base is None else float(base), border, constant, min_valid,
                                    float(fill) if has_gaps else float("nan"))
    return out if made is None else made


def _footprint(footprint):
    if footprint is None:
        return np.ones((5, 5), np.uint8)
    if isinstance(footprint, (int, np.integer)):
        if footprint < 0:
            raise ValueError("a window needs a radius of 0 or more")
        return np.ones((2 * footprint + 1, 2 * footprint + 1), np.uint8)
    cells = np.asarray(footprint)
    if cells.ndim != 2:
        raise ValueError(f"a footprint has two dimensions, not {cells.ndim}: images of a stack are taken one by one")
    return np.ascontiguousarray(cells != 0, np.uint8)


def _masked(image, mask, classes):
    """The image with a class that does not count where the mask is 0."""
    if classes <= 255 and image.dtype == np.uint8:
        return np.where(mask, image, np.uint8(255)), classes
    if classes >= 65536:
        raise ValueError("an image that uses the value 65535 leaves none for masked pixels: relabel its classes")
    return np.where(mask, image, np.uint16(65535)).astype(np.uint16, copy=False), classes


def map(array: AnyArray, expression: str, *, out: Any = None, repeat: int = 1, precision: MapPrecision = "precise",
        threads: int = 0, device: Device = "cpu") -> Any:
    """An expression over every value of an array, in one pass: ``map(a, "v + sqrt(cos(v) + 1)")``. ``v`` is the value,
    ``ix`` its column, ``iy`` its row, ``idx`` its index.

    array      float32, or values that a float32 holds: float16, bool, integers up to 2^24; at most two dimensions (a vector
               is one row)
    out        float32 array for the result; ``out=array`` works in place
    repeat     how often the expression is applied, in one pass
    precision  "precise" (1 ulp a function), "fast", or "lut" (precise bits from a table, for whole numbers in a small
               range)

    Arrays of other packages are used where they lie (DLPack). A float32 array on a CUDA device gives an array on that
    device, in `out` (which may be the array) or new.
    """
    if on_cuda(array):
        made = _core._map_on_device(array, out, expression, repeat, precision)
        return out if made is None else made
    array, given = as_host_array(array), array
    if out is given:
        out = array
    if array.dtype.itemsize > 4 and array.dtype.kind == "f" or array.dtype.kind not in "fiub" or \
            array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > 2**24:
        raise ValueError(f"values of {array.dtype} would lose digits in float32: convert them with astype(np.float32)")
    if array.ndim not in (1, 2):
        raise ValueError(f"a map takes one or two dimensions, not {array.ndim}")
    if out is None:
        out = np.empty(array.shape, np.float32)
    elif out.shape != array.shape or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError(f"out must be a contiguous float32 array of the shape {list(array.shape)}")
    if out is not array:
        np.copyto(out, array)
    if array.size:
        _core._map(out.reshape(1, -1) if out.ndim == 1 else out, expression, repeat, precision, threads, device)
    return out
