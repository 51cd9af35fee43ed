"""Control flow of Qiskit circuits as conditional jumps, and classical expressions as lists of nodes."""
from __future__ import annotations

import numpy as np
from qiskit.circuit import CASE_DEFAULT, Clbit, ClassicalRegister
from qiskit.circuit.classical import expr, types

# Numbers of tilewave's classical operations and types, see src/tilewave/circuit/classical.h.
_CONST, _BITS, _CAST, _BIT_NOT, _NOT, _NEGATE = range(6)
_BINARY = {expr.Binary.Op[name]: 6 + k for k, name in enumerate(
    ["BIT_AND", "BIT_OR", "BIT_XOR", "LOGIC_AND", "LOGIC_OR", "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER",
     "GREATER_EQUAL", "SHIFT_LEFT", "SHIFT_RIGHT", "ADD", "SUB", "MUL", "DIV"]) if name in expr.Binary.Op.__members__}
_EQUAL, _AND, _INDEX, _SHIFT_LEFT, _BIT_OR = 11, 9, 24, 17, 7
_UNARY = {name: op for name, op in (("BIT_NOT", _BIT_NOT), ("LOGIC_NOT", _NOT), ("NEGATE", _NEGATE))}
_BOOL, _UINT, _INT, _FLOAT = range(4)


class _Loop:
    """Jumps of break and continue that do not know their end yet."""

    def __init__(self):
        self.breaks, self.continues = [], []


class Flow:
    """The part of a converter that writes jumps and assignments: `out` is the circuit, `vars` are the first classical bits of
    variables, `loops` those around."""

    def here(self):
        return len(self.out)

    def branch(self, condition, then, otherwise, bits):
        """if (condition) then else otherwise."""
        to_then = self.out._jump_if(self.condition(condition, bits))
        to_else = self.out._jump()
        self.out._land(to_then, self.here())
        then()
        if otherwise is None:
            self.out._land(to_else, self.here())
            return
        to_end = self.out._jump()
        self.out._land(to_else, self.here())
        otherwise()
        self.out._land(to_end, self.here())

    def flow_if_else(self, op, qubits, clbits, bits):
        bodies = [None if body is None else lambda body=body: self.body(body, qubits, clbits, bits)
                  for body in (*op.params, None)[:2]]
        self.branch(op.condition, bodies[0], bodies[1], bits)

    def flow_while_loop(self, op, qubits, clbits, bits):
        loop, head = _Loop(), self.here()
        to_body = self.out._jump_if(self.condition(op.condition, bits))
        loop.breaks.append(self.out._jump())
        self.out._land(to_body, self.here())
        self.loops.append(loop)
        self.body(op.params[0], qubits, clbits, bits)
        self.loops.pop()
        self.out._land(self.out._jump(), head)
        for jump in loop.continues:
            self.out._land(jump, head)
        for jump in loop.breaks:
            self.out._land(jump, self.here())

    def flow_for_loop(self, op, qubits, clbits, bits):
        values, parameter, body = op.params
        outer = _Loop()
        for value in values:
            loop, bound = _Loop(), body
            if isinstance(parameter, expr.Var):
                width = _width(parameter.type)
                self.declare(parameter)
                self.out._assign(self.vars[parameter], width, [(_CONST, _kind(parameter.type), width, -1, -1, int(value))])
            elif parameter is not None and parameter in body.parameters:
                bound = body.assign_parameters({parameter: value})
            self.loops.append(loop)
            self.body(bound, qubits, clbits, bits)
            self.loops.pop()
            for jump in loop.continues:
                self.out._land(jump, self.here())
            outer.breaks += loop.breaks
        for jump in outer.breaks:
            self.out._land(jump, self.here())

    def flow_switch_case(self, op, qubits, clbits, bits):
        target, ends, tests, default = op.target, [], [], None
        cases = list(op.cases_specifier())
        for k, (labels, _) in enumerate(cases):
            for label in labels:
                if label is CASE_DEFAULT:
                    default = k
                else:
                    tests.append((self.out._jump_if(self.equals(target, label, bits)), k))
        to_default = self.out._jump()
        for k, (_, body) in enumerate(cases):
            for jump, case in tests:
                if case == k:
                    self.out._land(jump, self.here())
            if default == k:
                self.out._land(to_default, self.here())
            self.body(body, qubits, clbits, bits)
            ends.append(self.out._jump())
        for jump in ends if default is not None else [*ends, to_default]:
            self.out._land(jump, self.here())

    def flow_break_loop(self, op, qubits, clbits, bits):
        self.loops[-1].breaks.append(self.out._jump())

    def flow_continue_loop(self, op, qubits, clbits, bits):
        self.loops[-1].continues.append(self.out._jump())

    def flow_box(self, op, qubits, clbits, bits):
        self.body(op.params[0], qubits, clbits, bits)

    def flow_store(self, op, qubits, clbits, bits):
        nodes = []
        self.expression(op.rvalue, nodes, bits)
        target = op.lvalue
        if isinstance(target, expr.Index):
            if not isinstance(target.index, expr.Value):
                raise ValueError("a store into a bit that is chosen at run time is not supported")
            first, width = self.place(target.target, bits)
            first, width = [first[target.index.value]], 1
        else:
            first, width = self.place(target, bits)
        if first != list(range(first[0], first[0] + width)):
            raise ValueError("a store into a register whose bits are not in a row is not supported")
        self.out._assign(first[0], width, nodes)

    # --- classical expressions

    def place(self, var, bits):
        """The classical bits of a variable, and their number."""
        inner = var.var
        if isinstance(inner, Clbit):
            return [bits[inner]], 1
        if isinstance(inner, ClassicalRegister):
            return [bits[bit] for bit in inner], len(inner)
        if var not in self.vars:
            raise ValueError(f"the variable '{var.name}' has no value here")
        width = _width(var.type)
        return list(range(self.vars[var], self.vars[var] + width)), width

    def condition(self, condition, bits):
        if isinstance(condition, tuple):
            return self.equals(condition[0], condition[1], bits)
        nodes = []
        self.expression(condition, nodes, bits)
        return nodes

    def equals(self, target, value, bits):
        """Nodes of target == value; registers of any width are compared 64 bits at a time."""
        nodes = []
        if isinstance(target, (Clbit, ClassicalRegister)):
            where = [bits[target]] if isinstance(target, Clbit) else [bits[bit] for bit in target]
            value, last = int(value), None
            if value >> len(where):
                return [(_CONST, _BOOL, 1, -1, -1, 0)]
            for at in range(0, len(where), 64):
                part = where[at:at + 64]
                a = self.read(part, nodes)
                nodes.append((_CONST, _UINT, len(part), -1, -1, value >> at & (1 << len(part)) - 1))
                nodes.append((_EQUAL, _BOOL, 1, a, len(nodes) - 1, 0))
                if last is not None:
                    nodes.append((_AND, _BOOL, 1, last, len(nodes) - 1, 0))
                last = len(nodes) - 1
            return nodes
        a = self.expression(target, nodes, bits)
        kind, width = _kind(target.type), _width(target.type)
        nodes.append((_CONST, kind, width, -1, -1, int(value)))
        nodes.append((_EQUAL, _BOOL, 1, a, len(nodes) - 1, 0))
        return nodes

    @staticmethod
    def read(where, nodes):
        """The unsigned number in classical bits; returns its node."""
        width = len(where)
        if where == list(range(where[0], where[0] + width)):
            nodes.append((_BITS, _UINT, width, -1, -1, where[0]))
            return len(nodes) - 1
        total = None
        for k, bit in enumerate(where):
            nodes.append((_BITS, _UINT, 1, -1, -1, bit))
            nodes.append((_CAST, _UINT, width, len(nodes) - 1, -1, 0))
            nodes.append((_CONST, _UINT, 64, -1, -1, k))
            nodes.append((_SHIFT_LEFT, _UINT, width, len(nodes) - 2, len(nodes) - 1, 0))
            if total is not None:
                nodes.append((_BIT_OR, _UINT, width, total, len(nodes) - 1, 0))
            total = len(nodes) - 1
        return total

    def expression(self, node, nodes, bits):
        """Adds an expression; returns its node."""
        kind, width = _kind(node.type), _width(node.type)
        if isinstance(node, expr.Value):
            value = int(np.float64(node.value).view(np.uint64)) if kind == _FLOAT else int(node.value)
            nodes.append((_CONST, kind, width, -1, -1, value))
        elif isinstance(node, expr.Var):
            where, _ = self.place(node, bits)
            at = self.read(where, nodes)
            op, _, n, a, b, value = nodes[at]
            nodes[at] = (op, kind, n, a, b, value)
        elif isinstance(node, expr.Cast):
            a = self.expression(node.operand, nodes, bits)
            nodes.append((_CAST, kind, width, a, -1, 0))
        elif isinstance(node, expr.Unary):
            a = self.expression(node.operand, nodes, bits)
            op = _UNARY[node.op.name]
            nodes.append((_NOT if kind == _BOOL and op == _BIT_NOT else op, kind, width, a, -1, 0))
        elif isinstance(node, expr.Binary):
            a = self.expression(node.left, nodes, bits)
            b = self.expression(node.right, nodes, bits)
            nodes.append((_BINARY[node.op], kind, width, a, b, 0))
        elif isinstance(node, expr.Index):
            a = self.expression(node.target, nodes, bits)
            b = self.expression(node.index, nodes, bits)
            nodes.append((_INDEX, kind, width, a, b, 0))
        else:
            raise ValueError(f"a classical expression of the kind {type(node).__name__} is not supported")
        return len(nodes) - 1

    def input(self, var, value):
        kind, width = _kind(var.type), _width(var.type)
        if kind == _FLOAT:
            value = int(np.float64(value).view(np.uint64))
        elif value != int(value) or not 0 <= int(value) < 1 << width:
            raise ValueError(f"the input variable '{var.name}' of the type {var.type} cannot be {value}")
        self.declare(var)
        self.out._assign(self.vars[var], width, [(_CONST, kind, width, -1, -1, int(value))])

    def declare(self, var):
        if self.vars.get(var) is None:
            self.vars[var] = self.out._add_clbits(_width(var.type))


def _kind(type_):
    if isinstance(type_, types.Bool):
        return _BOOL
    if isinstance(type_, types.Uint):
        return _UINT
    if isinstance(type_, types.Float):
        return _FLOAT
    raise ValueError(f"classical values of the type {type_} are not supported")


def _width(type_):
    if isinstance(type_, types.Uint):
        if type_.width > 64:
            raise ValueError(f"classical expressions of {type_.width} bits are not supported: at most 64")
        return type_.width
    return 64 if _kind(type_) == _FLOAT else 1
