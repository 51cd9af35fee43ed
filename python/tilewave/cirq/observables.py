"""Cirq's observables as Pauli terms, and expectation values as Cirq gives them."""
from __future__ import annotations

import cirq
import numpy as np

from ..observables import NO_TERMS, Terms, mask_words


def real(value):
    return float(value.real) if abs(value.imag) == 0 else complex(value)


class Asked:
    """Observables as terms that are measured together."""

    def __init__(self, observables, order):
        qubits = {qubit: len(order) - 1 - k for k, qubit in enumerate(order)}
        n = max(1, len(order))
        x_rows, z_rows, self.parts = [], [], []
        for observable in observables:
            coefficients = []
            for string in cirq.PauliSum.wrap(observable):
                x, z = np.zeros(n, bool), np.zeros(n, bool)
                for qubit, pauli in string.items():
                    if qubit not in qubits:
                        raise ValueError(f"the observable acts on {qubit!r}, which is none of the circuit's qubits")
                    x[qubits[qubit]] = pauli != cirq.Z
                    z[qubits[qubit]] = pauli != cirq.X
                x_rows.append(x)
                z_rows.append(z)
                coefficients.append(complex(string.coefficient))
            self.parts.append(np.array(coefficients, complex))
        if x_rows:
            self.terms: Terms = (np.ones(len(x_rows)), mask_words(np.array(x_rows), n), mask_words(np.array(z_rows), n))
        else:
            self.terms = NO_TERMS

    def sums(self, means):
        at, sums = 0, []
        for coefficients in self.parts:
            sums.append(real(complex(np.dot(coefficients, means[at:at + len(coefficients)]))))
            at += len(coefficients)
        return sums
