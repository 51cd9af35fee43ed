"""Qiskit's SamplerV2 and EstimatorV2: broadcasting, parameters and result types as Qiskit defines them."""
from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable
from typing import Optional, Union

import numpy as np
from qiskit.primitives import (BaseEstimatorV2, BaseSamplerV2, BitArray, DataBin, PrimitiveJob, PrimitiveResult,
                               PubResult, SamplerPubResult)
from qiskit.primitives.containers.estimator_pub import EstimatorPub, EstimatorPubLike
from qiskit.primitives.containers.sampler_pub import SamplerPub, SamplerPubLike

from .. import _core
from .._types import Device, Noise, Precision
from ..noise import noise_model as _noise_model
from ..runs import _bits_of
from .convert import from_qiskit


class SamplerV2(BaseSamplerV2):
    """Shots of every classical register, in their order. ``seed``: an integer or a numpy Generator; ``precision``,
    ``device`` and ``threads`` as tilewave.run takes them; ``noise_model``: Aer's, or what tilewave.noise_model takes.
    Measurements, resets and control flow may stand anywhere."""

    def __init__(self, *, default_shots: int = 1024, seed: Union[int, np.random.Generator, None] = None,
                 precision: Precision = "double", device: Device = "auto", threads: int = 0,
                 noise_model: Noise = None) -> None:
        self._default_shots, self._seed = default_shots, seed
        self._how = (precision, device, threads, _noise_model(noise_model))

    @property
    def default_shots(self) -> int:
        return self._default_shots

    @property
    def seed(self) -> Union[int, np.random.Generator, None]:
        return self._seed

    def run(self, pubs: Iterable[SamplerPubLike], *,
            shots: Optional[int] = None) -> PrimitiveJob[PrimitiveResult[SamplerPubResult]]:
        """A job whose result has a BitArray for every classical register."""
        pubs = [SamplerPub.coerce(pub, self._default_shots if shots is None else shots) for pub in pubs]
        if any(len(pub.circuit.cregs) == 0 for pub in pubs):
            warnings.warn("a circuit has no classical registers, its result will be empty: add measurements")
        job = PrimitiveJob(self._run, pubs)
        job._submit()
        return job

    def _run(self, pubs):
        rng = np.random.default_rng(self._seed)
        return PrimitiveResult([self._run_pub(pub, rng) for pub in pubs], metadata={"version": 2})

    def _run_pub(self, pub, rng):
        bound = pub.parameter_values.bind_all(pub.circuit)
        where = {bit: k for k, bit in enumerate(pub.circuit.clbits)}
        registers = {register.name: [where[bit] for bit in register] for register in pub.circuit.cregs}
        arrays = {name: np.zeros((*bound.shape, pub.shots, (len(bits) + 7) // 8), np.uint8)
                  for name, bits in registers.items()}
        for index, circuit in np.ndenumerate(bound):
            bits = measured_bits(from_qiskit(circuit), pub.shots, int(rng.integers(1 << 63)), *self._how)
            for name, columns in registers.items():
                # the last byte holds the lowest bits
                packed = np.packbits(bits[:, columns], axis=1, bitorder="little")
                arrays[name][index] = packed[:, ::-1]
        data = {name: BitArray(array, len(registers[name])) for name, array in arrays.items()}
        return SamplerPubResult(DataBin(**data, shape=pub.shape),
                                metadata={"shots": pub.shots, "circuit_metadata": pub.circuit.metadata})


def measured_bits(circuit, shots, seed, precision, device, threads, noise=None):
    """bool [shots, classical bits]; zeros where nothing is measured."""
    if circuit.num_clbits == 0 or not circuit.records:
        return np.zeros((shots, circuit.num_clbits), np.bool_)
    result = _core._run(circuit, shots, seed, precision, device, threads, None, [], True, False, False, False,
                        noise and noise._core)
    return _bits_of(result, False)


class EstimatorV2(BaseEstimatorV2):
    """Expectations of observables. With precision 0 (the default) they are exact; otherwise normal noise of that standard
    deviation is added, as Qiskit's reference estimator does. A circuit that measures or resets in the middle is averaged
    over ceil(1 / precision^2) shots instead, and needs a precision. With a ``noise_model`` (Aer's, or what
    tilewave.noise_model takes) expectations are exact where a density matrix is the cheaper engine, and otherwise means
    over ceil(1 / precision^2) trajectories (1000 for precision 0) with their standard errors."""

    def __init__(self, *, default_precision: float = 0.0, seed: Union[int, np.random.Generator, None] = None,
                 precision: Precision = "double", device: Device = "auto", threads: int = 0,
                 noise_model: Noise = None) -> None:
        self._default_precision, self._seed = default_precision, seed
        self._how = (precision, device, threads)
        self._noise = _noise_model(noise_model)

    @property
    def default_precision(self) -> float:
        return self._default_precision

    @property
    def seed(self) -> Union[int, np.random.Generator, None]:
        return self._seed

    def run(self, pubs: Iterable[EstimatorPubLike], *,
            precision: Optional[float] = None) -> PrimitiveJob[PrimitiveResult[PubResult]]:
        """A job whose result has the arrays evs and stds."""
        pubs = [EstimatorPub.coerce(pub, self._default_precision if precision is None else precision) for pub in pubs]
        job = PrimitiveJob(self._run, pubs)
        job._submit()
        return job

    def _run(self, pubs):
        return PrimitiveResult([self._run_pub(pub) for pub in pubs], metadata={"version": 2})

    def _run_pub(self, pub):
        rng = np.random.default_rng(self._seed)
        bound = pub.parameter_values.bind_all(pub.circuit)
        # every circuit runs once, whatever it is asked
        numbers, observables = np.broadcast_arrays(np.arange(bound.size).reshape(bound.shape), pub.observables)
        asked = {}
        for index in np.ndindex(*numbers.shape):
            asked.setdefault(int(numbers[index]), []).append(index)
        evs, stds = np.zeros(numbers.shape), np.zeros(numbers.shape)
        circuits = bound.reshape(-1)
        for number, indices in asked.items():
            sums = [_terms_of(observables[index]) for index in indices]
            terms = [term for terms, _ in sums for term in terms]
            values, spread = self._values(from_qiskit(circuits[number]), terms, pub.precision, rng)
            at = 0
            for index, (its_terms, coefficients) in zip(indices, sums):
                evs[index] = np.dot(coefficients, values[at:at + len(its_terms)])
                stds[index] = np.linalg.norm(coefficients * np.broadcast_to(spread, len(values))[at:at + len(its_terms)])
                at += len(its_terms)
                if pub.precision and not np.any(spread):
                    evs[index] = rng.normal(evs[index], pub.precision)
        return PubResult(DataBin(evs=evs, stds=stds, shape=evs.shape),
                         metadata={"target_precision": pub.precision, "circuit_metadata": pub.circuit.metadata})

    def _values(self, circuit, terms, precision, rng):
        """<P> of every term, and the standard deviation of each for circuits that need shots."""
        how, device, threads = self._how
        if self._noise is not None:
            shots = math.ceil(1 / precision**2) if precision else 0
            result = _core._run(circuit, shots, int(rng.integers(1 << 63)), how, device, threads, None, terms, False,
                                False, False, False, self._noise._core)
            return result.expectations, result.expectation_errors if len(result.expectation_errors) else 0.0
        if not circuit.is_dynamic:
            return _core.State(circuit, how, device, threads, 0)._expectations(terms), 0.0
        if not precision:
            raise ValueError("a circuit that measures or resets in the middle has no exact expectation: ask for a "
                             "precision, the number of shots is 1 / precision^2")
        shots = math.ceil(1 / precision**2)
        result = _core._run(circuit, shots, int(rng.integers(1 << 63)), how, device, threads, None, terms, False, False,
                            False, False)
        return result.expectations, precision


# I, X, Y, Z and the projectors on their eigenstates as sums (factor, x, z).
_LETTERS = {"I": ((1.0, 0, 0),), "X": ((1.0, 1, 0),), "Y": ((1.0, 1, 1),), "Z": ((1.0, 0, 1),),
            "0": ((0.5, 0, 0), (0.5, 0, 1)), "1": ((0.5, 0, 0), (-0.5, 0, 1)),
            "+": ((0.5, 0, 0), (0.5, 1, 0)), "-": ((0.5, 0, 0), (-0.5, 1, 0)),
            "r": ((0.5, 0, 0), (0.5, 1, 1)), "l": ((0.5, 0, 0), (-0.5, 1, 1))}


def _terms_of(observable):
    """Terms (1, x, z) and their coefficients of a mapping from strings, the rightmost letter on qubit 0."""
    terms, coefficients = [], []
    for letters, coefficient in observable.items():
        if abs(complex(coefficient).imag) > 0:
            raise ValueError(f"the observable is not Hermitian: {letters} has the coefficient {coefficient}")
        for factors in itertools.product(*(_LETTERS[letter] for letter in letters)):
            x = z = 0
            weight = float(complex(coefficient).real)
            for factor, has_x, has_z in factors:
                weight, x, z = weight * factor, x << 1 | has_x, z << 1 | has_z
            terms.append((1.0, x, z))
            coefficients.append(weight)
    return terms, np.array(coefficients)
