"""Braket's gate operations as rows (tilewave/programs.py), and its observables as Pauli terms.

Qubit k of n is Tilewave's qubit n - 1 - k: Braket's first qubit is the highest bit of an index.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Optional

import numpy as np
import sympy
from braket.default_simulator import gate_operations as gates
from braket.default_simulator import observables
from braket.default_simulator.operation import GateOperation, Observable

from ..programs import Angle, Rows, constant, scaled

_MOST_HERMITIAN_QUBITS = 4  # 4^k strings; larger ones are multiplied with the amplitudes
Terms = list[tuple[float, dict[int, str]]]  # coefficient, letters on Braket's qubits


class NeedsValues(Exception):
    """A conversion needs the values of inputs."""


class Converter:
    """Adds operations to rows. `expressions` are what the parameters of the rows stand for."""

    def __init__(self, num_qubits: int) -> None:
        self.rows = Rows(max(1, num_qubits))
        self.last = max(1, num_qubits) - 1
        self.expressions: list[Any] = []
        self._index: dict[Any, int] = {}

    def angle(self, value: Any) -> Angle:
        """In radians; it may hold symbols."""
        if isinstance(value, sympy.Basic) and value.free_symbols:
            if value not in self._index:
                self._index[value] = len(self.expressions)
                self.expressions.append(value)
            return 1.0, self._index[value], 0.0
        return constant(float(value))

    def add(self, op: GateOperation) -> None:
        rows = self.rows
        if isinstance(op, gates.Projection):
            rows.keeps_norm = False
            return rows.unitary(op.matrix, (self.last - op.targets[0],))
        if isinstance(op, gates.Reset):
            return rows.reset(self.last - op.targets[0])
        qubits = tuple(self.last - target for target in op.targets)
        count = len(op.control_state)
        rows.controls, rows.values = qubits[:count], sum(int(bit) << k for k, bit in enumerate(op.control_state))
        try:
            self._gate(op, qubits[count:])
        finally:
            rows.controls, rows.values = (), 0

    def _gate(self, op, qubits):
        power = op._power
        handler = _HANDLERS.get(type(op))
        if handler is not None and power == 1:
            return handler(self, op, qubits)
        if any(isinstance(value, sympy.Basic) and value.free_symbols for value in vars(op).values()):
            if type(op) in _ROTATIONS and power == int(power):
                return handler(self, _Turned(op, int(power)), qubits)
            raise NeedsValues
        self.rows.unitary(op.matrix, qubits[::-1])


class _Turned:
    """A rotation several times."""

    def __init__(self, op, power):
        self._angle = op._angle * power


def _plain(name):
    return lambda c, op, qubits: c.rows.add(name, qubits)


def _turned(name):
    return lambda c, op, qubits: c.rows.add(name, qubits, (c.angle(op._angle),))


def _under(count, name, is_turned=False):
    def handler(c, op, qubits):
        c.rows.add(name, qubits[count:], (c.angle(op._angle),) if is_turned else (), qubits[:count])
    return handler


def _corner(values):
    return lambda c, op, qubits: c.rows.add("gphase", (), (c.angle(op._angle),), qubits, values)


def _xy(c, op, qubits):
    c.rows.add("xx_plus_yy", qubits, (scaled(c.angle(op._angle), -1), constant(0)))


def _pswap(c, op, qubits):
    angle = c.angle(op._angle)
    c.rows.add("swap", qubits)
    c.rows.add("gphase", (), (scaled(angle, 0.5),))
    c.rows.add("rzz", qubits, (angle,))


def _prx(c, op, qubits):
    c.rows.add("r", qubits, (c.angle(op._angle_1), c.angle(op._angle_2)))


def _gpi(c, op, qubits):
    c.rows.add("gphase", (), (constant(math.pi / 2),))
    c.rows.add("r", qubits, (constant(math.pi), c.angle(op._angle)))


def _gpi2(c, op, qubits):
    c.rows.add("r", qubits, (constant(math.pi / 2), c.angle(op._angle)))


def _ms(c, op, qubits):
    angles = c.angle(op._angle_1), c.angle(op._angle_2)
    for qubit, angle in zip(qubits, angles):
        c.rows.free("rz", (qubit,), (scaled(angle, -1),))
    c.rows.add("rxx", qubits, (c.angle(op._angle_3),))
    for qubit, angle in zip(qubits, angles):
        c.rows.free("rz", (qubit,), (angle,))


def _u(c, op, qubits):
    c.rows.add("u", qubits, (c.angle(op._theta), c.angle(op._phi), c.angle(op._lambda)))


def _nothing(c, op, qubits):
    pass


class SymbolicPhase(gates.GPhase):
    """A global phase whose angle may hold symbols; the default simulator's is a number."""

    def __init__(self, targets: Sequence[int], angle: Any) -> None:
        GateOperation.__init__(self, targets=targets)
        self._angle = angle


def _global_phase(c, op, qubits):
    c.rows.add("gphase", (), (constant(float(np.angle(op.matrix[0, 0]))),))


_HANDLERS: dict[type, Callable[..., Any]] = {
    gates.Identity: _nothing, gates.Hadamard: _plain("h"), gates.PauliX: _plain("x"), gates.PauliY: _plain("y"),
    gates.PauliZ: _plain("z"), gates.S: _plain("s"), gates.Si: _plain("sdg"), gates.T: _plain("t"), gates.Ti: _plain("tdg"),
    gates.V: _plain("sx"), gates.Vi: _plain("sxdg"), gates.CV: _under(1, "sx"), gates.CX: _under(1, "x"),
    gates.CY: _under(1, "y"),
    gates.CZ: _under(1, "z"), gates.CCNot: _under(2, "x"), gates.CSwap: _under(1, "swap"), gates.Swap: _plain("swap"),
    gates.ISwap: _plain("iswap"), gates.PhaseShift: _turned("p"), gates.CPhaseShift: _under(1, "p", True),
    gates.CPhaseShift00: _corner(0b00), gates.CPhaseShift01: _corner(0b10), gates.CPhaseShift10: _corner(0b01),
    gates.RotX: _turned("rx"), gates.RotY: _turned("ry"), gates.RotZ: _turned("rz"), gates.XX: _turned("rxx"),
    gates.YY: _turned("ryy"), gates.ZZ: _turned("rzz"), gates.XY: _xy, gates.PSwap: _pswap, gates.PRx: _prx, gates.GPi: _gpi,
    gates.GPi2: _gpi2, gates.MS: _ms, gates.U: _u, gates.GPhase: _global_phase,
    SymbolicPhase: lambda c, op, qubits: c.rows.add("gphase", (), (c.angle(op._angle),)),
}
_ROTATIONS = {gates.PhaseShift, gates.CPhaseShift, gates.CPhaseShift00, gates.CPhaseShift01, gates.CPhaseShift10, gates.RotX,
              gates.RotY, gates.RotZ, gates.XX, gates.YY, gates.ZZ, gates.XY}


# --- observables

_PAULIS = {"I": np.eye(2), "X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1, -1])}


def hermitian_terms(matrix: np.ndarray, targets: Sequence[int]) -> Terms:
    """A Hermitian matrix as a sum of Pauli strings; the first target is the highest bit of its rows."""
    terms: Terms = []
    for word in itertools.product("IXYZ", repeat=len(targets)):
        product = np.eye(1)
        for letter in word:
            product = np.kron(product, _PAULIS[letter])
        coefficient = float(np.trace(product @ matrix).real / len(matrix))
        if coefficient:
            terms.append((coefficient, {t: letter for t, letter in zip(targets, word) if letter != "I"}))
    return terms


def factor_terms(name: str, target: int) -> Terms:
    """Of i, x, y, z or h."""
    if name == "h":
        return [(0.5 ** 0.5, {target: "X"}), (0.5 ** 0.5, {target: "Z"})]
    return [(1.0, {} if name == "i" else {target: name.upper()})]


def product(parts: Sequence[Terms]) -> Terms:
    """Of factors on different qubits."""
    terms: Terms = [(1.0, {})]
    for part in parts:
        terms = [(a * b, {**letters, **more}) for a, letters in terms for b, more in part]
    return terms


def terms_of(observable: Observable) -> Optional[Terms]:
    """An observable of the default simulator as Pauli strings; None where it is too large a matrix."""
    if isinstance(observable, observables.TensorProduct):
        parts = [terms_of(factor) for factor in observable.factors]
        return None if any(part is None for part in parts) else product(parts)
    if isinstance(observable, observables.Hermitian):
        if len(observable.targets) > _MOST_HERMITIAN_QUBITS:
            return None
        return hermitian_terms(observable.matrix, observable.targets)
    for kind, name in ((observables.Identity, "i"), (observables.PauliX, "x"), (observables.PauliY, "y"),
                       (observables.PauliZ, "z"), (observables.Hadamard, "h")):
        if isinstance(observable, kind):
            return factor_terms(name, observable.measured_qubits[0])
    return None
