"""PennyLane's operations as gates of Tilewave, global phases included, so that they hold under controls.

Wire w of n is qubit n - 1 - w: PennyLane's first wire is the highest bit of an index, Tilewave's first qubit the lowest, so
states and matrices agree as they are. Convention of a handler: (operation, qubits in the order of its wires, angles of its
parameters, rows to add to).
"""
from __future__ import annotations

import math

import numpy as np
import pennylane as qml
from pennylane.operation import Operator
from pennylane.ops import Adjoint, Conditional, Controlled, MidMeasure, Pow

from ..programs import Rows, constant as _constant, scaled as _scaled

# What has no cheaper way is taken as a matrix of up to so many wires.
_MOST_MATRIX_WIRES = 3
_MOST_UNITARY_WIRES = 8


# gate of the table, a factor for each angle
_PLAIN = {
    "PauliX": ("x", ()), "PauliY": ("y", ()), "PauliZ": ("z", ()), "Hadamard": ("h", ()), "S": ("s", ()), "T": ("t", ()),
    "SX": ("sx", ()), "PhaseShift": ("p", (1,)), "U1": ("p", (1,)), "RX": ("rx", (1,)), "RY": ("ry", (1,)), "RZ": ("rz", (1,)),
    "U2": ("u2", (1, 1)), "U3": ("u3", (1, 1, 1)), "SWAP": ("swap", ()), "ISWAP": ("iswap", ()), "IsingXX": ("rxx", (1,)),
    "IsingYY": ("ryy", (1,)), "IsingZZ": ("rzz", (1,)),
}
_ADJOINT = {"S": "sdg", "T": "tdg", "SX": "sxdg", "ISWAP": "iswapdg"}
_SELF_ADJOINT = {"PauliX", "PauliY", "PauliZ", "Hadamard", "SWAP", "CNOT", "CZ", "CY", "CH", "CSWAP", "Toffoli", "CCZ",
                 "MultiControlledX", "Identity"}
# controls come first; the gate under them
_CONTROLLED = {
    "CNOT": (1, "x"), "CZ": (1, "z"), "CY": (1, "y"), "CH": (1, "h"), "CSWAP": (1, "swap"), "Toffoli": (2, "x"),
    "CCZ": (2, "z"),
    "CRX": (1, "rx"), "CRY": (1, "ry"), "CRZ": (1, "rz"), "ControlledPhaseShift": (1, "p"),
}


def _identity(op, qubits, angles, rows):
    pass


def _global_phase(op, qubits, angles, rows):
    rows.add("gphase", (), (_scaled(angles[0], -1),))


def _rot(op, qubits, angles, rows):
    for name, angle in zip(("rz", "ry", "rz"), angles):
        rows.add(name, qubits, (angle,))


def _crot(op, qubits, angles, rows):
    for name, angle in zip(("rz", "ry", "rz"), angles):
        rows.add(name, qubits[1:], (angle,), qubits[:1])


def _multi_controlled_x(op, qubits, angles, rows):
    rows.add("x", qubits[-1:], (), qubits[:-1], _bits(op.control_values))


def _corner_phase(values):
    def handler(op, qubits, angles, rows):
        rows.add("gphase", (), (angles[0],), qubits, values)
    return handler


def _ising_xy(op, qubits, angles, rows):
    rows.add("xx_plus_yy", qubits, (_scaled(angles[0], -1), _constant(0)))


def _siswap(op, qubits, angles, rows):
    rows.add("xx_plus_yy", qubits, (_constant(-math.pi / 2), _constant(0)))


def _multi_rz(op, qubits, angles, rows):
    _pauli_string("Z" * len(qubits), qubits, angles, rows)


def _pauli_rot(op, qubits, angles, rows):
    _pauli_string(op.hyperparameters["pauli_word"], qubits, angles, rows)


def _pauli_string(word, qubits, angles, rows):
    """exp(-i angle/2 P): into the basis of Z, the parity onto one qubit, and back."""
    on = [(letter, qubit) for letter, qubit in zip(word, qubits) if letter != "I"]
    if not on:
        return rows.add("gphase", (), (_scaled(angles[0], -0.5),))
    if len(on) == 1:
        return rows.add("r" + on[0][0].lower(), (on[0][1],), angles)
    for letter, qubit in on:
        if letter == "X":
            rows.free("h", (qubit,))
        elif letter == "Y":
            rows.free("sx", (qubit,))
    chain = [qubit for _, qubit in on]
    steps = list(zip(chain[:-2], chain[1:-1]))
    for a, b in steps:
        rows.free("x", (b,), (), (a,))
    rows.add("rzz", chain[-2:], angles)
    for a, b in reversed(steps):
        rows.free("x", (b,), (), (a,))
    for letter, qubit in on:
        if letter == "X":
            rows.free("h", (qubit,))
        elif letter == "Y":
            rows.free("sxdg", (qubit,))


def _single_excitation(op, qubits, angles, rows):
    rows.add("xx_plus_yy", qubits[::-1], (angles[0], _constant(math.pi / 2)))


def _single_excitation_with_phase(sign):
    def handler(op, qubits, angles, rows):
        _single_excitation(op, qubits, angles, rows)
        # e^{i sign angle/2} on even parity
        rows.add("gphase", (), (_scaled(angles[0], sign / 4),))
        rows.add("rzz", qubits, (_scaled(angles[0], -sign / 2),))
    return handler


def _double_excitation(sign):
    """With e^{i sign angle/2} on all other states."""
    def handler(op, qubits, angles, rows):
        # |0011> and |1100> become |0010> and |1010>, which differ in the first qubit only
        a, b, c, d = qubits
        steps = [(a, b), (c, d), (a, c)]
        for control, target in steps:
            rows.free("x", (target,), (), (control,))
        rows.add("ry", (a,), (angles[0],), (b, c, d), 0b010)
        if sign:
            rows.add("gphase", (), (_scaled(angles[0], -sign / 2),), (b, c, d), 0b010)
            rows.add("gphase", (), (_scaled(angles[0], sign / 2),))
        for control, target in reversed(steps):
            rows.free("x", (target,), (), (control,))
    return handler


def _basis_state(op, qubits, angles, rows):
    for qubit, value in zip(qubits, np.asarray(op.parameters[0]).reshape(-1)):
        if int(value):
            rows.add("x", (qubit,))


def _plain(name, gate, factors):
    if all(factor == 1 for factor in factors):
        def handler(op, qubits, angles, rows):
            rows.add(gate, qubits, angles)
    else:
        def handler(op, qubits, angles, rows):
            rows.add(gate, qubits, tuple(_scaled(a, f) for a, f in zip(angles, factors)))
    return handler


def _under_controls(count, gate):
    def handler(op, qubits, angles, rows):
        rows.add(gate, qubits[count:], angles, qubits[:count])
    return handler


_HANDLERS = {
    **{name: _plain(name, *entry) for name, entry in _PLAIN.items()},
    **{name: _under_controls(*entry) for name, entry in _CONTROLLED.items()},
    "Identity": _identity, "Barrier": _identity, "WireCut": _identity, "GlobalPhase": _global_phase, "Rot": _rot, "CRot": _crot,
    "MultiControlledX": _multi_controlled_x, "CPhaseShift00": _corner_phase(0b00), "CPhaseShift01": _corner_phase(0b10),
    "CPhaseShift10": _corner_phase(0b01), "IsingXY": _ising_xy, "SISWAP": _siswap, "SQISW": _siswap, "MultiRZ": _multi_rz,
    "PauliRot": _pauli_rot, "SingleExcitation": _single_excitation,
    "SingleExcitationPlus": _single_excitation_with_phase(1), "SingleExcitationMinus": _single_excitation_with_phase(-1),
    "DoubleExcitation": _double_excitation(0),
    "DoubleExcitationPlus": _double_excitation(1), "DoubleExcitationMinus": _double_excitation(-1), "BasisState": _basis_state,
}
_MATRICES = {"QubitUnitary", "DiagonalQubitUnitary", "BlockEncode", "Projector"}
# Of these a negated angle is the adjoint, and a multiple a power.
_ROTATIONS = {"PhaseShift", "U1", "RX", "RY", "RZ", "IsingXX", "IsingYY", "IsingZZ", "IsingXY", "MultiRZ", "PauliRot",
              "CRX", "CRY", "CRZ", "ControlledPhaseShift", "CPhaseShift00", "CPhaseShift01", "CPhaseShift10",
              "GlobalPhase", "SingleExcitation", "SingleExcitationPlus", "SingleExcitationMinus", "DoubleExcitation",
              "DoubleExcitationPlus", "DoubleExcitationMinus"}


def _bits(values):
    return sum(int(bool(value)) << k for k, value in enumerate(values))


def _handler_of(op):
    handler = _HANDLERS.get(op.name)
    return handler if handler is not None and type(op).__module__.startswith("pennylane") else None


def _is_matrix(op):
    """Whether the operation is taken as a matrix. A batch of them is rather decomposed into gates with a batch of angles:
    PennyLane cannot take every one apart."""
    if op.name in _MATRICES:
        return len(op.wires) <= _MOST_UNITARY_WIRES
    if not op.has_matrix or not op.wires or (op.batch_size is not None and op.has_decomposition):
        return False
    return len(op.wires) <= _MOST_MATRIX_WIRES or (len(op.wires) <= _MOST_UNITARY_WIRES and not op.has_decomposition)


def is_native(op: Operator, allows_measurements: bool = True) -> bool:
    """Whether `add` takes the operation as it is."""
    if isinstance(op, MidMeasure):
        return allows_measurements
    if isinstance(op, Conditional):
        return allows_measurements and is_native(op.base)
    if _handler_of(op) is not None:
        return True
    if isinstance(op, Controlled):
        return is_native(op.base, False)
    if isinstance(op, Adjoint) and (op.base.name in _ADJOINT or op.base.name in _SELF_ADJOINT or op.base.name in _ROTATIONS):
        return True
    if isinstance(op, Pow) and op.base.name in _ROTATIONS:
        return True
    return _is_matrix(op)


def angles_only(op: Operator) -> bool:
    """Whether the operation's parameters are angles of gates, none an entry of a matrix."""
    if isinstance(op, (Conditional, Controlled)):
        return angles_only(op.base)
    if isinstance(op, (Adjoint, Pow)):
        return op.base.name in _ROTATIONS or not op.data
    return not op.data or (_handler_of(op) is not None and op.name != "BasisState")


def add(op: Operator, wires: dict, angles: tuple, rows: Rows) -> None:
    """Adds an operation for which is_native() holds; `wires` are the qubits of wires, `angles` its parameters."""
    qubits = tuple(wires[wire] for wire in op.wires)
    handler = _handler_of(op)
    if handler is not None:
        return handler(op, qubits, angles, rows)
    if isinstance(op, Controlled):
        outside = rows.controls, rows.values
        on = tuple(wires[wire] for wire in op.control_wires)
        rows.values |= _bits(op.control_values) << len(rows.controls)
        rows.controls = (*rows.controls, *on)
        try:
            return add(op.base, wires, angles, rows)
        finally:
            rows.controls, rows.values = outside
    if isinstance(op, Adjoint):
        base = op.base
        if base.name in _SELF_ADJOINT and _handler_of(base):
            return add(base, wires, angles, rows)
        if base.name in _ADJOINT and _handler_of(base):
            return rows.add(_ADJOINT[base.name], qubits)
        if base.name in _ROTATIONS and _handler_of(base):
            return add(base, wires, tuple(_scaled(angle, -1) for angle in angles), rows)
    if isinstance(op, Pow) and op.base.name in _ROTATIONS and _handler_of(op.base):
        return add(op.base, wires, tuple(_scaled(angle, float(op.z)) for angle in angles), rows)
    if op.name == "Projector":
        rows.keeps_norm = False
    return rows.unitary(qml.matrix(op, wire_order=op.wires), qubits[::-1])
