"""Qiskit circuits as Tilewave's, without a detour through text.

What an instruction is is asked of its class, never of its name, which is its maker's choice; the name counts only where an
instruction has neither a class of its own nor a definition. Gates of the standard library become the same gate; controlled
gates of any kind keep their controls; a matrix stays a matrix; noise channels stay channels; everything else is replaced by
its definition. Control flow becomes conditional jumps, classical variables lie in classical bits of their own behind the
circuit's.

An operation whose Qiskit label, or name, is not what its gate is called here carries it as its label, for noise models.
"""
from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np
from qiskit.circuit import (AnnotatedOperation, Barrier, ControlledGate, ControlModifier, Delay, InverseModifier, Measure,
                            Parameter, ParameterExpression, PowerModifier, QuantumCircuit, Reset, Store, controlflow)
from qiskit.circuit.library import UnitaryGate
from qiskit.circuit.library.standard_gates import get_standard_gate_name_mapping

from ..aer_noise import channel_operators
from ..angles import ParameterExpression as AffineExpression
from ..circuits import Circuit
from .flow import Flow
from .wide_matrix import controlled_parts

# Names of the standard library that the gate table knows under another name.
_OTHER_NAMES = {"global_phase": "gphase", "rcccx": "rc3x", "c3sx": "c3sqrtx", "mcx": None, "u1": "p", "cu1": "cp"}
_STANDARD = {}
_SAME_NAMES = {"unitary"}  # of both
for _name, _gate in get_standard_gate_name_mapping().items():
    _ours = _OTHER_NAMES.get(_name, _name)
    if _ours is not None and callable(getattr(Circuit, _ours, None)) and not isinstance(_gate, (Measure, Reset, Delay)):
        _STANDARD[_gate.base_class] = _ours
        if _ours == _name and _name != "cu":  # which is two operations where its control acts on 0
            _SAME_NAMES.add(_name)
_MOST_MATRIX_QUBITS = 8  # of one operation
_MOST_WIDE_QUBITS = 10  # of a matrix that becomes several: seven seconds for 10 qubits, three minutes for 11
_OPEN_CONTROLS = re.compile(r"_o\d+$")  # the end of a gate's name where controls act on 0

_METHODS = [(Measure, "measure"), (Reset, "reset"), (Barrier, "barrier"), (Delay, "delay"), (UnitaryGate, "matrix"),
            (AnnotatedOperation, "annotated"), (controlflow.IfElseOp, "flow_if_else"), (controlflow.WhileLoopOp, "flow_while_loop"),
            (controlflow.ForLoopOp, "flow_for_loop"), (controlflow.SwitchCaseOp, "flow_switch_case"),
            (controlflow.BreakLoopOp, "flow_break_loop"), (controlflow.ContinueLoopOp, "flow_continue_loop"),
            (Store, "flow_store")]
if hasattr(controlflow, "BoxOp"):
    _METHODS.append((controlflow.BoxOp, "flow_box"))
_method_of: dict[type, str] = {}


def from_qiskit(circuit: QuantumCircuit, parameter_values: Any = None,
                inputs: Optional[Mapping[str, Union[int, bool]]] = None) -> Circuit:
    """See Circuit.from_qiskit."""
    if parameter_values is not None:
        circuit = assigned(circuit, parameter_values)
    converter = Converter(circuit, symbolic=True)
    converter.out._add_parameters([parameter.name for parameter in circuit.parameters])
    return converter.convert(dict(inputs or {}))


def assigned(circuit: QuantumCircuit, values: Any) -> QuantumCircuit:
    """The circuit at values of its parameters. Raises ValueError where an expression has no finite value there, and where a
    parameter has two values, by its name and by itself."""
    names = [getattr(key, "name", key) for key in values] if isinstance(values, Mapping) else []
    for key in values if len(set(names)) < len(names) else ():
        if isinstance(key, str) and names.count(key) > 1:
            raise ValueError(f"the parameter '{key}' has two values, one by its name and one by itself: give one of them")
    try:
        return circuit.assign_parameters(values)
    except (ArithmeticError, RuntimeError) as error:
        raise no_value(values, "an expression of the circuit") from error


def no_value(values: Any, expression: Any) -> ValueError:
    """The error for an expression that is not finite at values of its parameters, as a/b is at b = 0."""
    shown = values
    if isinstance(values, Mapping):
        shown = ", ".join(f"{getattr(key, 'name', key)}={float(value):g}" if np.ndim(value) == 0 else f"{key}" for key, value in values.items())
    return ValueError(f"{expression} has no finite value at {shown}: give other values of the parameters")


class NeedsValues(Exception):
    """A conversion needs the values of the circuit's parameters."""


class Converter(Flow):
    """Converts one circuit. With ``template`` angles may hold parameters: `slots` then lists them, (operation, angle,
    expression), and anything else that needs a value raises NeedsValues. With ``symbolic`` affine expressions of parameters
    stay in the circuit, and anything else that needs a value raises ValueError."""

    def __init__(self, circuit, template=False, symbolic=False):
        self.circuit, self.template, self.symbolic = circuit, template, symbolic
        self.out = Circuit(circuit.num_qubits)
        self.slots = []
        self.bits = {bit: k for k, bit in enumerate(circuit.clbits)}
        at = 0
        for register in circuit.cregs:
            if [self.bits[bit] for bit in register] == list(range(at, at + len(register))):
                at += len(register)
            else:
                at = -1
                break
        if at == circuit.num_clbits and circuit.cregs:
            for register in circuit.cregs:
                self.out.add_creg(register.name, len(register))
        elif circuit.num_clbits:
            self.out.add_creg("c", circuit.num_clbits)
        self.vars = {}
        self.loops = []

    def convert(self, inputs):
        for var in self.circuit.iter_input_vars():
            if var in inputs and var.name in inputs:
                raise ValueError(f"the input variable '{var.name}' has two values, one by its name and one by itself: give one")
            value = inputs.pop(var, inputs.pop(var.name, None))
            if value is None:
                raise ValueError(f"the input variable '{var.name}' has no value: give one with "
                                 f"inputs={{'{var.name}': value}}")
            self.input(var, value)
        if inputs:
            name = getattr(next(iter(inputs)), "name", next(iter(inputs)))
            raise ValueError(f"the circuit has no input variable '{name}'")
        self.block(self.circuit, range(self.circuit.num_qubits), self.bits)
        return self.out

    # --- structure

    def block(self, circuit, qubits, bits):
        for var in circuit.iter_declared_vars():
            self.declare(var)
        if circuit.global_phase:
            self.add("gphase", [], [circuit.global_phase])
        index = {bit: qubits[k] for k, bit in enumerate(circuit.qubits)}
        for item in circuit.data:
            self.instruction(item.operation, [index[q] for q in item.qubits], item.clbits, bits)

    def body(self, body, qubits, clbits, bits):
        """A block of control flow: its bits are those it is called with, or bits of the circuits around."""
        self.block(body, qubits, {**bits, **{inner: bits[outer] for inner, outer in zip(body.clbits, clbits)}})

    def instruction(self, op, qubits, clbits, bits):
        method = _method_of.get(type(op))
        if method is None:
            method = _method_of[type(op)] = _find_method(op)
        act = getattr(self, method)
        condition = None if method.startswith("flow_") else getattr(op, "condition", None)
        if condition is not None:
            return self.branch(condition, lambda: act(op, qubits, clbits, bits), None, bits)
        return act(op, qubits, clbits, bits)

    def measure(self, op, qubits, clbits, bits):
        for qubit, clbit in zip(qubits, clbits):
            self.out.measure(qubit, bits[clbit])

    def reset(self, op, qubits, clbits, bits):
        for qubit in qubits:
            self.out.reset(qubit)

    def barrier(self, op, qubits, clbits, bits):
        self.out.barrier()

    def delay(self, op, qubits, clbits, bits):
        first = len(self.out)
        for qubit in qubits:
            self.out.id(qubit)
        self.label_from(first, "delay")

    # --- gates

    def add(self, name, qubits, params=(), controls=(), values=None):
        """A gate of the table; an angle that has no value yet becomes a slot."""
        angles = []
        for k, param in enumerate(params):
            if self.template and isinstance(param, ParameterExpression) and param.parameters:
                self.slots.append((len(self.out), k, param))
                param = 0.5
            if self.symbolic and isinstance(param, ParameterExpression) and param.parameters:
                angles.append(affine_angle(param))
                continue
            angles.append(_number(param))
        self.out.gate(name, qubits, angles, controls, values)

    def label_from(self, first, label):
        self.out._label_from(first, self.out._add_label(label))

    def name_from(self, first, op):
        """What noise models call the operations from `first` on, where that is not what they are called here."""
        name = op.label or _OPEN_CONTROLS.sub("", op.name)
        if name not in _SAME_NAMES or op.label:
            self.label_from(first, name)

    def standard(self, op, qubits, clbits, bits):
        name = _STANDARD[op.base_class]
        if isinstance(op, ControlledGate) and op.ctrl_state != (1 << op.num_ctrl_qubits) - 1:
            return self.controlled(op, qubits, clbits, bits)
        self.add(name, qubits, op.params)
        if qubits and (op.label or op.name != name):
            self.name_from(len(self.out) - 1, op)

    def controlled(self, op, qubits, clbits, bits):
        controls, values, base = [], 0, op
        rest = list(qubits)
        while isinstance(base, ControlledGate):
            n = base.num_ctrl_qubits
            values |= base.ctrl_state << len(controls)
            controls, rest, base = controls + rest[:n], rest[n:], base.base_gate
        if base.num_qubits != len(rest):  # its targets are not the base gate's
            return self.generic(op, qubits, clbits, bits)
        kind, params, first = getattr(base, "base_class", type(base)), list(op.params), len(self.out)
        if _STANDARD.get(kind) == "u" and len(params) == 4:  # cu: its fourth angle is a phase under the controls
            self.add("gphase", [], [params.pop()], controls, values)
            self.label_from(first, "a part of " + op.name)
            first += 1
            self.add("u", rest, params, controls, values)
        elif kind in _STANDARD:
            self.add(_STANDARD[kind], rest, base.params, controls, values)
        elif not _has_parameters(op) and getattr(base.definition, "parameters", ()):  # Qiskit bound the controlled gate alone
            return self.generic(op, qubits, clbits, bits)
        elif base.num_qubits > _MOST_MATRIX_QUBITS or self.is_replaced(base):
            part = QuantumCircuit(base.num_qubits)
            part.append(base, range(base.num_qubits))
            self.part(part, rest, controls, values)
            if len(self.out) != first + 1:
                return self.out._add_replaced(op.label or _OPEN_CONTROLS.sub("", op.name))
        else:
            self.out.unitary(self.matrix_of(base), rest, controls, values, check=False)  # Qiskit has
        self.name_from(first, op)

    def matrix(self, op, qubits, clbits, bits):
        first = len(self.out)
        if self.unitary(self.matrix_of(op), qubits):
            self.name_from(first, op)
        else:
            self.out._add_replaced(op.label or op.name)

    def unitary(self, matrix, qubits, controls=(), values=0):
        """A matrix, which Qiskit has checked; whether it is one operation."""
        if len(qubits) <= _MOST_MATRIX_QUBITS:
            self.out.unitary(matrix, qubits, list(controls), values, check=False)
            return True
        for part, own, further in controlled_parts(matrix, len(qubits), _MOST_MATRIX_QUBITS):
            on = values | sum(value << len(controls) + j for j, value in enumerate(further.values()))
            self.out.unitary(part, [qubits[j] for j in own], [*controls, *(qubits[j] for j in further)], on, check=False)
        return False

    def annotated(self, op, qubits, clbits, bits):
        """A gate under modifiers: controls, which commute with the others, and powers (of which an inverse is one), which
        do so where they are whole."""
        controls, values, powers, rest = [], 0, [], list(qubits)
        for modifier in reversed(op.modifiers):  # the last controls are the first qubits
            if isinstance(modifier, ControlModifier):
                n = modifier.num_ctrl_qubits
                values |= modifier.ctrl_state << len(controls)
                controls, rest = controls + rest[:n], rest[n:]
            elif isinstance(modifier, InverseModifier):
                powers.append(-1)
            elif isinstance(modifier, PowerModifier):
                powers.append(modifier.power)
            else:
                raise ValueError(f"instruction '{op.name}' is not supported: it has the modifier {modifier!r}")
        powers = _joined(reversed(powers))
        if all(power == int(power) for power in powers):
            part = QuantumCircuit(op.base_op.num_qubits)
            part.append(op.base_op, range(part.num_qubits))
            return self.part(part, rest, controls, values, math.prod(map(int, powers)))
        from qiskit.quantum_info import Operator
        matrix = Operator(self.matrix_of(op.base_op))
        for power in powers:
            matrix = matrix.power(int(power) if power == int(power) else power)
        self.unitary(np.ascontiguousarray(matrix.data), rest, controls, values)

    def part(self, part, qubits, controls, values, power=1):
        """A unitary circuit, under controls and several times."""
        circuit = Converter(part, symbolic=self.symbolic).convert({})
        if power < 0:
            circuit = circuit.inverse()
        for _ in range(abs(power)):
            self.out._append_controlled(circuit, qubits, controls, values)

    def other(self, op, qubits, clbits, bits):
        """What is no instruction but can become one, as a Clifford."""
        if not hasattr(op, "to_instruction"):
            raise ValueError(f"instruction '{op.name}' ({type(op).__name__}) is not supported: it has neither definition nor matrix")
        return self.instruction(op.to_instruction(), qubits, clbits, bits)

    def generic(self, op, qubits, clbits, bits):
        error = getattr(op, "_quantum_error", None)  # Aer's, whose definition knows less
        if error is not None and hasattr(error, "to_dict"):
            return self.out._kraus("kraus", channel_operators(error.to_dict(), len(qubits)), qubits)
        if op.definition is not None:
            self.out._add_replaced(op.label or op.name)
            inner = {**bits, **{a: bits[b] for a, b in zip(op.definition.clbits, clbits)}}
            return self.block(op.definition, qubits, inner)
        if op.name == "measure" and len(qubits) == len(clbits):
            return self.measure(op, qubits, clbits, bits)
        if op.name in ("reset", "barrier", "delay") and not clbits:
            return getattr(self, op.name)(op, qubits, clbits, bits)
        if op.name == "kraus":
            return self.out._kraus("kraus", [np.ascontiguousarray(k, complex) for k in op.params], qubits)
        if op.name == "superop":
            from qiskit.quantum_info import Kraus, SuperOp
            return self.out._kraus("kraus", [np.ascontiguousarray(k) for k in Kraus(SuperOp(op.params[0])).data], qubits)
        if op.name.startswith(("save_", "snapshot")) and type(op).__module__.startswith("qiskit_aer"):
            raise ValueError(f"instruction '{op.name}' is an answer of Aer's, which a circuit here does not hold: leave it out, and ask "
                             "tilewave.simulate(circuit) for the state, tilewave.run for probabilities, or an EstimatorV2")
        return self.matrix(op, qubits, clbits, bits)

    def is_replaced(self, op):
        """Whether its definition takes its place where it has no controls. Its matrix may be another: the definition of an
        evolution is a product formula."""
        return _find_method(op) == "generic" and op.definition is not None and not _has_parameters(op)

    def matrix_of(self, op):
        if self.template and _has_parameters(op):
            raise NeedsValues
        if self.symbolic and _has_parameters(op):
            raise ValueError(f"instruction '{op.name}' has parameters without values, which only angles of gates may have: "
                             "give parameter_values, or use assign_parameters first")
        return _matrix(op)


def _find_method(op):
    for kind, method in _METHODS:
        if isinstance(op, kind):
            return method
    if getattr(op, "base_class", type(op)) in _STANDARD:
        return "standard"
    if isinstance(op, ControlledGate):
        return "controlled"
    return "generic" if hasattr(op, "definition") else "other"


def _number(value):
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, ParameterExpression):
        if value.parameters:
            names = ", ".join(sorted(p.name for p in value.parameters))
            raise ValueError(f"parameter {names} has no value: give parameter_values, or use assign_parameters first")
        value = value.numeric()
    if isinstance(value, complex):
        if abs(value.imag) > 1e-12:
            raise ValueError(f"an angle is complex: {value}")
        value = value.real
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"an angle is not a finite number: {value}")
    return value


def affine_angle(expression: ParameterExpression) -> AffineExpression:
    """An angle of ours. Raises ValueError where it is no affine expression."""
    linear = linear_parts(expression)
    if linear is None:
        names = ", ".join(sorted(p.name for p in expression.parameters))
        raise ValueError(f"the angle {expression} is not affine in the parameters {names}, so it needs values: give "
                         "parameter_values, or use assign_parameters first")
    return AffineExpression(linear[0], {parameter.name: weight for parameter, weight in linear[1].items()})


def linear_parts(expression: ParameterExpression) -> Optional[tuple[float, dict[Any, float]]]:
    """The constant and the weights of a linear expression; None for another."""
    if isinstance(expression, Parameter):
        return 0.0, {expression: 1.0}
    weights = {}
    for parameter in expression.parameters:
        try:
            weight = expression.gradient(parameter)
        except RuntimeError:  # of a function that Qiskit does not differentiate, as sign(a)
            return None
        if isinstance(weight, ParameterExpression):
            if weight.parameters:
                return None
            weight = weight.numeric()
        if isinstance(weight, complex):
            return None
        weights[parameter] = float(weight)
    for at in (0.0, 1.0):  # a*a/a has no value at 0
        try:
            value = _number(expression.bind({parameter: at for parameter in expression.parameters}))
        except (ArithmeticError, RuntimeError, ValueError):
            continue
        return value - at * sum(weights.values()), weights
    return None


def _joined(powers):
    """Powers that are taken one after the other, the first one first, as few of them. A root is the principal one, so that
    the square of a root is the gate, but the root of a square need not be: (Z^2)^(1/2) is the identity."""
    joined = []
    for power in powers:
        joined.append(power)
        while len(joined) > 1 and joined[-1] == int(joined[-1]):
            last = joined.pop()
            joined[-1] *= last
    return joined


def _has_parameters(op):
    return any(isinstance(p, ParameterExpression) and p.parameters for p in op.params)


def _matrix(op):
    if op.num_qubits > _MOST_WIDE_QUBITS:
        raise ValueError(f"instruction '{op.name}' is a matrix on {op.num_qubits} qubits: at most {_MOST_WIDE_QUBITS} are "
                         "supported, so give it as gates, or as a gate with a definition")
    if getattr(op, "num_clbits", 0):
        raise ValueError(f"instruction '{op.name}' is not supported: it has no definition")
    try:
        if isinstance(op, UnitaryGate):
            return np.ascontiguousarray(op.params[0], complex)
        from qiskit.quantum_info import Operator
        return np.ascontiguousarray(Operator(op).data, complex)
    except Exception as error:
        raise ValueError(f"instruction '{op.name}' is not supported: it has neither definition nor matrix") from error
