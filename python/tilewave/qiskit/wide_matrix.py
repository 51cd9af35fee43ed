"""A matrix on more qubits than an operation takes, as controlled matrices on as many as it does.

The cosine-sine decomposition halves it: with the last qubit's 0 and 1 as blocks, U = (A0 + A1) M (B0 + B1), where the direct
sums are matrices under one more control, and M turns the last qubit by an angle that depends on the others: again matrices,
under controls on the others above the limit. Of 8 qubits each, nine qubits make 6 matrices and ten 28.
(Paige and Wei, Linear Algebra Appl. 208/209, 303 (1994).)
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def controlled_parts(matrix: Any, num_qubits: int, most: int) -> Iterator[tuple[Any, list[int], dict[int, int]]]:
    """Matrices in the order in which they act, each with its qubits and the values of its controls. The product is `matrix`
    (complex, [2^num_qubits, 2^num_qubits]), bit j of whose index is qubit j; none has more than `most` qubits."""
    if num_qubits <= most:
        yield np.ascontiguousarray(matrix), list(range(num_qubits)), {}
        return
    from scipy.linalg import cossin
    top, half = num_qubits - 1, len(matrix) // 2
    left, angles, right = cossin(matrix, p=half, q=half, separate=True)
    yield from _blocks(right, top, most)
    low = most - 1  # qubits beside the last one in one matrix of the middle
    for value, theta in enumerate(angles.reshape(-1, 2**low)):
        c, s = np.diag(np.cos(theta)), np.diag(np.sin(theta))
        middle = np.block([[c, -s], [s, c]]).astype(complex)
        yield middle, [*range(low), top], {low + j: value >> j & 1 for j in range(top - low)}
    yield from _blocks(left, top, most)


def _blocks(blocks, top, most):
    for value, block in enumerate(blocks):
        for part, qubits, controls in controlled_parts(block, top, most):
            yield part, qubits, {**controls, top: value}
