"""Cirq's circuits as rows (tilewave/programs.py), global phases included.

Qubit k of the order is Tilewave's qubit n - 1 - k: Cirq's first qubit is the highest bit of an index. A power of a gate is
rotations at multiples of its exponent, whatever its value, so a circuit with symbols is converted once. An operation is
asked, in this order, whether it is a known gate, a channel, whether it has a matrix of up to three qubits, a decomposition,
and a matrix of up to eight.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Optional

import cirq
import numpy as np
import sympy

from ..circuits import Circuit
from ..programs import Angle, Program, Rows, constant

_MOST_EARLY_MATRIX_QUBITS = 3
_MOST_MATRIX_QUBITS = 8
_MOST_CONDITION_BITS = 16


class NeedsValues(Exception):
    """A conversion needs the values of symbols."""


class Measured:
    """One measurement of a key: its classical bits, in the order of the qubits, and what is done to them afterwards."""

    def __init__(self, bits: tuple[int, ...], qubits: Sequence[cirq.Qid], inverted: tuple[bool, ...], confusion: Any) -> None:
        self.bits, self.qubits, self.inverted, self.confusion = bits, tuple(qubits), inverted, confusion


class Converter:
    """Converts a circuit for qubits in order. `rows` is the result, `expressions` are what its parameters stand for,
    `keys` the measurements of every key, and `ends` where the rows of each moment end."""

    def __init__(self, circuit: cirq.AbstractCircuit, order: Sequence[cirq.Qid]) -> None:
        for qubit in order:
            if qubit.dimension != 2:
                raise ValueError(f"{qubit!r} has {qubit.dimension} levels: only qubits of two are supported")
        self.qubits = {qubit: len(order) - 1 - k for k, qubit in enumerate(order)}
        self.names = {number: qubit for qubit, number in self.qubits.items()}
        self.rows = Rows(max(1, len(order)))
        self.expressions: list[Any] = []
        self._index: dict[Any, int] = {}
        self.keys: dict[str, list[Measured]] = {}
        self.ends: list[int] = []
        for moment in circuit:
            for op in moment:
                self.operation(op)
            self.ends.append(len(self.rows.rows))

    def angle(self, value: Any, factor: float = math.pi) -> Angle:
        """factor * value, which may hold symbols."""
        if isinstance(value, sympy.Basic) and value.free_symbols:
            if value not in self._index:
                self._index[value] = len(self.expressions)
                self.expressions.append(value)
            return factor, self._index[value], 0.0
        return constant(factor * _number(value))

    # --- operations

    def operation(self, op: cirq.Operation) -> None:
        op = op.untagged
        if isinstance(op, cirq.ClassicallyControlledOperation):
            return self.steered(op)
        if isinstance(op, cirq.CircuitOperation):
            return self.subcircuit(op)
        if isinstance(op, cirq.ControlledOperation):
            return self.controlled(op.controls, op.control_values, op.sub_operation)
        gate = op.gate
        if isinstance(gate, cirq.ControlledGate):
            count = gate.num_controls()
            return self.controlled(op.qubits[:count], gate.control_values, gate.sub_gate.on(*op.qubits[count:]))
        qubits = tuple(self.qubits[q] for q in op.qubits)
        handler = _find_handler(type(gate))
        if handler is not None:
            return handler(self, gate, qubits)
        self.unknown(op, qubits)

    def unknown(self, op, qubits):
        parametrized = cirq.is_parameterized(op)
        if not parametrized:
            if not cirq.has_unitary(op):
                return self.channel(op, qubits)
            if len(qubits) <= _MOST_EARLY_MATRIX_QUBITS:
                return self.matrix(op, qubits)
        parts = cirq.decompose_once(op, None)
        if parts is not None:
            for part in parts:
                self.operation(part)
            return None
        if parametrized:
            raise NeedsValues
        return self.matrix(op, qubits)

    def matrix(self, op, qubits):
        if len(qubits) > _MOST_MATRIX_QUBITS:
            raise NotImplementedError(f"a matrix on {len(qubits)} qubits is too large: at most {_MOST_MATRIX_QUBITS} are "
                                      f"supported ({op!r} has no decomposition)")
        self.rows.unitary(_unitary(op), qubits[::-1])

    def channel(self, op, qubits):
        if cirq.is_measurement(op):  # it may be made of measurements, or keep which operator was drawn
            parts = cirq.decompose_once(op, None)
            if parts is None:
                raise ValueError(f"{op!r} writes which operator was drawn into a measurement key, which is not supported")
            for part in parts:
                self.operation(part)
            return
        if cirq.has_kraus(op):
            side = 2 ** len(qubits)
            self.rows.kraus([np.reshape(k, (side, side)) for k in cirq.kraus(op)], qubits[::-1])
            return
        parts = cirq.decompose_once(op, None)
        if parts is None:
            raise TypeError(f"TilewaveSimulator doesn't support {op!r}: it has neither a unitary, Kraus operators nor a "
                            "decomposition")
        for part in parts:
            self.operation(part)

    def controlled(self, controls, values, op):
        outside = self.rows.controls, self.rows.values
        on = tuple(self.qubits[q] for q in controls)
        first = len(self.rows.rows)
        try:
            for product in values.expand():  # each adds the operation under one assignment
                bits = sum(int(value) << k for k, value in enumerate(product))
                self.rows.values = outside[1] | bits << len(outside[0])
                self.rows.controls = (*outside[0], *on)
                self.operation(op)
        finally:
            self.rows.controls, self.rows.values = outside
        if any(row[0] in ("measure", "reset", "kraus") for row in self.rows.rows[first:]):
            raise ValueError(f"{op!r} cannot be under controls: it is not unitary")

    def subcircuit(self, op):
        if op.repeat_until is not None:
            raise ValueError("a CircuitOperation with repeat_until is not supported: how often it runs would depend on what is "
                             "measured")
        if cirq.is_parameterized(op.repetitions):
            raise NeedsValues
        for inner in op.mapped_circuit(deep=True).all_operations():
            self.operation(inner)

    def steered(self, op):
        """An operation under classical conditions, as the patterns of bits for which all of them hold."""
        names, records = [], []
        for condition in op.classical_controls:
            for key in condition.keys:
                if str(key) not in self.keys:
                    raise ValueError(f"Measurement key {key} missing when testing classical control")
                if str(key) not in names:
                    names.append(str(key))
                    records.append(self.keys[str(key)])
        measured = [m for several in records for m in several]
        if any(m.confusion for m in measured):
            raise ValueError("a classical control on a measurement with a confusion map is not supported")
        bits = tuple(bit for m in measured for bit in m.bits)
        if len(bits) > _MOST_CONDITION_BITS:
            raise ValueError(f"a classical control on {len(bits)} bits is not supported: at most {_MOST_CONDITION_BITS}")
        patterns = []
        for pattern in itertools.product((0, 1), repeat=len(bits)):
            data, at = cirq.ClassicalDataDictionaryStore(), 0
            for name, several in zip(names, records):
                for m in several:
                    values = [b ^ int(i) for b, i in zip(pattern[at:at + len(m.bits)], m.inverted)]
                    at += len(m.bits)
                    data.record_measurement(cirq.MeasurementKey.parse_serialized(name), values,
                                            cirq.LineQubit.range(len(values)))
            if all(condition.resolve(data) for condition in op.classical_controls):
                patterns.append(pattern)
        if self.rows.condition is not None:
            raise ValueError("classical controls inside classical controls are not supported: give one list of conditions")
        inner = op.without_classical_controls()
        if cirq.is_measurement(inner):
            raise ValueError("a measurement under a classical control is not supported: its key might have no result")
        try:
            if self.rows.act_on(bits, patterns):
                self.operation(inner)
        finally:
            self.rows.condition = None

    def measure(self, gate, qubits):
        key = cirq.measurement_key_name(gate)
        several = self.keys.setdefault(key, [])
        if several and len(several[0].bits) != len(qubits):
            raise ValueError(f"repeated key {key!r} with different numbers of qubits: {len(several[0].bits)} and {len(qubits)}")
        several.append(Measured(tuple(self.rows.measure(q) for q in qubits), [self.names[q] for q in qubits],
                                tuple(gate.full_invert_mask()), dict(gate.confusion_map)))

    # --- gates

    def phase(self, *parts: tuple[Any, float]) -> None:
        """e^{i factor value} for each."""
        for value, factor in parts:
            if factor:
                self.rows.add("gphase", (), (self.angle(value, factor),))

    def power(self, gate: Any, qubits: tuple[int, ...], rotation: str, powers: Any = None) -> None:
        """A power of a Pauli matrix (or a product of two): a rotation with the phase e^{i pi t (1/2 + shift)}."""
        t, shift = gate.exponent, gate.global_shift
        if powers is not None and shift == 0 and not isinstance(t, sympy.Basic) and t in powers:
            return self.rows.add(powers[t], qubits)
        self.phase((t, math.pi * (shift + 0.5)))
        self.rows.add(rotation, qubits, (self.angle(t),))


def _unitary(op):
    value = op.gate if op.gate is not None else op
    if hasattr(value, "_unitary_") or not hasattr(value, "_apply_unitary_"):
        return cirq.unitary(op)
    # vector by vector, as Cirq's simulator applies it: such a method need not be right for the tensor of a whole matrix
    count, columns = cirq.num_qubits(op), []
    for k in range(2 ** count):
        vector = np.eye(2 ** count, dtype=complex)[k].reshape((2,) * count)
        arguments = cirq.ApplyUnitaryArgs(vector, np.empty_like(vector), range(count))
        columns.append(cirq.apply_unitary(op, arguments).reshape(-1).copy())
    return np.array(columns).T


def _number(value):
    if isinstance(value, sympy.Basic):
        value = complex(value)
    if isinstance(value, (complex, np.complexfloating)):
        if abs(value.imag) > 1e-12:
            raise ValueError(f"a parameter is complex: {value}")
        value = value.real
    return float(value)


# --- handlers: (converter, gate, qubits)

def _pauli_power(rotation, powers=None):
    return lambda c, gate, qubits: c.power(gate, qubits, rotation, powers)


def _z_power(c, gate, qubits):
    t, shift = gate.exponent, gate.global_shift
    if shift == -0.5:
        return c.rows.add("rz", qubits, (c.angle(t),))
    c.phase((t, math.pi * shift))
    if not isinstance(t, sympy.Basic) and t in (0.25, 0.5, 1, -0.25, -0.5):
        return c.rows.add({0.25: "t", 0.5: "s", 1: "z", -0.25: "tdg", -0.5: "sdg"}[float(t)], qubits)
    c.rows.add("p", qubits, (c.angle(t),))


def _h_power(c, gate, qubits):
    t = gate.exponent
    c.phase((t, math.pi * gate.global_shift))
    if not isinstance(t, sympy.Basic) and t == 1:
        return c.rows.add("h", qubits)
    c.rows.free("ry", qubits, (constant(-math.pi / 4),))
    c.rows.add("p", qubits, (c.angle(t),))
    c.rows.free("ry", qubits, (constant(math.pi / 4),))


def _under(count, name, conjugate=None):
    """A power of a gate with so many controls: diag(1, ..., 1, e^{i pi t}) on the target, in another basis."""
    def handler(c, gate, qubits):
        t = gate.exponent
        c.phase((t, math.pi * getattr(gate, "global_shift", 0)))
        if not isinstance(t, sympy.Basic) and t == 1:
            return c.rows.add(name, qubits[count:], (), qubits[:count])
        if conjugate:
            c.rows.free(conjugate, qubits[count:])
        c.rows.add("p", qubits[count:], (c.angle(t),), qubits[:count])
        if conjugate:
            c.rows.free(conjugate, qubits[count:])
    return handler


def _swap_power(c, gate, qubits):
    t = gate.exponent
    if not isinstance(t, sympy.Basic) and t == 1 and gate.global_shift == 0:
        return c.rows.add("swap", qubits)
    c.phase((t, math.pi * (gate.global_shift + 0.25)))
    for name in ("rxx", "ryy", "rzz"):
        c.rows.add(name, qubits, (c.angle(t, math.pi / 2),))


def _iswap_power(c, gate, qubits):
    t = gate.exponent
    c.phase((t, math.pi * gate.global_shift))
    if not isinstance(t, sympy.Basic) and t in (1, -1):
        return c.rows.add("iswap" if t == 1 else "iswapdg", qubits)
    c.rows.add("xx_plus_yy", qubits, (c.angle(t, -math.pi), constant(0)))


def _phased_x_power(c, gate, qubits):
    t, p = gate.exponent, gate.phase_exponent
    c.phase((t, math.pi * (gate.global_shift + 0.5)))
    c.rows.add("r", qubits, (c.angle(t), c.angle(p)))


def _phased_xz(c, gate, qubits):
    x, z, a = gate.x_exponent, gate.z_exponent, gate.axis_phase_exponent
    c.phase((x, math.pi / 2))
    c.rows.add("r", qubits, (c.angle(x), c.angle(a)))
    c.rows.add("p", qubits, (c.angle(z),))


def _phased_iswap_power(c, gate, qubits):
    t, p = gate.exponent, gate.phase_exponent
    # <01|U|10> = i sin(pi t/2) e^{2 pi i p}, the first qubit the left one
    c.phase((t, math.pi * gate.global_shift))
    c.rows.add("xx_plus_yy", qubits, (c.angle(t, -math.pi), c.angle(p, 2 * math.pi)))


def _fsim(c, gate, qubits):
    c.rows.add("fsim", qubits, (c.angle(gate.theta, 1.0), c.angle(gate.phi, 1.0)))


def _swap_under_one(c, gate, qubits):
    c.rows.add("swap", qubits[1:], (), qubits[:1])


def _nothing(c, gate, qubits):
    pass


def _global_phase(c, gate, qubits):
    if cirq.is_parameterized(gate):
        raise NeedsValues
    c.rows.add("gphase", (), (constant(float(np.angle(complex(gate.coefficient)))),))


def _reset(c, gate, qubits):
    for qubit in qubits:
        c.rows.reset(qubit)


_HANDLERS: dict[type, Callable[..., Any]] = {
    cirq.XPowGate: _pauli_power("rx", {1: "x", 0.5: "sx", -0.5: "sxdg"}), cirq.YPowGate: _pauli_power("ry", {1: "y"}),
    cirq.ZPowGate: _z_power, cirq.HPowGate: _h_power, cirq.CXPowGate: _under(1, "x", "h"), cirq.CZPowGate: _under(1, "z"),
    cirq.CCXPowGate: _under(2, "x", "h"), cirq.CCZPowGate: _under(2, "z"), cirq.SwapPowGate: _swap_power,
    cirq.ISwapPowGate: _iswap_power, cirq.XXPowGate: _pauli_power("rxx"), cirq.YYPowGate: _pauli_power("ryy"),
    cirq.ZZPowGate: _pauli_power("rzz"), cirq.PhasedXPowGate: _phased_x_power, cirq.PhasedXZGate: _phased_xz,
    cirq.PhasedISwapPowGate: _phased_iswap_power, cirq.FSimGate: _fsim, cirq.CSwapGate: _swap_under_one,
    cirq.IdentityGate: _nothing, cirq.WaitGate: _nothing, cirq.GlobalPhaseGate: _global_phase, cirq.ResetChannel: _reset,
    cirq.MeasurementGate: Converter.measure,
}
_found: dict[type, Optional[Callable[..., Any]]] = {}


def _find_handler(kind):
    if kind not in _found:
        # of a class that is made from one of these and changes what it does, nothing is known
        known = next((base for base in kind.__mro__ if base in _HANDLERS), None)
        inside = kind.__module__.startswith("cirq.")
        _found[kind] = _HANDLERS[known] if known is not None and (inside or kind is known) else None
    return _found[kind]


def from_cirq(circuit: cirq.AbstractCircuit, qubit_order: Any = cirq.QubitOrder.DEFAULT,
              param_resolver: Any = None) -> Circuit:
    """Cirq's circuit as a tilewave.Circuit; its first qubit is the highest bit of an index, qubit n - 1. Measurement keys
    become classical bits in the order of the measurements. Raises ValueError for symbols without a value."""
    resolved = cirq.resolve_parameters(circuit, param_resolver)
    if cirq.is_parameterized(resolved):
        names = ", ".join(sorted(cirq.parameter_names(resolved)))
        raise ValueError(f"the symbols {names} have no value: give param_resolver")
    converter = Converter(resolved, cirq.QubitOrder.as_qubit_order(qubit_order).order_for(resolved.all_qubits()))
    return Program(converter.rows).circuit
