"""A run as one self-contained HTML page, the same that `tilewave run --report` writes."""
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _core
from ._core import Result
from ._types import AnyCircuit, Device, Noise, NoiseEngine, Observable, Path, PauliOrder, Precision, Seed
from .circuits import circuit_of
from .noise import core_of
from .runs import _count, _real_terms, seed_of


def report(circuit: AnyCircuit, path: Path, shots: int = 1024, *, seed: Seed = None,
           probabilities: Union[bool, Sequence[int]] = True, observables: Optional[Observable] = None,
           pauli_order: PauliOrder = "last", precision: Precision = "double", device: Device = "auto", threads: int = 0,
           noise: Noise = None, engine: NoiseEngine = "auto", title: str = "Tilewave run") -> Result:
    """Runs a circuit and writes what it found and what it cost to the HTML file `path`: counts, marginals, expectations,
    and the plan as a time line (bytes and rate of every pass against the machine's limit, predicted and measured).
    ``noise`` and ``engine`` are those of `run`. Returns the run's Result."""
    circuit = circuit_of(circuit)
    chosen = [] if probabilities is True else None if probabilities is False else list(probabilities)
    terms = [] if observables is None else _real_terms(observables, circuit.num_qubits, pauli_order)
    result = _core._run(circuit, _count(shots), seed_of(seed), precision, device, threads, chosen, terms, False, True, True, False,
                        core_of(noise), engine)
    data = as_dict(result, title=title)
    data["seed"] = str(result.seed)  # a script's numbers have 53 bits
    if terms:
        data["observables"] = [_term_text(*term, circuit.num_qubits, pauli_order) for term in terms]
    if chosen:
        data["probability_qubits"] = chosen
    if result.device == "cpu":
        data["limit_bytes_per_s"] = _core._bandwidth(threads)
    page = _core._report_page(json.dumps(data))
    with open(os.fspath(path), "w", encoding="utf-8") as file:
        file.write(page)
    return result


def _term_text(coefficient, x, z, num_qubits, pauli_order):
    """A term as `expectation` reads it: "0.5 ZZI"."""
    letters = "".join("IXZY"[(x >> q & 1) + 2 * (z >> q & 1)] for q in range(num_qubits))
    return f"{coefficient:g} {letters if pauli_order == 'first' else letters[::-1]}"


def as_dict(result: Result, title: Optional[str] = None) -> dict[str, Any]:
    """A Result under the names `tilewave run --json` gives it."""
    data = {} if title is None else {"title": title}
    of_a_state = () if result.engine == "stabilizer" else ("precision", "norm")
    for name in ("num_qubits", "engine", "device", "seed", "shots", "counts", "memory_bytes", "warnings", *of_a_state):
        data[name] = getattr(result, name)
    if result.engine_choice:
        data["engine_choice"] = result.engine_choice
    if result.num_trajectories:
        data["trajectories"] = result.num_trajectories
    for name in ("probabilities", "joint_probabilities", "expectations", "probability_errors", "expectation_errors"):
        values = np.asarray(getattr(result, name))
        if values.size:
            data[name] = values.tolist()
    if "expectations" in data:
        data["expectation_sum"] = result.expectation_sum
    if "expectation_errors" in data:
        data["expectation_sum_error"] = result.expectation_sum_error
    data["plan"] = dict(result.plan)
    data["timings_s"] = {name[:-2]: value for name, value in result.timings.items()}
    data["steps"] = list(result.steps)
    return data
