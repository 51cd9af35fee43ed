"""Derivatives of what has no adjoint run, noisy circuits for instance, from runs with shifted angles."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._types import AnyCircuit, Device, Effort, Noise, NoiseEngine, Observable, PauliOrder, Precision, Seed
from .angles import value_array
from .circuits import circuit_of

_ROTATIONS = {("rx", 0), ("ry", 0), ("rz", 0), ("rxx", 0), ("ryy", 0), ("rzz", 0), ("rzx", 0), ("r", 0), ("u", 0), ("u3", 0)}
_PHASES = {("u", 1), ("u", 2), ("u3", 1), ("u3", 2), ("u2", 0), ("u2", 1)}
_HOPS = {("xx_plus_yy", 0), ("xx_minus_yy", 0)}


class ShiftGradient(NamedTuple):
    """What `shift_gradient` gives. Errors are 0 where a density matrix or a state gives exact numbers; standard errors over
    trajectories, and over the shots of a circuit that measures or resets in the middle (of a density matrix only where its
    outcomes are too many to be followed); and NaN for a single trajectory or shot."""
    value: float
    gradient: NDArray[np.float64]
    value_error: float
    errors: NDArray[np.float64]


def shift_gradient(circuit: AnyCircuit, observable: Observable, values: Any, *, shots: int = 0, noise: Noise = None,
                   engine: NoiseEngine = "auto", pauli_order: PauliOrder = "last", precision: Precision = "double",
                   device: Device = "auto", threads: int = 0, seed: Seed = None, effort: Effort = "auto") -> ShiftGradient:
    """The expectation of an observable and its derivatives by the parameters of a circuit, float64[P], from runs with shifted
    angles: for circuits with noise (channels of theirs, or a ``noise`` model), and circuits that measure or reset in the
    middle, which `Circuit.compile` refuses. ``values`` are one set, float64[P] or a dictionary.

    An expectation is a trigonometric polynomial in the angle of a gate, whatever channels are around it, so its derivative is
    exactly a weighted sum of 2 values at other angles, for rotations about Pauli strings and phases, of 4 for controlled
    rotations, and of 8 for other gates (Wierichs, Izaac, Wang and Lin, Quantum 6, 677 (2022)). Every gate is shifted by
    itself, and so many runs are made. With ``engine="density"`` they are exact, also over measurements in the middle, of at
    most 65,536 outcomes that later operations read (docs/noise.md). With trajectories (``shots`` of them for every
    run, 1000 when none are given) every run draws its own, and errors are standard errors.

    Raises ValueError for a circuit with loops or jumps, values of another shape or that are not finite, an observable that
    is not Hermitian, and for what `expectation` refuses."""
    from .runs import run, seed_of
    own = circuit_of(circuit)
    names = own._parameter_names
    point = value_array(names, values)
    if point.ndim != 1:
        raise ValueError(f"{len(names)} parameters, got values of shape {point.shape}: give one set, [{len(names)}]")
    bound = own.bind(point)
    base = int(np.random.default_rng().integers(1 << 63)) if seed is None else seed_of(seed)
    seeds = np.random.SeedSequence(base)

    def value_at(at: Any) -> tuple[float, float]:
        fresh = int(seeds.spawn(1)[0].generate_state(1, np.uint64)[0])
        result = run(at, shots, seed=fresh, observables=observable, pauli_order=pauli_order, precision=precision, device=device,
                     threads=threads, noise=noise, engine=engine, effort=effort)
        known = len(result.expectation_errors) > 0
        return float(np.sum(result.expectations)), float(result.expectation_sum_error) if known else 0.0

    value, value_error = value_at(bound)
    gradient, variances = np.zeros(len(names)), np.zeros(len(names))
    place = {name: k for k, name in enumerate(names)}
    for number in range(len(own)):
        name, _, params, _, controls, _, _, _ = own._operation(number)
        if name == "jump":
            raise ValueError(f"operation {number} is a jump: a gate of a loop is no single place to shift; write the loop out")
        for k, angle in enumerate(params):
            if not isinstance(angle, tuple) or (name == "gphase" and not controls):
                continue
            slope, variance = 0.0, 0.0
            for shift, weight in _rule(name, k, controls):
                here = np.array([number], np.uint32), np.array([k], np.uint32)
                shifted, error = value_at(bound._with_angles(*here, np.array([bound._operation(number)[2][k] + shift])))
                slope += weight * shifted
                variance += (weight * error)**2
            for parameter, coefficient in angle[1]:
                gradient[place[parameter]] += coefficient * slope
                variances[place[parameter]] += coefficient**2 * variance
    return ShiftGradient(value, gradient, value_error, np.sqrt(variances))


def _rule(name, k, controls):
    """Shifts of angle k of a gate, and the weights of values there: for frequencies step, 2 step, ..., count step."""
    plain = name[controls:] if name.startswith("c" * controls) else name
    if (plain, k) == ("p", 0) or name == "gphase" or not controls and (name, k) in _ROTATIONS | _PHASES:
        step, count = 1.0, 1
    elif (plain, k) in _HOPS or (plain, k) in _ROTATIONS and not plain.startswith("u"):
        step, count = 0.5, 2
    else:  # all that gates have
        step, count = 0.5, 4
    shifts = (2 * np.arange(1, 2 * count + 1) - 1) * np.pi / (2 * count * step)
    weights = step * (-1.0)**np.arange(2 * count) / (4 * count * np.sin(step * shifts / 2)**2)
    return list(zip(shifts, weights))
