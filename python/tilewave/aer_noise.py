"""Qiskit Aer's noise models, from the dictionary ``NoiseModel.to_dict()`` gives (or its JSON), in the form of docs/noise.md.

Mixtures of unitaries stay mixtures, other errors become Kraus operators. An error belongs to an instruction by its label, or
its name where it has no label: a gate of the table whose Qiskit name is another one carries that name as its label, so that
errors on `u1` and on `p` stay apart. An error on k qubits acts on the first k of the instruction's, however many that has. A
device has more qubits than a circuit: those a circuit does not have are ignored.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core

_MOST_QUBITS = 4
# instructions that are no gates, and where their errors act
_OPERATIONS = {"measure": {"before": "measure"}, "reset": {"after": "reset"}, "delay": {"after": "delay"}}


def from_aer(model: Mapping[str, Any]) -> dict[str, Any]:
    """The model as docs/noise.md has it. Raises ValueError for what is not supported, by name."""
    everywhere, own, readout = {}, {}, []
    for k, error in enumerate(model["errors"]):
        kind = error.get("type")
        places = [tuple(int(q) for q in qubits) for qubits in error.get("gate_qubits", [])]
        if kind == "roerror":
            readout.append((places, _confusion(error["probabilities"])))
            continue
        if kind not in ("qerror", "plerror"):
            raise ValueError(f"errors[{k}] of the noise model has the type '{kind}': only qerror, plerror and roerror are known")
        channel = _channel(error)
        if channel is not None:
            channel["acts_on"] = list(range(_num_qubits(error)))
        for name in error["operations"]:
            for place in places:
                own.setdefault(name, {})[place] = channel
            if not places:
                everywhere[name] = channel
    channels = []
    for name in dict.fromkeys([*everywhere, *own]):
        others = own.get(name, {})
        where = _OPERATIONS.get(name, {"after": "all", "label": name})
        if everywhere.get(name) is not None:
            rule = {**where, **everywhere[name]}
            if others:
                rule["except"] = [list(place) for place in others]
            channels.append(rule)
        channels += [{**where, **channel, "qubits": [list(place)]} for place, channel in others.items() if channel is not None]
    readout.sort(key=lambda entry: bool(entry[0]))  # the last that names a qubit counts
    return {"channels": channels, "absent_qubits": "ignore",
            "readout": [{"qubits": sorted({q for place in places for q in place}) if places else "all", "matrix": matrix}
                        for places, matrix in readout]}


def channel_operators(error: Mapping[str, Any], num_qubits: int) -> list[Any]:
    """Kraus operators of one error of such a model, which has so many qubits."""
    if error["type"] == "plerror":
        strings = _pauli_lindblad(error)
        return [np.sqrt(p) * pauli_matrix(label) for label, p in strings.items()]
    return [np.sqrt(p) * k for p, operators in _terms(error, num_qubits) for k in operators]


def _channel(error):
    """A channel with its numbers; None where nothing happens."""
    if error["type"] == "plerror":
        strings = {label: p for label, p in _pauli_lindblad(error).items() if set(label) != {"I"}}
        return {"channel": "pauli", "probabilities": strings} if strings else None
    return channel_of(_terms(error, _num_qubits(error)))


def _num_qubits(error):
    """Those an error names: the last of its qubits may be idle in all of its terms, and is then not among them."""
    if error["type"] == "plerror":
        return len(next(iter(_pauli_lindblad(error))))
    return 1 + max((q for circuit in error["instructions"] for step in circuit for q in step["qubits"]), default=0)


def _terms(error, num_qubits):
    """Probabilities, and the Kraus operators of each."""
    probabilities = [float(p) for p in error["probabilities"]]
    if min(probabilities) < -1e-10 or abs(sum(probabilities) - 1) > 1e-6:
        raise ValueError(f"an error of the noise model on {error['operations']} is no channel: its probabilities are "
                         f"{probabilities}")
    _check_size(num_qubits)
    return [(p, kraus_of(circuit, num_qubits)) for circuit, p in zip(error["instructions"], probabilities) if p > 0]


def channel_of(terms: list[tuple[float, list[Any]]]) -> Any:
    """The channel of several, each with its probability: a mixture of unitaries where every one is a unitary."""
    if all(len(operators) == 1 and _is_unitary(operators[0]) for _, operators in terms):
        if all(_is_phase(operators[0]) for _, operators in terms):
            return None
        total = sum(p for p, _ in terms)
        return {"channel": "unitary_mixture",
                "unitaries": [{"p": p / total, "matrix": _entries(operators[0])} for p, operators in terms]}
    return {"channel": "kraus", "operators": [_entries(np.sqrt(p) * k) for p, operators in terms for k in operators]}


def kraus_of(steps: list[Mapping[str, Any]], num_qubits: int) -> list[Any]:
    """Kraus operators of instructions in a row, each with name, qubits and params."""
    operators = [np.eye(2**num_qubits, dtype=complex)]
    for step in steps:
        if step.get("condition") is not None:
            raise ValueError("an error of the noise model has an instruction under a condition: that is not supported")
        own = [embed(k, list(step["qubits"]), num_qubits) for k in _operators(step)]
        operators = [a @ b for a in own for b in operators]
    return [k for k in operators if np.abs(k).max() > 1e-12]


def _operators(step):
    name, params = step["name"], step.get("params", [])
    if name == "kraus":
        return [_complex(k) for k in params]
    if name == "unitary":
        return [_complex(params[0])]
    if name == "reset":
        return [np.array([[1, 0], [0, 0]], complex), np.array([[0, 1], [0, 0]], complex)]
    if name == "pauli":
        return [pauli_matrix(str(params[0]))]
    if name in ("barrier", "delay"):
        return [np.eye(2 ** len(step["qubits"]), dtype=complex)]
    try:
        return [_core._gate_matrix(name, [float(p) for p in params])]
    except ValueError as problem:
        raise ValueError(f"an error of the noise model has the instruction '{name}', which is not known") from problem


def _pauli_lindblad(error):
    """Probabilities of Pauli strings: every generator P with rate r is P with probability (1 - exp(-2 r)) / 2."""
    labels = [str(circuit[0]["params"][0]) for circuit in error["instructions"]]
    num_qubits = len(labels[0].lstrip("-+i")) if labels else 1
    _check_size(num_qubits)
    paulis = {(0, 0): 1.0}  # masks of X and Z
    for label, rate in zip(labels, error["rates"]):
        if rate < 0:
            raise ValueError(f"an error of the noise model on {error['operations']} is no channel: a rate is {rate}")
        p = -math.expm1(-2 * float(rate)) / 2
        x = sum(1 << j for j, letter in enumerate(reversed(label)) if letter in "XY")
        z = sum(1 << j for j, letter in enumerate(reversed(label)) if letter in "ZY")
        paulis = {key: (1 - p) * paulis.get(key, 0) + p * paulis.get((key[0] ^ x, key[1] ^ z), 0)
                  for key in {*paulis, *((a ^ x, b ^ z) for a, b in paulis)}}
    return {"".join("IXZY"[(x >> j & 1) + 2 * (z >> j & 1)] for j in reversed(range(num_qubits))): p
            for (x, z), p in paulis.items()}


def pauli_matrix(label: str) -> Any:
    """The matrix of a Pauli string, its rightmost letter on qubit 0."""
    letters = {"I": np.eye(2), "X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1, -1])}
    out = np.eye(1, dtype=complex)
    for letter in label.lstrip("-+i"):
        out = np.kron(out, letters[letter])
    return out


def embed(matrix: Any, qubits: list[int], num_qubits: int) -> Any:
    """The matrix on chosen qubits of several; bit j of its index is qubits[j]."""
    out = np.zeros((2**num_qubits, 2**num_qubits), complex)
    rest = [q for q in range(num_qubits) if q not in qubits]

    def spread(value, places):
        return sum((value >> j & 1) << q for j, q in enumerate(places))

    for other, row, column in itertools.product(range(2 ** len(rest)), *[range(2 ** len(qubits))] * 2):
        base = spread(other, rest)
        out[base | spread(row, qubits), base | spread(column, qubits)] = matrix[row, column]
    return out


def _check_size(num_qubits):
    if num_qubits > _MOST_QUBITS:
        raise ValueError(f"a noise channel acts on {num_qubits} qubits: at most {_MOST_QUBITS} are supported")


def _complex(matrix):
    """Of complex numbers, or of pairs as JSON has them."""
    entries = np.asarray(matrix)
    if entries.ndim == 3 and entries.shape[-1] == 2:
        entries = entries[..., 0] + 1j * entries[..., 1]
    return np.asarray(entries, complex)


def _is_unitary(m):
    return np.allclose(m.conj().T @ m, np.eye(len(m)), atol=1e-10)


def _is_phase(m):
    return np.abs(m - m[0, 0] * np.eye(len(m))).max() < 1e-12


def _entries(m):
    return [[[float(x.real), float(x.imag)] for x in row] for row in np.asarray(m)]


def _confusion(probabilities):
    p = np.asarray(probabilities, float)
    if p.shape != (2, 2):
        raise ValueError("readout errors of several qubits together are not supported: give one for each qubit")
    return p.tolist()
