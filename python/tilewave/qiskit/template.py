"""A circuit with parameters, converted once for many sets of values."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from qiskit.circuit import Parameter, QuantumCircuit

from ..circuits import Circuit
from .convert import Converter, _number, assigned, from_qiskit, linear_parts, no_value

# Fewer sets are converted one by one.
_FEWEST_SETS = 2


def bound_circuits(circuit: QuantumCircuit, values: Any) -> Iterator[Circuit]:
    """The converted circuit at each row of `values` [sets, parameters], parameters in the order of circuit.parameters."""
    values = np.asarray(values, float).reshape(len(values), -1)
    if not np.isfinite(values).all():
        raise ValueError("the values of the parameters must be finite numbers")
    parameters = list(circuit.parameters)
    template = _Template(circuit, parameters) if len(values) >= _FEWEST_SETS and parameters else None
    if template is not None and template.is_complete:
        yield from template.circuits(values)
        return
    for row in values:
        yield from_qiskit(assigned(circuit, dict(zip(parameters, row.tolist()))) if parameters else circuit)


class _Template:
    def __init__(self, circuit, parameters):
        self.parameters = parameters
        converter = Converter(circuit, template=True)
        try:
            self.circuit = converter.convert({})
        except Exception:  # something needs values: conversions one by one find out, and say what is wrong
            self.is_complete = False
            return
        self.is_complete = True
        index = {parameter: k for k, parameter in enumerate(parameters)}
        self.ops = np.array([op for op, _, _ in converter.slots], np.uint32)
        self.angles = np.array([angle for _, angle, _ in converter.slots], np.uint32)
        # angle = constant + weights . parameters, but for a few others
        self.weights = np.zeros((len(parameters), len(self.ops)))
        self.constants = np.zeros(len(self.ops))
        self.others = []
        for k, (_, _, expression) in enumerate(converter.slots):
            if isinstance(expression, Parameter):
                self.weights[index[expression], k] = 1
                continue
            linear = linear_parts(expression)
            if linear is None:
                self.others.append((k, expression))
                continue
            self.constants[k] = linear[0]
            for parameter, weight in linear[1].items():
                self.weights[index[parameter], k] = weight
        self.single = [np.flatnonzero(column) for column in self.weights.T]
        self.is_plain = not self.others and not self.constants.any() and all(
            len(rows) == 1 and column[rows[0]] == 1 for rows, column in zip(self.single, self.weights.T))

    def circuits(self, values):
        if self.is_plain:  # the very numbers
            angles = values[:, [rows[0] for rows in self.single]]
        else:
            angles = self.constants + values @ self.weights
        angles = np.ascontiguousarray(angles)
        for row, own in zip(values, angles):
            for k, expression in self.others:
                given = dict((p, row[j]) for j, p in enumerate(self.parameters) if p in expression.parameters)
                try:
                    own[k] = _number(expression.bind(given))
                except (ArithmeticError, RuntimeError) as error:
                    raise no_value(given, expression) from error
            yield self.circuit._with_angles(self.ops, self.angles, own)
