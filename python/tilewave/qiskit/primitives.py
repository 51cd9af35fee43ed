"""Qiskit's SamplerV2 and EstimatorV2: broadcasting, parameters and result types as Qiskit defines them."""
from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Optional, Union

import numpy as np
from qiskit.primitives import (BaseEstimatorV2, BaseSamplerV2, BitArray, DataBin, PrimitiveJob, PrimitiveResult,
                               PubResult, SamplerPubResult)
from qiskit.primitives.containers.estimator_pub import EstimatorPub, EstimatorPubLike
from qiskit.primitives.containers.sampler_pub import SamplerPub, SamplerPubLike

from .. import _core
from .._types import Device, Noise, Precision
from ..noise import NoiseModel
from ..noise import noise_model as _noise_model
from ..observables import NO_TERMS, mask_words, need_finite
from ..runs import _bits_of, how_of, means_of
from .convert import from_qiskit
from .jobs import TilewavePrimitiveJob
from .template import bound_circuits

_Rng = Union[int, np.random.Generator, None]


@dataclass
class _RunOptions:
    seed: _Rng = None
    precision: Precision = "double"
    device: Device = "auto"
    threads: int = 0
    noise_model: Noise = None

    def update(self, **values: Any) -> None:
        """Sets options by name."""
        known = [field.name for field in fields(self)]
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"unknown option {name}: use {', '.join(known)}")
            setattr(self, name, value)

    def how(self) -> tuple[str, str, int]:
        return how_of(self.precision, self.device, self.threads)


@dataclass
class SamplerOptions(_RunOptions):
    """What a SamplerV2 runs with; may be changed between runs."""
    default_shots: int = 1024


@dataclass
class EstimatorOptions(_RunOptions):
    """What an EstimatorV2 runs with; may be changed between runs."""
    default_precision: float = 0.0


def _options_of_backend(backend):
    chosen = backend.options
    return {"seed": chosen.seed_simulator, "precision": chosen.precision, "device": chosen.device, "threads": chosen.threads,
            "noise_model": chosen.noise_model}


class _Primitive:
    _options: Any

    def _noise(self) -> Optional[NoiseModel]:
        self._options.noise_model = _noise_model(self._options.noise_model)
        return self._options.noise_model  # type: ignore[no-any-return]

    def _generator(self) -> np.random.Generator:
        """The random numbers of a job that is being submitted: neither options that change later nor other jobs with the
        same generator touch them."""
        seed = self._options.seed
        return np.random.default_rng(int(seed.integers(1 << 63)) if isinstance(seed, np.random.Generator) else seed)

    @property
    def seed(self) -> _Rng:
        return self._options.seed  # type: ignore[no-any-return]


class SamplerV2(_Primitive, BaseSamplerV2):
    """Shots of every classical register, in their order. ``seed``: an integer or a numpy Generator; ``precision``,
    ``device`` and ``threads`` as tilewave.run takes them; ``noise_model``: Aer's, or what tilewave.noise_model takes. The
    same in ``options``, a dictionary, and in the attribute of that name, which may be changed. Measurements, resets and
    control flow may stand anywhere."""

    def __init__(self, *, default_shots: int = 1024, seed: _Rng = None, precision: Precision = "double",
                 device: Device = "auto", threads: int = 0, noise_model: Noise = None,
                 options: Optional[Mapping[str, Any]] = None) -> None:
        self._options = SamplerOptions(seed, precision, device, threads, noise_model, default_shots)
        self._options.update(**(options or {}))
        self._noise()

    @classmethod
    def from_backend(cls, backend: Any, **options: Any) -> SamplerV2:
        """With the options of a TilewaveBackend, and further ones."""
        return cls(options={**_options_of_backend(backend), "default_shots": backend.options.shots, **options})

    @property
    def options(self) -> SamplerOptions:
        return self._options

    @property
    def default_shots(self) -> int:
        return self._options.default_shots

    def run(self, pubs: Iterable[SamplerPubLike], *,
            shots: Optional[int] = None) -> PrimitiveJob[PrimitiveResult[SamplerPubResult]]:
        """A job whose result has a BitArray for every classical register."""
        pubs = list(pubs)
        default = _need_shots("default_shots", self._options.default_shots) if shots is None else _need_shots("shots", shots)
        for number, pub in enumerate(pubs):
            own = getattr(pub, "shots", None) if isinstance(pub, SamplerPub) else pub[2] if _is_long(pub, 3) else None
            if own is not None:
                _need_shots(f"the shots of pub {number}", own)
        pubs = [SamplerPub.coerce(pub, default) for pub in pubs]
        if any(len(pub.circuit.cregs) == 0 for pub in pubs):
            warnings.warn("a circuit has no classical registers, its result will be empty: add measurements")
        job = TilewavePrimitiveJob(self._run, pubs, self._generator(), self._options.how(), self._noise())
        job._submit()
        return job

    def _run(self, pubs, rng, how, noise):
        return PrimitiveResult([self._run_pub(pub, rng, how, noise) for pub in pubs], metadata={"version": 2})

    def _run_pub(self, pub, rng, how, noise):
        where = {bit: k for k, bit in enumerate(pub.circuit.clbits)}
        registers = {register.name: [where[bit] for bit in register] for register in pub.circuit.cregs}
        shape = pub.parameter_values.shape
        arrays = {name: np.zeros((*shape, pub.shots, (len(bits) + 7) // 8), np.uint8) for name, bits in registers.items()}
        for index, bits in zip(np.ndindex(*shape), _shots_of(pub, rng, how, noise)):
            for name, columns in registers.items():
                # the last byte holds the lowest bits
                packed = np.packbits(bits[:, columns], axis=1, bitorder="little")
                arrays[name][index] = packed[:, ::-1]
        data = {name: BitArray(array, len(registers[name])) for name, array in arrays.items()}
        return SamplerPubResult(DataBin(**data, shape=pub.shape),
                                metadata={"shots": pub.shots, "circuit_metadata": pub.circuit.metadata})


def _need_shots(name, shots):
    """The number of shots, of which Qiskit's samplers take at least one."""
    if isinstance(shots, (bool, np.bool_)) or not isinstance(shots, Integral):
        raise TypeError(f"{name}: {shots!r} ({type(shots).__name__}) is no number of shots: give a whole number of at least 1")
    if not 0 < shots <= _MOST_SHOTS:
        raise ValueError(f"{name}: {shots} shots cannot be taken: give 1 to {_MOST_SHOTS}, more in several runs")
    return int(shots)


def _shots_of(pub, rng, how, noise):
    """bool [shots, classical bits] of every set of values."""
    many = _Many.of(pub, how, noise)
    if many is not None:
        seed = int(rng.integers(1 << 63))
        for outcomes in many.samples(pub.shots, seed):
            for rows in outcomes:
                bits = np.zeros((pub.shots, pub.circuit.num_clbits), np.bool_)
                for clbit, qubit in many.writes.items():
                    bits[:, clbit] = rows >> np.uint64(qubit) & np.uint64(1)
                yield bits
        return
    for circuit in circuits_of(pub, noise):
        yield measured_bits(circuit, pub.shots, int(rng.integers(1 << 63)), how, noise)


class _Many:
    """A circuit without noise whose sets of values run side by side, converted once."""

    def __init__(self, circuit, rows, how):
        self.circuit, self.rows, self.how = circuit, rows, how
        self.plain = self.function((NO_TERMS, 0))  # refuses what is not unitary
        self.writes = {}  # classical bits, by the qubit that is measured into them at the end
        for op in circuit:
            if op.name == "measure":
                self.writes[op.clbits[0]] = op.qubits[0]

    @classmethod
    def of(cls, pub, how, noise):
        """None where sets run one by one: a few of them, larger circuits, noise, and what is no unitary circuit with affine
        angles on one device."""
        values = pub.parameter_values
        if (noise is not None or values.size < _FEWEST_SETS or pub.circuit.num_qubits > _MOST_QUBITS
                or not pub.circuit.parameters or not _ONE_DEVICE.fullmatch(how[1])):
            return None
        rows = np.ascontiguousarray(values.as_array(list(pub.circuit.parameters)).reshape(values.size, -1), np.float64)
        if not np.isfinite(rows).all():
            return None  # conversion says what is wrong
        try:
            return cls(from_qiskit(pub.circuit), rows, how)
        except ValueError:
            return None

    def function(self, terms):
        """Expectations of `terms`, one by one."""
        own, count = terms
        return _core._Function(self.circuit, own, np.arange(count, dtype=np.uint32), count, *self.how)

    def samples(self, shots, seed):
        """Basis states [sets, shots], some sets at a time."""
        step = max(1, (1 << 22) // max(shots, 1))
        for first in range(0, len(self.rows), step):
            yield self.plain._samples(self.rows[first:first + step], _FROM_ZERO, shots, (seed + first) % (1 << 63))


_MOST_SHOTS, _LEAST_PRECISION = 100_000_000, 1e-4  # of one run
_FROM_ZERO = np.zeros((0, 1), np.complex128)
_ONE_DEVICE = re.compile(r"auto|cpu|(cuda|gpu)(:\d+)?", re.I)
_FEWEST_SETS = 3  # that are worth a conversion with parameters
_MOST_QUBITS = 13  # states that vectors hold side by side


def circuits_of(pub, noise):
    """The circuits of a pub, converted, one a set of values."""
    circuit = pub.circuit
    if noise is not None and noise._passes is not None:
        circuit = noise._passes.run(circuit)
    values = pub.parameter_values
    parameters = list(circuit.parameters)
    rows = values.as_array(parameters).reshape(values.size, -1) if parameters else np.zeros((values.size, 0))
    yield from bound_circuits(circuit, rows)


def measured_bits(circuit, shots, seed, how, noise=None):
    """bool [shots, classical bits]; zeros where nothing is measured."""
    if circuit.num_clbits == 0 or not circuit.records:
        return np.zeros((shots, circuit.num_clbits), np.bool_)
    result = _core._run(circuit, shots, seed, *how, None, NO_TERMS, True, False, False, False, noise and noise._core)
    return _bits_of(result, False)


class EstimatorV2(_Primitive, BaseEstimatorV2):
    """Expectations of observables. With precision 0 (the default) they are exact, also of circuits that measure or reset in the
    middle, whose outcomes are walked through (measurements at the end are left out); otherwise normal noise of that
    standard deviation is added, as Qiskit's reference estimator does, and circuits that measure in the middle are averaged
    over ceil(1 / precision^2) shots instead, with their standard errors. With a ``noise_model`` (Aer's, or what
    tilewave.noise_model takes), or with channels in the circuit, precision 0 takes a density matrix, the memory and time of twice the qubits, and raises
    MemoryError where that does not fit; at another precision expectations come from a density matrix where it is the cheaper
    engine, and otherwise are means over ceil(1 / precision^2) trajectories with their standard errors. ``options``: the
    arguments as a dictionary; the attribute of that name may be changed."""

    def __init__(self, *, default_precision: float = 0.0, seed: _Rng = None, precision: Precision = "double",
                 device: Device = "auto", threads: int = 0, noise_model: Noise = None,
                 options: Optional[Mapping[str, Any]] = None) -> None:
        self._options = EstimatorOptions(seed, precision, device, threads, noise_model, default_precision)
        self._options.update(**(options or {}))
        self._noise()

    @classmethod
    def from_backend(cls, backend: Any, **options: Any) -> EstimatorV2:
        """With the options of a TilewaveBackend, and further ones."""
        return cls(options={**_options_of_backend(backend), **options})

    @property
    def options(self) -> EstimatorOptions:
        return self._options

    @property
    def default_precision(self) -> float:
        return self._options.default_precision

    def run(self, pubs: Iterable[EstimatorPubLike], *,
            precision: Optional[float] = None) -> PrimitiveJob[PrimitiveResult[PubResult]]:
        """A job whose result has the arrays evs and stds."""
        pubs = list(pubs)
        default = _need_precision("default_precision", self._options.default_precision) if precision is None \
            else _need_precision("precision", precision)
        for number, pub in enumerate(pubs):
            own = getattr(pub, "precision", None) if isinstance(pub, EstimatorPub) else pub[3] if _is_long(pub, 4) else None
            if own is not None:
                _need_precision(f"the precision of pub {number}", own)
        pubs = [EstimatorPub.coerce(pub, default) for pub in pubs]
        generators = [self._generator() for _ in pubs]
        job = TilewavePrimitiveJob(self._run, pubs, generators, self._options.how(), self._noise())
        job._submit()
        return job

    def _run(self, pubs, generators, how, noise):
        return PrimitiveResult([self._run_pub(pub, rng, how, noise) for pub, rng in zip(pubs, generators)],
                               metadata={"version": 2})

    def _run_pub(self, pub, rng, how, noise):
        shape = pub.parameter_values.shape
        # every circuit runs once, whatever it is asked
        numbers, observables = np.broadcast_arrays(np.arange(math.prod(shape)).reshape(shape), pub.observables)
        asked = {}
        for index in np.ndindex(*numbers.shape):
            asked.setdefault(int(numbers[index]), []).append(index)
        evs, stds = np.zeros(numbers.shape), np.zeros(numbers.shape)
        known = _Observables(pub.circuit.num_qubits)
        together = [known.together([observables[index] for index in asked.get(number, [])]) for number in range(math.prod(shape))]
        for number, (values, spread) in enumerate(_all_expectations(pub, [terms for terms, _ in together], rng, how, noise)):
            indices, parts = asked.get(number, []), together[number][1]
            is_exact = spread is None
            spread = np.broadcast_to(0.0 if is_exact else spread, len(values))
            for index, (first, coefficients) in zip(indices, parts):
                own = slice(first, first + len(coefficients))
                evs[index] = np.dot(coefficients, values[own])
                stds[index] = np.linalg.norm(coefficients * spread[own])
                if pub.precision and is_exact:
                    evs[index] = rng.normal(evs[index], pub.precision)
        return PubResult(DataBin(evs=evs, stds=stds, shape=evs.shape),
                         metadata={"target_precision": pub.precision, "circuit_metadata": pub.circuit.metadata})


def _all_expectations(pub, terms, rng, how, noise):
    """Those of every set of values, for its own terms."""
    groups = {}  # sets that are asked the same
    for number, own in enumerate(terms):
        groups.setdefault(id(own), []).append(number)
    many = _Many.of(pub, how, noise) if len(groups) * _FEWEST_SETS <= len(terms) else None
    if many is None:
        for own, circuit in zip(terms, circuits_of(pub, noise)):
            yield _expectations(circuit, own, pub.precision, rng, how, noise)
        return
    values = [None] * len(terms)
    for numbers in groups.values():
        own = terms[numbers[0]]
        for number, row in zip(numbers, many.function((own, len(own[0])))._expectations(many.rows[numbers], _FROM_ZERO)):
            values[number] = row
    for row in values:
        yield row, None


def _expectations(circuit, terms, precision, rng, how, noise):
    """<P> of every term, and the standard error of each where they are means over shots, else None."""
    is_noisy = noise is not None or circuit.is_noisy
    if not is_noisy and not circuit.is_dynamic:
        return means_of(circuit, terms, how), None
    core = noise and noise._core
    if not precision:
        try:
            return _core._exact_expectations(circuit, terms, *how, core), None
        except MemoryError as error:
            if not is_noisy:
                raise
            raise MemoryError(f"{error}; precision 0 takes a density matrix of this circuit: give a precision above 0, which "
                              "averages over trajectories") from error
    result = _core._run(circuit, _shots_for(precision), int(rng.integers(1 << 63)), *how, None, terms, False, False, False, False, core)
    errors = result.expectation_errors
    return result.expectations, np.where(np.isnan(errors), precision, errors) if len(errors) else None  # NaN: of a single shot


def _shots_for(precision):
    """How many have a mean of +-1 with this standard deviation."""
    if precision < _LEAST_PRECISION:
        raise ValueError(f"precision {precision:g} takes 1 / precision^2 shots of a circuit that is noisy or measures in the middle, "
                         f"more than the 1e8 of one run: use {_LEAST_PRECISION:g} or more, or 0, which is exact where that can be")
    return min(math.ceil(1 / precision**2), _MOST_SHOTS)


def _need_precision(name, precision):
    """The precision, which is a standard deviation."""
    if isinstance(precision, (bool, np.bool_)) or not isinstance(precision, Real):
        raise TypeError(f"{name} is {precision!r} ({type(precision).__name__}): give a standard deviation, or 0 for exact values")
    if not 0 <= precision < math.inf:
        raise ValueError(f"{name} is {precision}: give a standard deviation, a finite number of at least 0 (0: exact values)")
    return precision


def _is_long(pub, length):
    return isinstance(pub, Sequence) and len(pub) >= length


# I, X, Y, Z and the projectors on their eigenstates as sums (factor, x, z).
_LETTERS = {"I": ((1.0, 0, 0),), "X": ((1.0, 1, 0),), "Y": ((1.0, 1, 1),), "Z": ((1.0, 0, 1),),
            "0": ((0.5, 0, 0), (0.5, 0, 1)), "1": ((0.5, 0, 0), (-0.5, 0, 1)),
            "+": ((0.5, 0, 0), (0.5, 1, 0)), "-": ((0.5, 0, 0), (-0.5, 1, 0)),
            "r": ((0.5, 0, 0), (0.5, 1, 1)), "l": ((0.5, 0, 0), (-0.5, 1, 1))}


class _Observables:
    """Terms of observables, each worked out once."""

    def __init__(self, num_qubits):
        self.num_qubits = num_qubits
        self.single, self.several = {}, {}

    def together(self, observables):
        """The terms of several, and of each where its own begin and their coefficients."""
        key = tuple(map(id, observables))
        if key not in self.several:
            parts, first, each = [], 0, [self.terms(observable) for observable in observables]
            for coefficients, _, _ in each:
                parts.append((first, coefficients))
                first += len(coefficients)
            x, z = (np.concatenate([part[k] for part in each]) if each else NO_TERMS[k] for k in (1, 2))
            self.several[key] = observables, ((np.ones(first), x, z), parts)  # keeps what has the ids
        return self.several[key][1]

    def terms(self, observable):
        """Coefficients and masks of a mapping from strings, the rightmost letter on qubit 0."""
        if id(observable) in self.single:
            return self.single[id(observable)]
        coefficients, x, z = [], [], []
        for letters, coefficient in observable.items():
            if abs(complex(coefficient).imag) > 0:
                raise ValueError(f"the observable is not Hermitian: {letters} has the coefficient {coefficient}")
            for factors in itertools.product(*(_LETTERS[letter] for letter in reversed(letters))):
                coefficients.append(complex(coefficient).real * math.prod(factor for factor, _, _ in factors))
                x.append([has_x for _, has_x, _ in factors])
                z.append([has_z for _, _, has_z in factors])
        terms = (np.array(coefficients), mask_words(x, self.num_qubits), mask_words(z, self.num_qubits)) if x else NO_TERMS
        need_finite(terms[0])
        self.single[id(observable)] = terms
        return terms
