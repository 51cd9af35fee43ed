"""A run as one self-contained HTML page, the same that `tilewave run --report` writes."""
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _core
from ._core import Result
from ._types import AnyCircuit, Device, Observable, Path, PauliOrder, Precision, Seed
from .circuits import circuit_of
from .runs import _count, _real_terms


def report(circuit: AnyCircuit, path: Path, shots: int = 1024, *, seed: Seed = None,
           probabilities: Union[bool, Sequence[int]] = True, observables: Optional[Observable] = None,
           pauli_order: PauliOrder = "last", precision: Precision = "double", device: Device = "auto", threads: int = 0,
           title: str = "Tilewave run") -> Result:
    """Runs a circuit and writes what it found and what it cost to the HTML file `path`: counts, marginals, expectations,
    and the plan as a time line (bytes and rate of every pass against the machine's limit, predicted and measured).
    Returns the run's Result."""
    circuit = circuit_of(circuit)
    chosen = [] if probabilities is True else None if probabilities is False else list(probabilities)
    terms = [] if observables is None else _real_terms(observables, circuit.num_qubits, pauli_order)
    result = _core._run(circuit, _count(shots), seed, precision, device, threads, chosen, terms, False, True, True, False)
    data = as_dict(result, title=title)
    if chosen:
        data["probability_qubits"] = chosen
    if result.device == "cpu":
        data["limit_bytes_per_s"] = _core._bandwidth(threads)
    page = _core._report_page(json.dumps(data))
    with open(os.fspath(path), "w", encoding="utf-8") as file:
        file.write(page)
    return result


def as_dict(result: Result, title: Optional[str] = None) -> dict[str, Any]:
    """A Result under the names `tilewave run --json` gives it."""
    data = {} if title is None else {"title": title}
    for name in ("num_qubits", "precision", "device", "seed", "shots", "counts", "norm", "memory_bytes", "warnings"):
        data[name] = getattr(result, name)
    for name in ("probabilities", "joint_probabilities", "expectations"):
        values = np.asarray(getattr(result, name))
        if values.size:
            data[name] = values.tolist()
    if "expectations" in data:
        data["expectation_sum"] = result.expectation_sum
    data["plan"] = dict(result.plan)
    data["timings_s"] = {name[:-2]: value for name, value in result.timings.items()}
    data["steps"] = list(result.steps)
    return data
