"""Exact answers from a final state: Pauli sums and probabilities by the engine, every other measurement by PennyLane from
the amplitudes."""
from __future__ import annotations

from typing import Any

import numpy as np
from pennylane.devices.qubit import measure as measure_amplitudes
from pennylane.measurements import ExpectationMP, MeasurementProcess, ProbabilityMP, VarianceMP

from .. import _core
from .observables import KnownObservables

_MOST_JOINT_QUBITS = 24


def measure_exactly(state: _core.State, measurements: list[MeasurementProcess], wires: dict, keeps_norm: bool,
                    known: KnownObservables) -> list[Any]:
    """One answer a measurement. The amplitudes are taken out of the state where something needs them."""
    num_qubits = len(wires)
    norm = 1.0 if keeps_norm else state.norm()
    with np.errstate(divide="ignore", invalid="ignore"):
        answers, asked = [None] * len(measurements), []
        for k, mp in enumerate(measurements):
            if mp.obs is not None and type(mp) in (ExpectationMP, VarianceMP):
                found = known.find(mp.obs, type(mp) is VarianceMP, wires, num_qubits)
                if found is not None:
                    asked.append((k, found.terms))
            elif (type(mp) is ProbabilityMP and mp.obs is None and mp.mv is None
                  and len(mp.wires or wires) <= _MOST_JOINT_QUBITS):
                qubits = [wires[wire] for wire in (mp.wires or wires)]
                answers[k] = state.probabilities(qubits[::-1]) / norm
        if asked:
            parts = [part for _, terms in asked for part in terms]
            x, z = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
            values = state._expectations((np.ones(len(x)), x, z)) / norm
            at = 0
            for k, terms in asked:
                sums = []
                for part in terms:
                    sums.append(np.dot(part[0], values[at:at + len(part[0])]))
                    at += len(part[0])
                answers[k] = sums[0] if len(sums) == 1 else np.float64(sums[0] - sums[1] ** 2)
        rest = [k for k, answer in enumerate(answers) if answer is None]
        if rest:
            amplitudes = state.take()[:2**num_qubits].reshape((2,) * num_qubits) / norm ** 0.5
            for k in rest:
                answers[k] = measure_amplitudes(on_indices(measurements[k], wires), amplitudes)
    return answers


def on_indices(mp: MeasurementProcess, wires: dict) -> MeasurementProcess:
    """The measurement with the numbers of axes as wires."""
    last = len(wires) - 1
    if all(wire == last - qubit for wire, qubit in wires.items()):
        return mp
    return mp.map_wires({wire: last - qubit for wire, qubit in wires.items()})
