"""A run as one self-contained HTML page, the same that `tilewave run --report` writes."""
from __future__ import annotations

import json
import os
from typing import Any, Optional, Union

import numpy as np

from . import _core
from ._core import Result
from ._types import AnyCircuit, Device, Noise, NoiseEngine, Observable, Path, PauliOrder, Places, Precision, Seed
from .noise import noisy
from .observables import NO_TERMS, Terms, real_terms
from .runs import _count, how_of, seed_of


def report(circuit: AnyCircuit, path: Path, shots: int = 1024, *, seed: Seed = None,
           probabilities: Union[bool, Places, None] = None, observables: Optional[Observable] = None,
           pauli_order: PauliOrder = "last", precision: Precision = "double", device: Device = "auto", threads: int = 0,
           noise: Noise = None, engine: NoiseEngine = "auto", title: str = "Tilewave run") -> Result:
    """Runs a circuit and writes what it found and what it cost to the HTML file `path`: counts, marginals, expectations,
    and the plan as a time line (bytes and rate of every pass against the machine's limit, predicted and measured).
    ``probabilities`` are those of `run`; by default all marginals, where a state is simulated: the stabilizer engine has
    none. ``noise`` and ``engine`` are those of `run`. The page appears when it is whole. Returns the run's Result."""
    circuit, core = noisy(circuit, noise)
    terms = NO_TERMS if observables is None else real_terms(observables, circuit.num_qubits, pauli_order)
    asked = (circuit, _count(shots), seed_of(seed), *how_of(precision, device, threads))
    if probabilities is None:
        probabilities = len(terms[0]) > 0 or _core._run(*asked, None, terms, False, False, False, True, core,
                                                        engine).engine != "stabilizer"
    chosen = [] if probabilities is True else None if probabilities is False else [int(q) for q in probabilities]
    result = _core._run(*asked, chosen, terms, False, True, True, False, core, engine)
    data = as_dict(result, title=title)
    data["seed"] = str(result.seed)  # a script's numbers have 53 bits
    if len(terms[0]):
        data["observables"] = _term_texts(terms, circuit.num_qubits, pauli_order)
    if chosen:
        data["probability_qubits"] = chosen
    if result.device == "cpu":
        data["limit_bytes_per_s"] = _core._bandwidth(threads)
    _core._write_report(json.dumps(data), os.fspath(path))
    return result


def _term_texts(terms: Terms, num_qubits: int, pauli_order: PauliOrder) -> list[str]:
    """Terms as `expectation` reads them: "0.5 ZZI"."""
    coefficients, x, z = terms
    letters = sum((np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little")[:, :num_qubits].astype(int) << k)
                  for k, mask in enumerate((x, z)))
    if pauli_order != "first":
        letters = letters[:, ::-1]
    return [f"{c:g} {''.join('IXZY'[k] for k in row)}" for c, row in zip(coefficients, letters)]


def _known(value: float) -> Optional[float]:
    """JSON has no NaN, which the error of a single trajectory is."""
    return None if np.isnan(value) else value


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
            data[name] = [_known(value) for value in values.tolist()]
    if "expectations" in data:
        data["expectation_sum"] = result.expectation_sum
    if "expectation_errors" in data:
        data["expectation_sum_error"] = _known(result.expectation_sum_error)
    data["plan"] = dict(result.plan)
    data["timings_s"] = {name[:-2]: value for name, value in result.timings.items()}
    data["steps"] = list(result.steps)
    return data
