"""The result type AdjointGradient: `#pragma braket result adjoint_gradient expectation(...) theta, phi` (or `all`)."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from braket.ir.jaqcd import AdjointGradient

from .convert import Terms, factor_terms, hermitian_terms, product

_PRAGMA = re.compile(r"braket\s+result\s+adjoint_gradient\s+expectation\((.*)\)\s+([\w$,\s]+?)\s*$", re.S)
_NUMBER = r"[0-9.]+(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})\s*\*|(?P<hermitian>hermitian\s*\(\s*(?P<matrix>\[.*?\]\s*\])\s*\))"
                    r"|(?P<name>[ixyzh])\s*\(\s*(?P<qubit>[^()]*?)\s*\)|(?P<sign>[+\-@]))", re.S)
_QUBIT = re.compile(r"\s*(\$\d+|\w+\s*\[\s*\d+\s*\]|\w+)\s*(,?)")


class GradientRequest:
    """What the pragma asks for: Pauli terms on qubits, the names of parameters (None: all), and the result type as it is
    reported."""

    def __init__(self, terms: Terms, parameters: Any, result: AdjointGradient, qubits: list[int]) -> None:
        self.terms, self.parameters, self.result, self.qubits = terms, parameters, result, qubits


def is_gradient(pragma: str) -> bool:
    return re.match(r"\s*braket\s+result\s+adjoint_gradient\b", pragma) is not None


def read_gradient(pragma: str, qubit_of: Callable[[str], int]) -> GradientRequest:
    """Raises ValueError for what is no such pragma."""
    found = _PRAGMA.match(pragma.strip())
    if found is None:
        raise ValueError(f"'{pragma}' is not understood: write adjoint_gradient expectation(observable) parameters")
    text, names = found.groups()
    parameters = None if names.strip() == "all" else [name.strip() for name in names.split(",") if name.strip()]
    total: Terms = []
    shown, targets, parts, on = [], [], [], []
    coefficient, sign, at = 1.0, 1.0, 0

    def finish():
        nonlocal parts, on, coefficient
        if not parts:
            raise ValueError(f"'{text}' is not understood as an observable")
        total.extend((sign * coefficient * c, letters) for c, letters in product([terms for terms, _ in parts]))
        words = " @ ".join(word for _, word in parts)
        shown.append((sign * coefficient, words))
        targets.append(on)
        parts, on, coefficient = [], [], 1.0
    while at < len(text.rstrip()):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"'{text[at:].strip()}' is not understood in the observable of an adjoint gradient")
        at = token.end()
        if token["number"]:
            coefficient *= float(token["number"])
        elif token["sign"]:
            if token["sign"] == "@":
                continue
            if parts:
                finish()
                sign = 1.0
            if token["sign"] == "-":
                sign = -sign
        elif token["name"]:
            qubit = qubit_of(token["qubit"])
            parts.append((factor_terms(token["name"], qubit), token["name"]))
            on.append(qubit)
        else:
            own = []
            while True:
                qubit = _QUBIT.match(text, at)
                if qubit is None:
                    raise ValueError("a hermitian observable names its qubits: hermitian([[...]]) q[0]")
                own.append(qubit_of(qubit[1]))
                at = qubit.end()
                if not qubit[2]:
                    break
            rows = re.findall(r"\[([^\[\]]*)\]", token["matrix"])
            matrix = np.array([[complex(entry.replace(" ", "").replace("im", "j")) for entry in row.split(",")]
                               for row in rows])
            if matrix.shape != (2 ** len(own),) * 2 or not np.allclose(matrix, matrix.conj().T):
                side = 2 ** len(own)
                raise ValueError(f"the matrix of an adjoint gradient on {len(own)} qubits is not Hermitian, or not {side} x {side}")
            parts.append((hermitian_terms(matrix, own), "hermitian(" + token["matrix"] + ")"))
            on += own
    finish()
    observable = " + ".join(words if c == 1 else f"{c:g} * {words}" for c, words in shown).replace("+ -", "- ")
    result = AdjointGradient.construct(type=AdjointGradient.Type.adjoint_gradient, observable=observable, targets=targets,
                                       parameters=parameters or ["all"])
    return GradientRequest(total, parameters, result, sorted({qubit for several in targets for qubit in several}))
