"""Rasters: local entropy and fused elementwise maps over arrays."""
from __future__ import annotations

import operator
from typing import Any, Literal, Optional, Union, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._types import AnyArray, Device
from .arrays import as_host_array, is_array, on_cuda, refuse_gradients

Floats = NDArray[np.float32]  # of arrays on the host; one on a CUDA device gives one there
Border = Literal["crop", "reflect", "nearest", "constant", "valid"]
MapPrecision = Literal["precise", "fast", "lut"]


@overload
def entropy(image: ArrayLike, footprint: Union[ArrayLike, int, None] = None, out: Optional[Floats] = None,
            mask: Optional[ArrayLike] = None, *, base: Optional[float] = 2, border: Border = "crop", constant: int = 0,
            levels: Optional[int] = None, min_valid: float = 0.0, fill: float = 0.0, threads: int = 0,
            device: Device = "cpu") -> Floats: ...


@overload
def entropy(image: Any, footprint: Union[ArrayLike, int, None] = None, out: Any = None,
            mask: Optional[ArrayLike] = None, *, base: Optional[float] = 2, border: Border = "crop", constant: int = 0,
            levels: Optional[int] = None, min_valid: float = 0.0, fill: float = 0.0, threads: int = 0,
            device: Device = "cpu") -> Any: ...


def entropy(image: AnyArray, footprint: Union[ArrayLike, int, None] = None, out: Any = None,
            mask: Optional[ArrayLike] = None, *, base: Optional[float] = 2, border: Border = "crop", constant: int = 0,
            levels: Optional[int] = None, min_valid: float = 0.0, fill: float = 0.0, threads: int = 0,
            device: Device = "cpu") -> Any:
    """Local Shannon entropy, called as skimage.filters.rank.entropy is.

    image       integers of 0 to 65535 (uint8 and uint16 are used where they lie; bool counts as two classes)
                [rows, columns], or a stack [..., rows, columns] whose images are taken one by one. Every value is a class.
                A masked array's masked pixels belong to no window
    footprint   the window: a 2-D array whose non-zero cells belong to it, its pixel at (rows // 2, columns // 2); a
                number r for a square of 2 r + 1 pixels; 5 x 5 when None
    out         float32 NumPy array for the result, made when None; it may share memory with the image
    mask        of the image's shape: pixels where it is 0 belong to no window
    base        of the logarithm, finite and above 1; None for natural
    border      what a window sees beyond the edge: crop (nothing), reflect, nearest, constant (the class `constant`),
                valid (no result there)
    levels      number of classes, 2 to 65536; values beyond are no data. The largest value + 1 when None
    min_valid   least share of a window that must be valid
    fill        result where no pixel of the window is valid
    threads     at most so many (0: all); a small image takes fewer
    device      "cpu", "cuda", "cuda:<index>", "cuda:0-3" (several), "cpu+cuda:0" (shared), or "auto": by
                measured costs

    Arrays of other packages are used where they lie (DLPack). An image on a CUDA device (CuPy, PyTorch, to_device) gives
    an array on that device, in `out` or new; it is contiguous and takes no mask, and uint16 needs `levels`.

    Returns float32 of the image's shape. It is off by at most 5e-6 bits; 1e-5 in windows of more than 101 x 101 cells with
    256 classes or fewer. Raises ValueError for arguments it cannot use, TypeError
    for those of a wrong type.
    """
    base = None if base is None else _real("base", base)
    if base is not None and not base > 1:
        raise ValueError(f"base is a finite number above 1, or None for natural logarithms, not {base}")
    threads, constant = _whole("threads", threads), _whole("constant", constant)
    border, device = _text("border", border), _text("device", device)
    min_valid, fill = _real("min_valid", min_valid), _real("fill", fill)
    levels = None if levels is None else _whole("levels", levels)
    if on_cuda(image):
        return _entropy_on_device(image, footprint, out, mask, base, border, constant, levels, min_valid, fill)
    image, valid = _take_mask(image)
    if mask is not None:
        mask = np.broadcast_to(np.ma.filled(mask, 0) != 0, image.shape)
        valid = mask if valid is None else valid & mask
    if image.dtype == np.bool_:
        image = image.view(np.uint8)
    if image.ndim < 2:
        raise ValueError(f"an image has two dimensions or more, not {image.ndim}")
    if 0 in image.shape:
        raise ValueError(f"the image is empty: {list(image.shape)}")
    image = _as_classes(image, valid)
    cells = _footprint(footprint)
    out = _result(out, image.shape)
    if np.may_share_memory(out, image):  # windows look at pixels that results would have taken the place of
        image = image.copy()
    flat = image.reshape(-1, *image.shape[-2:]) if image.ndim != 2 else image[np.newaxis]
    flat_out = out.reshape(flat.shape)
    flat_valid = None if valid is None else valid.reshape(flat.shape)
    for k, slice_ in enumerate(flat):
        if slice_.shape[1] > 1 and slice_.strides[1] != slice_.itemsize or slice_.strides[0] % slice_.itemsize or \
                slice_.strides[0] < 0:
            slice_ = np.ascontiguousarray(slice_)
        here = None if flat_valid is None else flat_valid[k]
        classes = levels
        if classes is None:
            largest = _core._largest(slice_) if here is None else int(slice_.max(where=here, initial=0))
            classes = max(largest + 1, 2, constant + 1 if border == "constant" else 0)
        if here is not None:
            slice_ = _masked(slice_, here, classes)
        elif slice_.dtype == np.uint8 and classes > 256:
            slice_ = slice_.astype(np.uint16)
        _core._entropy(slice_, flat_out[k], cells, classes, 0.0 if base is None else float(base), border, constant,
                       min_valid, threads, device)
    if fill == fill and _has_gaps(cells, valid, border, levels, min_valid):
        np.copyto(out, fill, where=np.isnan(out))
    return out


def _take_mask(array):
    """An array's values on the host, and which of them a masked array does not hide: None for all."""
    if not isinstance(array, np.ma.MaskedArray):
        return as_host_array(array), None
    hidden = np.ma.getmaskarray(array)
    return np.ma.getdata(array), ~hidden if hidden.any() else None


def _whole(name, value):
    """A whole number that 32 bits hold."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is a whole number, not {value!r}") from None
    if not -2**31 <= number < 2**31:
        raise ValueError(f"{name} {number} is out of range: use a number of 32 bits")
    return number


def _text(name, value):
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    return value


def _real(name, value):
    """A real number."""
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} is a number, not {value!r}")


def _result(out, shape):
    """The array for a result: `out`, or a new one."""
    if out is None:
        return np.empty(shape, np.float32)
    if not isinstance(out, np.ndarray):
        raise ValueError(f"out is a float32 NumPy array where the input lies on the host, not {type(out).__name__}: "
                         "numpy.asarray(out) shares the memory of one of another package")
    if isinstance(out, np.ma.MaskedArray) or out.shape != shape or \
            out.dtype != np.float32 or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(f"out must be a contiguous float32 array of the shape {list(shape)} that can be written, and "
                         "have no mask")
    return out


def _has_gaps(cells, valid, border, levels, min_valid):
    """Whether a window may have no valid pixel, or too few: unless its own pixel belongs to it and is valid."""
    own = cells[cells.shape[0] // 2, cells.shape[1] // 2]
    return valid is not None or border == "valid" or levels is not None or bool(min_valid) or not own


def _as_classes(image, valid):
    """The image as uint8 or uint16, where its valid values are classes 0 to 65535 of any type of integer."""
    if image.dtype in (np.uint8, np.uint16):
        return image
    if image.dtype.kind not in "iu":
        raise ValueError(f"an image of {image.dtype} has no classes: convert it to uint8 or uint16 first")
    seen = image if valid is None else image[valid]
    low, high = (int(seen.min()), int(seen.max())) if seen.size else (0, 0)
    if low < 0 or high > 65535:
        raise ValueError(f"values of {low} to {high} are no classes: relabel them 0 to 65535")
    return image.astype(np.uint8 if high < 256 else np.uint16)


def _entropy_on_device(image, footprint, out, mask, base, border, constant, levels, min_valid, fill):
    if mask is not None:
        raise ValueError("an image on a device takes no mask: give masked pixels a value of at least `levels`")
    if abs(fill) == float("inf"):
        raise ValueError("on a device fill is a number or NaN")
    cells = _footprint(footprint)
    has_gaps = _has_gaps(cells, None, border, levels, min_valid)
    made = _on_device(_core._entropy_on_device, image, out, "uint8 or uint16", cells, levels, 0.0 if base is None else base,
                      border, constant, min_valid, fill if has_gaps else float("nan"))
    return out if made is None else made


def _on_device(call, array, out, types, *arguments):
    """What `call` makes of an array on a device, whose layout and type it checks."""
    refuse_gradients(array)
    try:
        return call(array, out, *arguments)
    except TypeError:
        raise TypeError(f"an array on a device is contiguous and of {types}, and out is a contiguous float32 array there"
                        ) from None


def _footprint(footprint):
    if footprint is None:
        return np.ones((5, 5), np.uint8)
    if isinstance(footprint, (int, np.integer)):
        if footprint < 0:
            raise ValueError("a window needs a radius of 0 or more")
        return np.ones((2 * footprint + 1, 2 * footprint + 1), np.uint8)
    cells = np.ma.filled(footprint, 0)
    if cells.ndim != 2:
        raise ValueError(f"a footprint is an array of two dimensions, not {cells.ndim}, or a whole number for its radius: "
                         f"numpy.ones((5, 5)), say; images of a stack are taken one by one")
    return np.ascontiguousarray(cells != 0, np.uint8)


def _masked(image, valid, classes):
    """The image with a class that does not count where it is not valid: 255, 65535 or 65536."""
    if classes <= 255 and image.dtype == np.uint8:
        return np.where(valid, image, np.uint8(255))
    if classes <= 65535:
        return np.where(valid, image, np.uint16(65535)).astype(np.uint16, copy=False)
    return np.where(valid, image, np.uint32(65536)).astype(np.uint32, copy=False)


@overload
def map(array: ArrayLike, expression: str, *, out: Optional[Floats] = None, repeat: int = 1, precision: MapPrecision = "precise",
        threads: int = 0, device: Device = "cpu") -> Floats: ...


@overload
def map(array: Any, expression: str, *, out: Any = None, repeat: int = 1, precision: MapPrecision = "precise",
        threads: int = 0, device: Device = "cpu") -> Any: ...


def map(array: AnyArray, expression: str, *, out: Any = None, repeat: int = 1, precision: MapPrecision = "precise",
        threads: int = 0, device: Device = "cpu") -> Any:
    """An expression over every value of an array, in one pass: ``map(a, "v + sqrt(cos(v) + 1)")``. ``v`` is the value,
    ``ix`` its column, ``iy`` its row, ``idx`` its index.

    array      float32, or values that a float32 holds: float16, bool, integers up to 2^24; at most two dimensions (a vector
               is one row). Where a masked array is masked the result is NaN
    out        float32 NumPy array for the result; ``out=array`` works in place
    repeat     how often the expression is applied, in one pass
    precision  "precise" (1 ulp a function), "fast", or "lut" (precise bits from a table, for whole numbers in a small
               range)
    threads    at most so many (0: all); a small array takes fewer

    Arrays of other packages are used where they lie (DLPack). A float32 array on a CUDA device gives an array on that
    device, in `out` (which may be the array) or new. Returns float32 of the array's shape, without a mask. Raises
    ValueError for arguments it cannot use, TypeError for those of a wrong type.
    """
    repeat, threads = _whole("repeat", repeat), _whole("threads", threads)
    expression, precision, device = _text("expression", expression), _text("precision", precision), _text("device", device)
    if on_cuda(array):
        made = _on_device(_core._map_on_device, array, out, "float32", expression, repeat, precision)
        return out if made is None else made
    given = array
    array, valid = _take_mask(array)
    if out is not None and out is given and is_array(given) and not isinstance(given, np.ma.MaskedArray):
        out = array
    _check_exact(array, valid)
    if array.ndim not in (1, 2):
        raise ValueError(f"a map takes one or two dimensions, not {array.ndim}")
    out = _result(out, array.shape)
    if out is not array:
        np.copyto(out, array, casting="unsafe")
    if valid is not None:  # a value beside stands for a hidden one: no foreign one is met
        out[~valid] = out[valid][0] if valid.any() else 0
    if array.size and (valid is None or valid.any()):
        _core._map(out.reshape(1, -1) if out.ndim == 1 else out, expression, repeat, precision, threads, device)
    if valid is not None:
        out[~valid] = np.nan
    return out


def _check_exact(array, valid):
    """Raises ValueError where float32 does not hold the array's values."""
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError("complex numbers have no place in a map: take their .real, .imag or abs()")
    if kind not in "fiub":
        raise ValueError(f"values of {array.dtype} are no numbers: convert them with astype(np.float32)")
    seen = array if valid is None or kind not in "iu" else array[valid]
    if kind == "f" and array.dtype.itemsize > 4 or \
            kind in "iu" and seen.size and max(-int(seen.min()), int(seen.max())) > 2**24:
        raise ValueError(f"values of {array.dtype} would lose digits in float32: convert them with astype(np.float32)")
