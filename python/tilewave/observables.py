"""Observables as the compiled part takes them: coefficients [terms], masks of X and of Z uint64[terms, words], qubit k being
bit k % 64 of word k / 64."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._types import Observable, PauliOrder

Terms = tuple[NDArray[Any], NDArray[np.uint64], NDArray[np.uint64]]

NO_TERMS: Terms = (np.zeros(0), np.zeros((0, 1), np.uint64), np.zeros((0, 1), np.uint64))
_LETTERS = re.compile("[IXYZ]+")


def pauli_terms(observable: Observable, num_qubits: int, pauli_order: PauliOrder = "last") -> Terms:
    """The terms of an observable; coefficients may be complex. Raises ValueError where there are no terms, and where a
    coefficient is not finite."""
    terms = _any_terms(observable, num_qubits, pauli_order)
    if not len(terms[0]):
        raise ValueError("the observable is empty: give a Pauli sum such as '0.5 ZZI + 0.2 X0 Y3', or Pauli strings with "
                         "their coefficients, as in {'ZZI': 0.5}")
    need_finite(terms[0])
    return terms


def need_finite(coefficients: NDArray[Any]) -> None:
    """Raises ValueError where a coefficient of an observable, or what they add up to, is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(np.abs(coefficients))
    if not np.isfinite(total):
        raise ValueError("the coefficients of the observable must be finite, and so must their sum")


def _any_terms(observable, num_qubits, pauli_order):
    if type(observable).__name__ == "SparseObservable":
        from qiskit.quantum_info import SparsePauliOp
        observable = SparsePauliOp.from_sparse_observable(observable)
    if hasattr(observable, "paulis") and hasattr(observable, "coeffs"):  # SparsePauliOp
        paulis = observable.paulis
        try:
            coefficients = np.asarray(observable.coeffs, complex)
        except TypeError as error:
            raise ValueError("a coefficient of the observable has a parameter without a value: assign it first") from error
        return _of_paulis(paulis, coefficients, num_qubits)
    if hasattr(observable, "x") and hasattr(observable, "z") and hasattr(observable, "phase"):  # Pauli, PauliList
        return _of_paulis(observable, 1.0, num_qubits)
    if isinstance(observable, str):
        return _core._parse_pauli_sum(observable, pauli_order, num_qubits)
    return _of_strings(list(_items(observable)), num_qubits, pauli_order)


def real_terms(observables: Observable, num_qubits: int, pauli_order: PauliOrder) -> Terms:
    """The same of a Hermitian sum."""
    coefficients, x, z = pauli_terms(observables, num_qubits, pauli_order)
    if np.iscomplexobj(coefficients) and np.any(coefficients.imag):
        raise ValueError("the observable is not Hermitian: a coefficient is complex")
    return np.ascontiguousarray(coefficients.real), x, z


def mask_words(bits: NDArray[np.bool_], num_qubits: Optional[int] = None) -> NDArray[np.uint64]:
    """Rows of truth values, column k for qubit k, as words of 64 bits; as many as `num_qubits` need."""
    bits = np.atleast_2d(np.asarray(bits, bool))
    words = max(1, -(-max(bits.shape[1], num_qubits or 0) // 64))
    packed = np.zeros((len(bits), 8 * words), np.uint8)
    own = np.packbits(bits, axis=1, bitorder="little")
    packed[:, :own.shape[1]] = own
    return packed.view("<u8").astype(np.uint64, copy=False)


def _of_paulis(paulis, coefficients, num_qubits):
    x, z = np.atleast_2d(paulis.x), np.atleast_2d(paulis.z)
    if x.shape[1] > num_qubits:
        raise ValueError(f"the observable is on {x.shape[1]} qubits, the circuit has {num_qubits}")
    signs = (-1j) ** np.atleast_1d(np.asarray(paulis.phase))
    return coefficients * signs, mask_words(x, num_qubits), mask_words(z, num_qubits)


def _items(observable):
    """(string, coefficient) of every item."""
    if hasattr(observable, "items"):
        items = observable.items()
    elif isinstance(observable, Iterable) and not hasattr(observable, "shape"):
        items = observable
    else:
        raise TypeError(f"an observable is a text such as '0.5 ZZI + X0 Y2', a dictionary or a list of Pauli strings with "
                        f"coefficients, or Qiskit's SparsePauliOp, not {type(observable).__name__} "
                        "(SparsePauliOp.from_operator converts a matrix)")
    for item in items:
        if isinstance(item, str):
            yield item, 1.0
            continue
        try:
            string, coefficient = item
            coefficient = complex(coefficient)
        except (TypeError, ValueError):
            raise TypeError(f"an item of the observable is {item!r}: give a Pauli string, or a string and a number") from None
        if not isinstance(string, str):
            raise TypeError(f"an item of the observable is {item!r}: its first part must be a Pauli string")
        yield string, coefficient


def _of_strings(items, num_qubits, pauli_order):
    if not items:
        return NO_TERMS
    coefficients = np.array([coefficient for _, coefficient in items], complex)
    if not np.any(coefficients.imag):
        coefficients = coefficients.real
    if all(_LETTERS.fullmatch(string) for string, _ in items):  # in one go
        _, x, z = _core._parse_pauli_sum("\n".join(string for string, _ in items), pauli_order, num_qubits)
        return coefficients, x, z
    parts = []
    for string, _ in items:
        part = _core._parse_pauli_sum(string, pauli_order, num_qubits)
        if len(part[0]) != 1:
            raise ValueError(f"'{string}' is a sum: give one Pauli string for each coefficient")
        parts.append(part)
    factors, x, z = (np.concatenate(column) for column in zip(*parts))
    return coefficients * factors, x, z
