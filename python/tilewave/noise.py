"""Noise models: channels after gates and readout errors, for `run`, `sample`, `expectation` and the Qiskit classes.

A model is a dictionary of the form that `tilewave run --noise` reads (docs/noise.md), a JSON text of it, or a path to a
file with it::

    noise = tw.noise_model({"channels": [{"after": "all", "channel": "depolarizing", "p": 0.001}],
                            "readout": [{"p1_given_0": 0.01, "p0_given_1": 0.03}]})
    tw.sample(circuit, 1000, noise=noise)

Qiskit Aer's ``NoiseModel`` is converted: mixtures of unitaries stay mixtures, other errors become Kraus operators.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Optional, Union, overload

import numpy as np

from . import _core
from ._types import Noise, Path

_MOST_QUBITS = 4


class NoiseModel:
    """A checked noise model. ``as_dict()`` gives it back in the form of docs/noise.md."""

    def __init__(self, model: Mapping[str, Any], name: str = "noise") -> None:
        self._dict = model
        self._core = _core._Noise(json.dumps(model), name)

    def as_dict(self) -> dict[str, Any]:
        """The model in the form of docs/noise.md."""
        return json.loads(json.dumps(self._dict))

    def __repr__(self) -> str:
        return (f"<tilewave.NoiseModel: {len(self._dict.get('channels', []))} channels, "
                f"{len(self._dict.get('readout', []))} readout errors>")


@overload
def noise_model(source: None) -> None: ...


@overload
def noise_model(source: Union[NoiseModel, Mapping[str, Any], Path, Any]) -> NoiseModel: ...


def noise_model(source: Noise) -> Optional[NoiseModel]:
    """A `NoiseModel` from a dictionary, a JSON text, a path, a Qiskit Aer ``NoiseModel``, or one of its own kind."""
    if source is None or isinstance(source, NoiseModel):
        return source
    if isinstance(source, dict):
        return NoiseModel(source)
    if hasattr(source, "_default_quantum_errors") and hasattr(source, "_local_quantum_errors"):
        return NoiseModel(_from_aer(source), "Aer's noise model")
    if isinstance(source, (str, os.PathLike)):
        text, name = source, "noise"
        if not isinstance(source, str) or not source.lstrip().startswith("{"):
            name = os.fspath(source)
            with open(name, encoding="utf-8") as file:
                text = file.read()
        _core._Noise(text, name)  # errors with line and column
        return NoiseModel(json.loads(text), name)
    raise TypeError(f"a noise model is a dictionary, a JSON text, a path or Aer's NoiseModel, not {type(source).__name__}")


def core_of(noise: Noise) -> Any:
    """What the compiled part takes."""
    return None if noise is None else noise_model(noise)._core


# --- Qiskit Aer

def _from_aer(model):
    channels, readout, seen = [], [], {}
    local = model._local_quantum_errors
    for name in dict.fromkeys([*model._default_quantum_errors, *local]):
        own = local.get(name, {})
        if name in model._default_quantum_errors:
            rule = _rule(name, model._default_quantum_errors[name])
            if rule and own:
                rule["except"] = [list(qubits) if len(qubits) > 1 else int(qubits[0]) for qubits in own]
            _add(channels, seen, name, rule)
        for qubits, error in own.items():
            rule = _rule(name, error)
            if rule:
                rule["qubits"] = [[int(q) for q in qubits]] if len(qubits) > 1 else [int(qubits[0])]
                _add(channels, seen, name, rule)
    if model._default_readout_error is not None:
        readout.append({"qubits": "all", "matrix": _confusion(model._default_readout_error)})
    for qubits, error in model._local_readout_errors.items():
        readout.append({"qubits": [int(q) for q in qubits], "matrix": _confusion(error)})
    return {"channels": channels, "readout": readout}


def _add(channels, seen, name, rule):
    """Names of one gate (u1 and p) come once; two models for it cannot both hold."""
    if rule is None:
        return
    where = (_GATES.get(name, name), json.dumps(rule.get("qubits")))
    body = json.dumps({k: v for k, v in rule.items() if k not in ("after", "before")})
    if where not in seen:
        seen[where] = body
        channels.append(rule)
    elif seen[where] != body:
        raise ValueError(f"the noise model has two different errors for one gate, the second under the name '{name}'")


# Names that Qiskit has for gates which are one here.
_GATES = {"u1": "p", "cu1": "cp"}


def _rule(name, error):
    """The rule of an error after (measurements: before) an instruction; None where nothing happens."""
    if name == "delay":
        raise ValueError("the noise model has an error on 'delay', an instruction that is dropped here: put it on 'id'")
    if error.ideal():
        return None
    rule = {"before" if name == "measure" else "after": name}
    return {**rule, **_channel(error)}


def _channel(error):
    """The channel of a QuantumError: circuits with probabilities."""
    if error.num_qubits > _MOST_QUBITS:
        raise ValueError(f"a noise channel acts on {error.num_qubits} qubits: at most {_MOST_QUBITS} are supported")
    terms = [(float(p), _kraus(circuit)) for circuit, p in zip(error.circuits, error.probabilities) if p > 0]
    if all(len(operators) == 1 and _is_unitary(operators[0]) for _, operators in terms):
        total = sum(p for p, _ in terms)
        return {"channel": "unitary_mixture",
                "unitaries": [{"p": p / total, "matrix": _entries(operators[0])} for p, operators in terms]}
    return {"channel": "kraus",
            "operators": [_entries(np.sqrt(p) * k) for p, operators in terms for k in operators]}


def _kraus(circuit):
    """Kraus operators of a circuit of gates, resets and Kraus instructions, in their products."""
    from qiskit.quantum_info import Operator
    operators = [np.eye(2**circuit.num_qubits, dtype=complex)]
    for instruction in circuit.data:
        op = instruction.operation
        qubits = [circuit.find_bit(q).index for q in instruction.qubits]
        if op.name == "barrier":
            continue
        if op.name == "kraus":
            own = [np.asarray(k, complex) for k in op.params]
        elif op.name == "reset":
            own = [np.array([[1, 0], [0, 0]], complex), np.array([[0, 1], [0, 0]], complex)]
        else:
            own = [Operator(op).data]
        own = [_embed(k, qubits, circuit.num_qubits) for k in own]
        operators = [a @ b for a in own for b in operators]
    return [k for k in operators if np.abs(k).max() > 1e-12]


def _embed(matrix, qubits, num_qubits):
    """The matrix on chosen qubits of several; bit j of its index is qubits[j]."""
    size = 2**num_qubits
    out = np.zeros((size, size), complex)
    mask = sum(1 << q for q in qubits)
    for column in range(size):
        inside = sum((column >> q & 1) << j for j, q in enumerate(qubits))
        for value in range(2**len(qubits)):
            row = column & ~mask | sum((value >> j & 1) << q for j, q in enumerate(qubits))
            out[row, column] = matrix[value, inside]
    return out


def _is_unitary(m):
    return np.allclose(m.conj().T @ m, np.eye(len(m)), atol=1e-10)


def _entries(m):
    return [[[float(x.real), float(x.imag)] for x in row] for row in np.asarray(m)]


def _confusion(error):
    p = np.asarray(error.probabilities, float)
    if p.shape != (2, 2):
        raise ValueError("readout errors of several qubits together are not supported: give one for each qubit")
    return p.tolist()
