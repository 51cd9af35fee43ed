"""What PennyLane's, Cirq's and Braket's circuits are converted to: rows, from which circuits are made, once for a structure,
with angles of its own for every set of values.

A row is (name, targets, angles, controls, control values, condition). The name is one of the gate table, or one of

unitary, kraus  the number of its matrix, or of its list of matrices, stands in the place of the angles
measure         its classical bit does
reset

An angle is (factor, number of a parameter or -1, offset): factor * parameter + offset. A condition is None or (classical
bits, the patterns of them on which the row acts), the first bit of a pattern first.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core
from .angles import Parameter
from .circuits import Circuit
from .observables import NO_TERMS, Terms
from .runs import is_gpu

_MOST_PROGRAMS = 256  # that are kept
_MOST_FUNCTIONS = 16  # of one program, with other observables
_MOST_MATRIX_BYTES = 1 << 16  # of a structure that is kept

# Numbers of tilewave's classical operations and types, see src/tilewave/circuit/classical.h.
_CONST, _BITS, _AND, _OR, _EQUAL = 0, 1, 9, 10, 11
_BOOL = 0

# Of states that run side by side: in the vectors of a CPU, and in teams of threads of a GPU.
_MOST_BATCH_QUBITS, _MOST_BATCH_QUBITS_OF_GPU = 13, 12

Angle = tuple[float, int, float]
Start = Optional[NDArray[np.complex128]]


def how_side_by_side(how: tuple[str, str, int], num_qubits: int) -> Optional[tuple[str, str, int]]:
    """Precision, device and threads with which a function runs many sets of values of so many qubits side by side; None where
    it would run them one by one."""
    if is_gpu(how[1]):
        return how if num_qubits <= _MOST_BATCH_QUBITS_OF_GPU else None
    return (how[0], "cpu", how[2]) if num_qubits <= _MOST_BATCH_QUBITS else None


def constant(value: float) -> Angle:
    return 0.0, -1, float(value)


def scaled(angle: Angle, factor: float) -> Angle:
    return angle[0] * factor, angle[1], angle[2] * factor


def _finite(numbers):
    # here, since the compiled part would name parameters by their numbers, which nobody gave
    if not np.isfinite(numbers).all():
        raise ValueError("an angle is not a finite number")
    return numbers


class Rows:
    """The rows of a circuit, as gates are added under the controls and the condition around them."""

    def __init__(self, num_qubits: int) -> None:
        self.num_qubits = num_qubits
        self.rows: list[tuple[Any, ...]] = []
        self.matrices: list[Any] = []
        self.num_clbits = 0
        self.controls: tuple[int, ...] = ()
        self.values = 0
        self.condition: Optional[tuple[Any, ...]] = None
        self.keeps_norm = True
        self.has_channels = False

    def copy(self) -> Rows:
        """The same rows, to which others may be added."""
        own = Rows(self.num_qubits)
        own.__dict__.update(self.__dict__)
        own.rows, own.matrices = list(self.rows), list(self.matrices)
        return own

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
        self.rows.append((name, tuple(targets), angles, tuple(controls), (1 << len(controls)) - 1, self.condition))

    def unitary(self, matrix: Any, targets: Sequence[int]) -> None:
        """Bit k of a row of the matrix is targets[k]."""
        self.add("unitary", targets, (len(self.matrices),))
        self.matrices.append(np.ascontiguousarray(matrix, complex))

    def kraus(self, operators: Sequence[Any], targets: Sequence[int]) -> None:
        """A channel, in the same order of bits."""
        if self.controls:
            raise ValueError("a noise channel stands under no controls")
        self.has_channels = True
        self.rows.append(("kraus", tuple(targets), (len(self.matrices),), (), 0, self.condition))
        self.matrices.append([np.ascontiguousarray(k, complex) for k in operators])

    def measure(self, qubit: int) -> int:
        """The classical bit of a new measurement."""
        self.rows.append(("measure", (qubit,), (self.num_clbits,), (), 0, self.condition))
        self.num_clbits += 1
        return self.num_clbits - 1

    def reset(self, qubit: int) -> None:
        self.rows.append(("reset", (qubit,), (), (), 0, self.condition))

    def act_on(self, bits: Sequence[int], patterns: Sequence[Sequence[int]]) -> bool:
        """Rows that follow act where the classical bits have one of these patterns, each given once: False where there is none,
        so that they never act; a condition that all patterns meet is none."""
        always = len(patterns) == 1 << len(bits)
        self.condition = None if always or not patterns else (tuple(bits), tuple(tuple(pattern) for pattern in patterns))
        return bool(patterns)

    def key(self) -> Any:
        """What circuits of one structure have in common; None where it is too large to be kept."""
        size, texts = 0, []
        for entry in self.matrices:
            for matrix in entry if isinstance(entry, list) else (entry,):
                size += matrix.nbytes
                if size > _MOST_MATRIX_BYTES:
                    return None
                texts.append(matrix.tobytes())
        return self.num_qubits, self.num_clbits, tuple(self.rows), tuple(texts)


class Program:
    """A circuit whose angles are given later."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._functions: OrderedDict[Any, Function] = OrderedDict()
        self.circuit = Circuit(rows.num_qubits, rows.num_clbits)
        slots = []
        for name, targets, angles, controls, values, condition in rows.rows:
            bit = None if condition is None else self._bit_of(condition)
            if name == "measure":
                self.circuit.measure(targets[0], angles[0])
            elif name == "reset":
                self.circuit.reset(targets[0])
            elif name == "unitary":
                self.circuit.unitary(rows.matrices[angles[0]], targets, controls, values, check=False)
            elif name == "kraus":
                self.circuit.kraus(rows.matrices[angles[0]], targets)
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
        self.factors, self.offsets = np.array(columns[2], float), np.array(columns[4], float)
        self.index = np.array(columns[3], int)

    def at(self, values: NDArray[np.float64]) -> Circuit:
        """The circuit at values of the parameters. Raises ValueError where one is not finite."""
        if not len(self.ops):
            return self.circuit
        angles = values[self.index] * self.factors + self.offsets
        bound: Circuit = self.circuit._with_angles(self.ops, self.angles, _finite(angles))
        return bound

    def function(self, key: Any, observables: Sequence[Terms], how: tuple[str, str, int]) -> Function:
        """The circuit of gates as a function of the parameters, with its derivatives; kept under a key of the observables.
        Raises ValueError where it cannot be one: a circuit that measures or resets, a device that has no such functions."""
        found = self._functions.get((key, how))
        if found is None:
            found = Function(self._rows, observables, how)
        self._functions[key, how] = found
        self._functions.move_to_end((key, how))
        while len(self._functions) > _MOST_FUNCTIONS:
            self._functions.popitem(last=False)
        return found

    def _bit_of(self, condition):
        """The classical bit, and its value, that say whether a condition of Rows.act_on holds."""
        bits, patterns = condition
        if len(bits) == 1 and len(patterns) == 1:
            return bits[0], patterns[0][0]
        first = self.circuit._add_clbits(1)
        nodes, total = [], -1
        for pattern in patterns:
            last = -1
            for bit, value in zip(bits, pattern):
                nodes += [(_BITS, _BOOL, 1, -1, -1, bit), (_CONST, _BOOL, 1, -1, -1, value),
                          (_EQUAL, _BOOL, 1, len(nodes), len(nodes) + 1, 0)]
                if last >= 0:
                    nodes.append((_AND, _BOOL, 1, last, len(nodes) - 1, 0))
                last = len(nodes) - 1
            if total >= 0:
                nodes.append((_OR, _BOOL, 1, total, last, 0))
            total = len(nodes) - 1
        self.circuit._assign(first, 1, nodes)
        return first, 1


class Function:
    """Expectations of observables as a function of the parameters of rows. Values are float64[sets, parameters], parameters
    by their numbers; those that no gate holds have derivative 0. `initial` is the state to start from, complex128[2^n], or one
    for each set, [sets, 2^n]; None: |0...0>."""

    def __init__(self, rows: Rows, observables: Sequence[Terms], how: tuple[str, str, int]) -> None:
        circuit = Circuit(rows.num_qubits)
        for name, targets, angles, controls, values, _ in rows.rows:
            if name == "unitary":
                circuit.unitary(rows.matrices[angles[0]], targets, controls, values, check=False)
                continue
            if name in ("measure", "reset", "kraus"):
                raise ValueError("a circuit that measures, resets or is noisy is no function of its parameters")
            circuit.gate(name, targets, [offset if index < 0 else factor * Parameter(str(index)) + offset
                                         for factor, index, offset in angles], controls, values)
        self.columns = np.array([int(name) for name in circuit._parameter_names], int)
        parts = list(zip(*observables)) if observables else [[column] for column in NO_TERMS]
        terms = tuple(np.ascontiguousarray(np.concatenate(part)) for part in parts)
        numbers = np.repeat(np.arange(len(observables), dtype=np.uint32), [len(o[0]) for o in observables])
        self.num_observables = len(observables)
        self._circuit, self._how, self._undo = circuit, how, None
        self._function = _core._Function(circuit, terms, numbers.astype(np.uint32), len(observables), *how)

    def expectations(self, values: NDArray[np.float64], initial: Start = None) -> NDArray[np.float64]:
        """[sets, observables]"""
        found: NDArray[np.float64] = self._function._expectations(*self._given(values, initial))
        return found

    def vjp(self, values: NDArray[np.float64], cotangents: NDArray[np.float64], wants_expectations: bool = False,
            initial: Start = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The expectations where they are wanted, and the derivatives [sets, parameters] of sum_m v_m E_m, v [sets,
        observables]."""
        expectations, gradient = self._function._vjp(*self._given(values, initial), np.ascontiguousarray(cotangents, float),
                                                     wants_expectations)
        return expectations, self._spread(gradient, values)

    def states(self, values: NDArray[np.float64], initial: Start = None) -> NDArray[np.complex128]:
        """[sets, 2^n]"""
        found: NDArray[np.complex128] = self._function._states(*self._given(values, initial))
        return found

    def undone(self, values: NDArray[np.float64], vectors: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """U^dagger v for the unitary U of each set, v [sets, 2^n] of any norm."""
        if self._undo is None:
            inverse = self._circuit.inverse()
            columns = np.array([int(name) for name in inverse._parameter_names], int)
            self._undo = columns, _core._Function(inverse, NO_TERMS, np.zeros(0, np.uint32), 0, *self._how)
        columns, function = self._undo
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = np.divide(vectors, norms, where=norms > 0, out=np.eye(1, vectors.shape[1], dtype=complex).repeat(len(vectors), axis=0))
        found: NDArray[np.complex128] = function._states(np.ascontiguousarray(values[:, columns]), np.ascontiguousarray(unit))
        return found * norms

    def probabilities(self, values: NDArray[np.float64], qubits: Sequence[int], initial: Start = None) -> NDArray[np.float64]:
        """[sets, 2^k] of chosen qubits; bit j of an outcome is qubits[j]."""
        found: NDArray[np.float64] = self._function._probabilities(*self._given(values, initial), np.array(qubits, np.uint32))
        return found

    def samples(self, values: NDArray[np.float64], shots: int, seed: int, initial: Start = None) -> NDArray[np.uint64]:
        """Basis states [sets, shots]."""
        found: NDArray[np.uint64] = self._function._samples(*self._given(values, initial), shots, seed)
        return found

    def state_vjp(self, values: NDArray[np.float64], cotangents: NDArray[np.complex128],
                  initial: Start = None) -> NDArray[np.float64]:
        """The derivatives [sets, parameters] of Re sum_x conj(g_x) psi_x, g [sets, 2^n]."""
        gradient = self._function._state_vjp(*self._given(values, initial), np.ascontiguousarray(cotangents, complex))
        return self._spread(gradient, values)

    def metric_tensor(self, values: NDArray[np.float64], initial: Start = None) -> NDArray[np.float64]:
        """[sets, parameters, parameters]"""
        whole = np.zeros((*values.shape, values.shape[1]))
        whole[np.ix_(range(len(values)), self.columns, self.columns)] = self._function._metric_tensor(*self._given(values, initial))
        return whole

    def _given(self, values, initial):
        start = np.zeros((0, 1), complex) if initial is None else np.ascontiguousarray(np.atleast_2d(initial), complex)
        return _finite(np.ascontiguousarray(values[:, self.columns])), start

    def _spread(self, gradient, values):
        whole = np.zeros(values.shape)
        whole[:, self.columns] = gradient
        return whole


class Programs:
    """Programs of circuits that came before, found by their structure."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Program] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

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
