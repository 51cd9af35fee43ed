"""Braket's interpreter of OpenQASM 3, with the language's meaning of modifiers on gates that the program declares.

The interpreter hands modifiers to each statement of a gate's body. That is no power of a product, and a global phase in
the body gets neither the controls nor the inverse. Here a modified call becomes one of a gate whose body holds both.
"""
from __future__ import annotations

from copy import deepcopy
from typing import Any

from braket.default_simulator.openqasm.interpreter import Interpreter
from braket.default_simulator.openqasm.parser.openqasm_ast import (
    BinaryExpression,
    BinaryOperator,
    FloatLiteral,
    GateModifierName,
    Identifier,
    QuantumGate,
    QuantumGateModifier,
    QuantumPhase,
    UnaryExpression,
    UnaryOperator,
)

_MOST_REPEATS = 100_000
_CONTROLS = GateModifierName.ctrl, GateModifierName.negctrl
_PI = 3.141592653589793


class Reader(Interpreter):
    def visit(self, node: Any) -> Any:
        if not isinstance(node, (QuantumGate, QuantumPhase)):
            return super().visit(node)
        for statement in self._plain(node):
            super().visit(statement)

    def inline_gate_def_body(self, body: list[Any]) -> list[Any]:
        return super().inline_gate_def_body([plain for statement in body for plain in self._plain(statement)])

    def _plain(self, statement):
        """Statements of the same effect, with modifiers that the interpreter takes as the language means them."""
        if isinstance(statement, QuantumPhase):
            return self._plain_phase(statement)
        gate = statement.name.name
        if not statement.modifiers or self.context.is_builtin_gate(gate):
            return [statement]
        power = self._power(statement, gate)
        controls = [mod for mod in statement.modifiers if mod.modifier in _CONTROLS]
        definition = self.context.get_gate_definition(gate)
        if len(controls) == len(statement.modifiers) and not any(isinstance(s, QuantumPhase) for s in definition.body):
            return [statement]
        definition = deepcopy(definition)
        if controls:
            definition.body = [gate for s in definition.body for gate in _phase_gates(s, definition.qubits[0])]
        if power < 0:
            definition.body = [_inverse(s) for s in reversed(definition.body)]
        definition.body = [deepcopy(s) for _ in range(abs(power)) for s in definition.body]
        definition.name = Identifier(gate + ("" if power == 1 else f"^{power}") + (" controlled" if controls else ""))
        self.context.add_gate(definition.name.name, definition)
        return [QuantumGate(controls, definition.name, statement.arguments, statement.qubits)]

    def _power(self, statement, gate):
        power = 1
        for modifier in statement.modifiers:
            if modifier.modifier == GateModifierName.inv:
                power = -power
            elif modifier.modifier == GateModifierName.pow:
                value = getattr(self.visit(deepcopy(modifier.argument)), "value", None)
                if not isinstance(value, (int, float)) or value != int(value):
                    raise ValueError(f"pow @ {gate}: gates that the program declares take whole powers, as numbers")
                power *= int(value)
        if abs(power) > _MOST_REPEATS:
            raise ValueError(f"pow({power}) @ {gate}: at most {_MOST_REPEATS} times")
        return power

    def _plain_phase(self, phase):
        """Without powers, and with no control on 0 as the last one, which becomes the qubit of a gate."""
        modifiers, angle = [], phase.argument
        for modifier in phase.modifiers:
            if modifier.modifier == GateModifierName.pow:
                angle = BinaryExpression(BinaryOperator["*"], angle, modifier.argument)
            elif modifier.modifier == GateModifierName.inv:
                angle = UnaryExpression(UnaryOperator["-"], angle)
            else:
                modifiers.append(modifier)
        last = modifiers[-1] if modifiers else None
        if last is None or last.modifier != GateModifierName.negctrl:
            return [QuantumPhase(modifiers, angle, phase.qubits)]
        modifiers.append(QuantumGateModifier(GateModifierName.ctrl, None))
        count = 1 if last.argument is None else self.visit(deepcopy(last.argument)).value
        if count > 1:
            modifiers[-2] = QuantumGateModifier(GateModifierName.negctrl, type(last.argument)(count - 1))
        else:
            del modifiers[-2]
        flip = _flip(phase.qubits[-1])
        return [flip, QuantumPhase(modifiers, angle, phase.qubits), deepcopy(flip)]


def _flip(qubit):
    return QuantumGate([], Identifier("U"), [FloatLiteral(_PI), FloatLiteral(0), FloatLiteral(_PI)], [qubit])


def _phase_gates(statement, qubit):
    """A global phase as gates of a qubit, which may be controlled: the phase of 1, and that of 0."""
    if not isinstance(statement, QuantumPhase):
        return [statement]
    one = QuantumGate([], Identifier("U"), [FloatLiteral(0), FloatLiteral(0), statement.argument], [qubit])
    return [deepcopy(s) for s in (one, _flip(qubit), one, _flip(qubit))]


def _inverse(statement):
    if isinstance(statement, QuantumPhase):
        return QuantumPhase(statement.modifiers, UnaryExpression(UnaryOperator["-"], statement.argument), statement.qubits)
    statement.modifiers.insert(0, QuantumGateModifier(GateModifierName.inv, None))
    return statement
