"""One shot of a circuit, step by step: the state it ends in together with what was measured on the way."""
from __future__ import annotations

import itertools
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core
from .circuits import Circuit
from .observables import mask_words
from .programs import Rows

_MOST_JOINT_QUBITS = 16
_PAULIS = {"I": np.eye(2), "X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1, -1])}


class OneShot:
    """Runs rows on a state. `draw()` gives uniform numbers of [0, 1); `how` is precision, device and threads."""

    def __init__(self, rows: Rows, values: NDArray[np.float64], how: tuple[str, str, int], draw: Any,
                 initial: Optional[NDArray[np.complex128]] = None) -> None:
        self.rows, self.values, self.how, self.draw, self.initial = rows, values, how, draw, initial
        self.bits: dict[int, int] = {}
        self.state: Any = None
        self._pending = Circuit(rows.num_qubits)
        self._at = 0

    def run(self, end: Optional[int] = None) -> OneShot:
        """Up to the row of that number, or all of them."""
        rows = self.rows.rows
        end = len(rows) if end is None else end
        while self._at < end:
            name, targets, angles, controls, values, condition = rows[self._at]
            self._at += 1
            if condition is not None and tuple(self.bits[bit] for bit in condition[0]) not in condition[1]:
                continue
            if name == "measure":
                block = [(targets[0], angles[0])]
                while (self._at < end and rows[self._at][0] == "measure" and rows[self._at][5] is None
                       and len(block) < _MOST_JOINT_QUBITS and all(rows[self._at][1][0] != q for q, _ in block)):
                    block.append((rows[self._at][1][0], rows[self._at][2][0]))
                    self._at += 1
                for (_, bit), value in zip(block, self._project([q for q, _ in block])):
                    self.bits[bit] = value
            elif name == "reset":
                if self._project(targets)[0]:
                    self._pending.x(targets[0])
            elif name == "kraus":
                self._channel(self.rows.matrices[angles[0]], targets)
            elif name == "unitary":
                self._pending.unitary(self.rows.matrices[angles[0]], targets, controls, values, check=False)
            else:
                numbers = [offset if index < 0 else factor * self.values[index] + offset for factor, index, offset in angles]
                self._pending.gate(name, targets, numbers, controls, values)
        return self

    def settle(self) -> Any:
        """The state behind all rows so far."""
        if self.state is None:
            self.state = _core.State(self._pending, *self.how, None, "auto", self.initial)
        elif len(self._pending):
            self.state._apply(self._pending)
        self._pending = Circuit(self.rows.num_qubits)
        return self.state

    def _project(self, qubits):
        """Outcomes of measurements that are made together."""
        p = self.settle().probabilities(list(qubits))
        sums = np.cumsum(p)
        outcome = min(int(np.searchsorted(sums, self.draw() * sums[-1], side="right")), len(p) - 1)
        while p[outcome] <= 0 and outcome:
            outcome -= 1
        factor = (sums[-1] / p[outcome]) ** 0.5
        values = [outcome >> k & 1 for k in range(len(qubits))]
        for qubit, value in zip(qubits, values):
            self._pending.unitary(np.diag([0, factor] if value else [factor, 0]), qubit, check=False)
            factor = 1.0
        return values

    def _channel(self, operators, targets):
        """Draws an operator of a channel: its probability is the trace of K rho K^dagger, rho of the targets."""
        state, n = self.settle(), self.rows.num_qubits
        words = list(itertools.product("IXYZ", repeat=len(targets)))
        x, z = np.zeros((len(words), n), bool), np.zeros((len(words), n), bool)
        for row, word in enumerate(words):
            for letter, target in zip(word, targets):
                x[row, target], z[row, target] = letter in "XY", letter in "YZ"
        means = state._expectations((np.ones(len(words)), mask_words(x, n), mask_words(z, n)))
        rho = np.zeros((2 ** len(targets),) * 2, complex)
        for word, mean in zip(words, means):
            matrix = np.eye(1)
            for letter in word:  # the first target is the lowest bit
                matrix = np.kron(_PAULIS[letter], matrix)
            rho += mean * matrix / len(rho)
        p = np.array([max(np.trace(k @ rho @ k.conj().T).real, 0.0) for k in operators])
        sums = np.cumsum(p)
        chosen = min(int(np.searchsorted(sums, self.draw() * sums[-1], side="right")), len(p) - 1)
        self._pending.unitary(operators[chosen] * (means[0] / p[chosen]) ** 0.5, targets, check=False)
