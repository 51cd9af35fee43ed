"""Importance sampling by the number of faults, for errors too rare to wait for."""
from __future__ import annotations

from typing import Literal, NamedTuple, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._types import Device, Seed, StimCircuit
from .runs import seed_of
from .samplers import _fault_number, _shot_threads, _shots, _text_of


class Estimate(NamedTuple):
    """An estimated probability and the ends of its confidence interval."""

    value: float
    low: float
    high: float


class Stratum(NamedTuple):
    """Shots with a number of faults, such as "3" or "8+", which has probability `weight`: how many were attempted, how many
    post-selection kept, how many of these have each observable set, and how many have any."""

    faults: str
    weight: float
    attempted: int
    kept: int
    errors: NDArray[np.uint64]
    any_error: int


class Strata(NamedTuple):
    """What `sample_strata` found: the strata, which cover all numbers of faults, and estimates from all of them: the share
    of shots that is kept, and the shares of kept shots with each observable set and with any."""

    strata: tuple[Stratum, ...]
    kept: Estimate
    errors: tuple[Estimate, ...]
    any_error: Estimate
    attempted: int
    seed: int


def sample_strata(circuit: StimCircuit, shots: int, strata: str = "auto", *,
                  postselect: Optional[Union[Literal["all"], Sequence[int]]] = None, fault_distance: int = 0,
                  allocation: Literal["neyman", "even"] = "neyman", confidence: float = 0.95, seed: Seed = None,
                  threads: Optional[int] = None, device: Device = "cpu") -> Strata:
    """Samples shots with given numbers of faults and weighs them by the exact probabilities of these numbers.

    ``strata``: numbers of faults such as "2-7,8+", each a stratum; what is left below, between and above becomes strata too.
    ``postselect``: "all" or the detectors that must be silent. ``fault_distance``: no kept shot with fewer faults is wrong;
    ValueError where one is. ``allocation``: how the ``shots`` are shared out, by what a stratum adds to the variance of the
    result, or evenly. Intervals are Fay and Feuer's, for sums of rare events with weights. The result depends on the seed
    alone. Raises ValueError for strata that overlap or that no shot is in, for fewer than eight shots a stratum, and for a
    ``confidence`` below 0.5 or not below 1."""
    if allocation not in ("neyman", "even"):
        raise ValueError(f"allocation is 'neyman' or 'even', not {allocation!r}")
    if not isinstance(strata, str):
        raise TypeError(f"strata is a text such as \"2-7,8+\", not {type(strata).__name__}")
    words = postselect if postselect is None or isinstance(postselect, str) else ",".join(str(int(d)) for d in postselect)
    found = _core._sample_strata(*_text_of(circuit), _shots(shots), strata, words, _fault_number(fault_distance),
                                 allocation == "even", float(confidence), seed_of(seed), _shot_threads(threads, device), device)
    rows = tuple(Stratum(faults, weight, attempted, kept, np.array(errors, np.uint64), any_error)
                 for faults, weight, attempted, kept, errors, any_error in found["strata"])
    return Strata(rows, Estimate(*found["kept"]), tuple(Estimate(*e) for e in found["errors"]), Estimate(*found["any_error"]),
                  found["attempted"], found["seed"])


def fault_probabilities(circuit: StimCircuit, most: int) -> NDArray[np.float64]:
    """float64 [most + 1]: the probabilities that 0, 1, ... ``most`` places of noise of the circuit fire in a shot, to some
    twelve digits. Raises ValueError for circuits with leakage, and where more places than that always fire."""
    return np.array(_core._fault_probabilities(*_text_of(circuit), _fault_number(most)))
