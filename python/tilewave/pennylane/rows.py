"""A PennyLane circuit as rows, from which circuits are made: once for a structure, with angles of its own for every set of
values.

A row is (gate, targets, angles, controls, control values, condition). Qubits are Tilewave's. An angle is (factor, number of
the parameter among the numbers of the tape's operations or -1, offset): factor * parameter + offset. The gate is a name of
the gate table, "unitary", whose angle is the number of its matrix, "measure", whose angle is its classical bit, or "reset".
A condition is None or (classical bits, the patterns of them on which the row acts), the first bit of a pattern first.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ..circuits import Circuit

_MOST_PROGRAMS = 256  # kept by one device
_MOST_MATRIX_BYTES = 1 << 16  # of a structure that is kept

# Numbers of tilewave's classical operations and types, see src/tilewave/circuit/classical.h.
_CONST, _BITS, _AND, _OR, _EQUAL = 0, 1, 9, 10, 11
_BOOL = 0


class Rows:
    """The rows of a circuit, as gates are added under the controls and the condition around them."""

    def __init__(self, num_qubits: int) -> None:
        self.num_qubits = num_qubits
        self.rows: list[tuple[Any, ...]] = []
        self.matrices: list[np.ndarray] = []
        self.num_clbits = 0
        self.controls: tuple[int, ...] = ()
        self.values = 0
        self.condition: Optional[tuple[Any, ...]] = None
        self.keeps_norm = True

    def add(self, name: str, targets: Sequence[int], angles: tuple[Any, ...] = (), controls: Sequence[int] = (),
            values: Optional[int] = None) -> None:
        """Under further controls; bit k of `values` is what control k acts on (default: all ones)."""
        if controls:
            values = (1 << len(controls)) - 1 if values is None else values
            values = self.values | values << len(self.controls)
            controls = (*self.controls, *controls)
        else:
            controls, values = self.controls, self.values
        self.rows.append((name, tuple(targets), angles, tuple(controls), values, self.condition))

    def free(self, name: str, targets: Sequence[int], angles: tuple[Any, ...] = (), controls: Sequence[int] = ()) -> None:
        """A gate that need not be under the controls around, since another one undoes it."""
        self.rows.append((name, tuple(targets), angles, tuple(controls), (1 << len(controls)) - 1, None))

    def unitary(self, matrix: Any, targets: Sequence[int]) -> None:
        """Bit k of a row of the matrix is targets[k]."""
        self.add("unitary", targets, (len(self.matrices),))
        self.matrices.append(np.ascontiguousarray(matrix, complex))

    def measure(self, qubit: int) -> int:
        """The classical bit of a new measurement."""
        self.rows.append(("measure", (qubit,), (self.num_clbits,), (), 0, None))
        self.num_clbits += 1
        return self.num_clbits - 1

    def reset(self, qubit: int) -> None:
        self.rows.append(("reset", (qubit,), (), (), 0, None))

    def key(self) -> Any:
        """What circuits of one structure have in common; None where it is too large to be kept."""
        if sum(matrix.nbytes for matrix in self.matrices) > _MOST_MATRIX_BYTES:
            return None
        return self.num_qubits, self.num_clbits, tuple(self.rows), tuple(matrix.tobytes() for matrix in self.matrices)


class Program:
    """A circuit whose angles are given later."""

    def __init__(self, rows: Rows) -> None:
        self.circuit = Circuit(rows.num_qubits, rows.num_clbits)
        slots = []
        for name, targets, angles, controls, values, condition in rows.rows:
            bit = None if condition is None else self._bit_of(condition)
            if name == "measure":
                self.circuit.measure(targets[0], angles[0])
                continue
            if name == "reset":
                self.circuit.reset(targets[0])
                continue
            if name == "unitary":
                self.circuit.unitary(rows.matrices[angles[0]], targets, controls, values, check=False)
            else:
                numbers = []
                for k, (factor, index, offset) in enumerate(angles):
                    if index >= 0:
                        slots.append((len(self.circuit), k, factor, index, offset))
                    numbers.append(offset if index < 0 else 0.5)
                self.circuit.gate(name, targets, numbers, controls, values)
            if bit is not None:
                self.circuit.c_if(*bit)
        columns = list(zip(*slots)) or [()] * 5
        self.ops, self.angles = np.array(columns[0], np.uint32), np.array(columns[1], np.uint32)
        self.factors, self.index, self.offsets = np.array(columns[2], float), np.array(columns[3], int), np.array(columns[4], float)

    def at(self, values: np.ndarray) -> Circuit:
        """The circuit at the values of the tape's numbers."""
        if not len(self.ops):
            return self.circuit
        return self.circuit._with_angles(self.ops, self.angles, values[self.index] * self.factors + self.offsets)

    def _bit_of(self, condition):
        """The classical bit, and its value, that say whether a condition holds."""
        bits, patterns = condition
        if len(bits) == 1:
            return bits[0], patterns[0][0]
        first = self.circuit._add_clbits(1)
        nodes = []
        for number, pattern in enumerate(patterns):
            for k, (bit, value) in enumerate(zip(bits, pattern)):
                nodes += [(_BITS, _BOOL, 1, -1, -1, bit), (_CONST, _BOOL, 1, -1, -1, value),
                          (_EQUAL, _BOOL, 1, len(nodes), len(nodes) + 1, 0)]
                if k:
                    nodes.append((_AND, _BOOL, 1, last, len(nodes) - 1, 0))  # noqa: F821
                last = len(nodes) - 1
            if number:
                nodes.append((_OR, _BOOL, 1, total, last, 0))  # noqa: F821
            total = len(nodes) - 1
        self.circuit._assign(first, 1, nodes)
        return first, 1


class Programs:
    """Programs of circuits that came before, found by their structure."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Program] = OrderedDict()

    def of(self, rows: Rows) -> Program:
        key = rows.key()
        program = self._kept.get(key) if key is not None else None
        if program is None:
            program = Program(rows)
        if key is not None:
            self._kept[key] = program
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_PROGRAMS:
                self._kept.popitem(last=False)
        return program
