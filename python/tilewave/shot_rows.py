"""Rows of shots as NumPy arrays: bits as bools or eight a byte, masks that discard rows, and arrays to fill."""
from __future__ import annotations

import numpy as np


def _pack(rows, bits, name):
    """Rows of so many bits, given as bools or packed, as packed ones."""
    rows = np.asarray(rows)
    if rows.dtype not in (np.bool_, np.uint8):
        raise ValueError(f"{name} is an array of bool, or packed in uint8, not of {rows.dtype}")
    wanted = bits if rows.dtype == np.bool_ else (bits + 7) // 8
    if rows.ndim != 2 or rows.shape[1] != wanted:
        raise ValueError(f"{name} is bool [shots, {bits}], or packed in uint8 [shots, {(bits + 7) // 8}], not {rows.dtype} "
                         f"{list(rows.shape)}")
    return np.packbits(rows, axis=1, bitorder="little") if rows.dtype == np.bool_ else np.ascontiguousarray(rows)


def _swept(sweep_bits, num_sweep_bits):
    """Packed rows of sweep bits: a row a shot, or one."""
    return None if sweep_bits is None else _pack(np.atleast_2d(sweep_bits), num_sweep_bits, "sweep_bits")


def _flags(mask, bits, name):
    """A mask of bits, given as bools or packed, as bools."""
    if mask is None:
        return np.zeros(bits, np.bool_)
    mask = np.asarray(mask)
    if mask.dtype == np.bool_ and mask.shape == (bits,):
        return mask
    if mask.dtype != np.uint8 or mask.shape != ((bits + 7) // 8,):
        raise ValueError(f"{name} is bool [{bits}], or packed in uint8 [{(bits + 7) // 8}], not {mask.dtype} "
                         f"{list(mask.shape)}")
    return np.unpackbits(mask, count=bits, bitorder="little").view(np.bool_)


def _discarding(num_detectors, num_observables, detectors, observables, further_bits=0):
    """The bits of a row that discard a shot, packed; None where there are none."""
    if detectors is None and observables is None:
        return None
    return np.packbits(np.concatenate([
        _flags(detectors, num_detectors, "postselection_mask"),
        _flags(observables, num_observables, "postselected_observables_mask"), np.zeros(further_bits, np.bool_)]),
        bitorder="little")


def _host_keeps_all(mask):
    if mask is not None:
        raise ValueError("postselection_mask is for on_device=True here: sample() takes it on the host as well")


def _unpack(rows, bits):
    return np.unpackbits(rows, axis=1, count=bits, bitorder="little").view(np.bool_)


def _check_out(out, shots, bits, bit_packed, name):
    """Raises where the array cannot take so many rows of so many bits."""
    if out is None:
        return
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(out).__name__}")
    shape, dtype = (shots, (bits + 7) // 8 if bit_packed else bits), np.dtype(np.uint8 if bit_packed else np.bool_)
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"{name} must be {dtype} {list(shape)}, not {out.dtype} {list(out.shape)}")
    if not out.flags.writeable:
        raise ValueError(f"{name} is read-only: give an array that can be written")


def _into(out, array):
    """The array, in the first rows of `out` where there is one."""
    if out is None:
        return array
    if len(array) < len(out):  # shots were discarded
        out = out[:len(array)]
    out[...] = array
    return out
