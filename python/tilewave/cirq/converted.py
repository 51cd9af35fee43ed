"""A circuit of Cirq's that is converted once for all parameters of a sweep."""
from __future__ import annotations

from typing import Any, Optional

import cirq
import numpy as np
import sympy

from ..programs import Program, Rows
from .convert import Converter, NeedsValues


class Converted:
    """A circuit, converted for an order of qubits; `at` binds its symbols."""

    def __init__(self, circuit: cirq.AbstractCircuit, order: tuple[cirq.Qid, ...]) -> None:
        self.circuit, self.order, self._program = circuit, order, None
        self._scaled: Optional[list[Any]] = None
        self._final: Any = ()
        try:
            self.converter: Optional[Converter] = Converter(circuit, order)
        except NeedsValues:
            self.converter = None  # every set of values is converted on its own

    @property
    def is_function(self) -> bool:
        """Whether it is of gates with symbols in angles."""
        converter = self.converter
        return (converter is not None and bool(converter.expressions) and not converter.rows.has_channels
                and is_unitary(converter.rows))

    def at(self, resolver: cirq.ParamResolver) -> tuple[Converter, np.ndarray]:
        """The rows, and the values of their parameters."""
        if self.converter is None:
            resolved = cirq.resolve_parameters(self.circuit, resolver)
            _need_values(resolved)
            return Converter(resolved, self.order), np.zeros(0)
        if self._scaled is None:
            self._scaled = [_scaled_symbol(expression) for expression in self.converter.expressions]
        values = np.empty(len(self.converter.expressions))
        for k, expression in enumerate(self.converter.expressions):
            symbol, factor = self._scaled[k]
            value = resolver.value_of(expression if symbol is None else symbol)
            if symbol is not None and isinstance(value, (float, int)):
                values[k] = factor * value
                continue
            value = value if symbol is None else resolver.value_of(expression)
            if isinstance(value, sympy.Basic):
                if value.free_symbols:
                    _need_values(cirq.resolve_parameters(self.circuit, resolver))
                value = complex(value)
            if abs(complex(value).imag) > 1e-12:
                raise ValueError(f"the parameter {expression} is complex: {value}")
            values[k] = complex(value).real
        if not np.isfinite(values).all():
            k = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"the parameter {self.converter.expressions[k]} is {values[k]}: give finite numbers")
        return self.converter, values

    def final(self) -> Any:
        """Of a circuit of gates with symbols in angles that are followed by measurements: the qubit of each classical bit, and
        a program of the gates; None for others."""
        if self._final == ():
            found = None
            if self.converter is not None and self.converter.expressions and not self.converter.rows.has_channels:
                found = _final_qubits(self.converter.rows)
            self._final = found and (found[0], Program(found[1]))
        return self._final

    def program(self, converter: Converter) -> Program:
        """With the circuit made once."""
        if converter is not self.converter:
            return Program(converter.rows)
        if self._program is None:
            self._program = Program(converter.rows)
        return self._program


def _scaled_symbol(expression):
    """A symbol and a number whose product the expression is; None where it is something else. Cirq resolves a symbol many
    times faster than an expression."""
    if isinstance(expression, sympy.Symbol):
        return expression, 1.0
    if isinstance(expression, sympy.Mul):
        factor, symbol = expression.as_independent(sympy.Symbol)
        if isinstance(symbol, sympy.Symbol) and factor.is_real:
            return symbol, float(factor)
    return None, 0.0


def _final_qubits(rows):
    """The qubit that each classical bit is read from, and the rows without measurements, where those come last; None
    otherwise."""
    qubits: dict[int, int] = {}
    left = rows.copy()
    left.rows = []
    for row in rows.rows:
        name, targets, angles, controls, _, condition = row
        if name in ("reset", "kraus") or condition is not None or not set(qubits.values()).isdisjoint((*targets, *controls)):
            return None
        if name == "measure":
            qubits[angles[0]] = targets[0]
        else:
            left.rows.append(row)
    return [qubits[bit] for bit in range(len(qubits))], left


def _need_values(resolved):
    if cirq.is_parameterized(resolved):
        names = ", ".join(sorted(cirq.parameter_names(resolved)))
        raise ValueError(f"Circuit contains ops whose symbols were not specified in parameter sweep: {names}. "
                         "Parameters must be numeric.")


def is_unitary(rows: Rows) -> bool:
    return not any(row[0] in ("measure", "reset", "kraus") or row[5] is not None for row in rows.rows)
