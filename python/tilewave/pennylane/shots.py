"""Measurements with shots: what commutes qubit by qubit is read from the same shots.

`draw(rotations, operations)` gives samples after a list of (gate, qubit) or of PennyLane's operations: bool [shots, wires],
with a first axis for a batch, and the first and last shot of each entry of the shot vector. The column of a wire is its
place in the order of wires.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pennylane as qml
from pennylane.measurements import (ClassicalShadowMP, CountsMP, ExpectationMP, ProbabilityMP, SampleMP, ShadowExpvalMP,
                                    VarianceMP)
from pennylane.ops import CompositeOp, LinearCombination, SProd, Sum
from pennylane.pauli import PauliWord

from .observables import real_of, sentence_of

_ROTATIONS = {"X": ("h",), "Y": ("sdg", "h"), "Z": ()}


class _Group:
    """A basis, and who reads shots in it."""

    def __init__(self, basis):
        self.basis, self.readers = dict(basis), []

    def takes(self, basis):
        return all(self.basis.get(wire, letter) == letter for wire, letter in basis.items())


class ShotPlan:
    """Which shots answer which measurements."""

    def __init__(self, measurements: list[Any], wires: dict, batch_size: Any = None) -> None:
        self.wires, self.batch_size = wires, batch_size
        self.order = qml.wires.Wires(list(wires))
        self.groups: list[_Group] = []
        self.own: list[tuple[list[Any], Any]] = []  # gates of PennyLane, reader
        self.readers = [self._reader(mp) for mp in measurements]

    def rotations(self, group: _Group) -> list[tuple[str, int]]:
        return [(gate, self.wires[wire]) for wire, letter in group.basis.items() for gate in _ROTATIONS[letter]]

    def answer(self, draw: Callable[[Any, Any], Any]) -> list[Any]:
        """For each measurement a list of answers, one an entry of the shot vector."""
        bins: list[tuple[int, int]] = []
        for group in self.groups:
            samples, bins = draw(self.rotations(group), None)
            for reader in group.readers:
                reader.see(samples, bins)
        for gates, reader in self.own:
            samples, bins = draw([], gates)
            reader.see(samples, bins)
        if not self.groups and not self.own:  # only identities are asked for
            _, bins = draw([], None)
        return [reader.answers(len(bins)) for reader in self.readers]

    def _reader(self, mp):
        if mp.mv is not None:
            return self._join({}, _Whole(mp, self.order))
        if mp.obs is None:
            wires = mp.wires or self.order
            return self._join(dict.fromkeys(wires, "Z"), _Whole(mp, self.order))
        sentence = sentence_of(mp.obs)
        if isinstance(mp, ExpectationMP):
            if sentence is not None:
                return self._sentence(sentence)
            if isinstance(mp.obs, (Sum, LinearCombination)):
                coefficients, operands = mp.obs.terms()
                return _Total([(real_of(c, o), self._reader(ExpectationMP(o)))
                               for c, o in zip(coefficients, operands)])
            if isinstance(mp.obs, SProd):
                return _Total([(real_of(mp.obs.scalar, mp.obs.base), self._reader(ExpectationMP(mp.obs.base)))])
        for part, coefficient in (sentence or {}).items():  # its outcomes are real
            real_of(coefficient, part)
        word = _word_of(mp.obs)
        if word is not None and isinstance(mp, (VarianceMP, SampleMP, CountsMP, ProbabilityMP)):
            return self._join(dict(word), _Whole(mp, self.order))
        reader = _Whole(mp, self.order)
        self.own.append((mp.diagonalizing_gates(), reader))
        return reader

    def _sentence(self, sentence):
        parts = []
        for word, coefficient in sentence.items():
            coefficient = real_of(coefficient, word)
            reader = self._join(dict(word), _Parity([len(self.wires) - 1 - self.wires[w] for w in word])) if len(word) \
                else _One(self.batch_size)
            parts.append((coefficient, reader))
        return _Total(parts)

    def _join(self, basis, reader):
        for group in self.groups:
            if group.takes(basis):
                break
        else:
            group = _Group({})
            self.groups.append(group)
        group.basis.update(basis)
        group.readers.append(reader)
        return reader


def _word_of(obs) -> Any:
    """The Pauli word that an observable is; None where it is something else, or has a factor."""
    sentence = sentence_of(obs)
    if sentence is None or len(sentence) != 1:
        return None
    (word, coefficient), = sentence.items()
    return word if len(word) and coefficient == 1 and isinstance(word, PauliWord) else None


class _Whole:
    """PennyLane reads the samples."""

    def __init__(self, mp, order):
        self.mp, self.order, self.found = mp, order, []

    def see(self, samples, bins):
        numbers = samples.astype(np.int64)
        self.found = [self.mp.process_samples(numbers[..., lower:upper, :], self.order) if upper > lower
                      else without_shots(self.mp, self.order) for lower, upper in bins]

    def answers(self, count):
        return self.found


class _Parity:
    """The mean of +-1."""

    def __init__(self, columns):
        self.columns, self.found = columns, []

    def see(self, samples, bins):
        odd = np.bitwise_xor.reduce(samples[..., self.columns], axis=-1)
        self.found = [1 - 2 * odd[..., lower:upper].mean(axis=-1) if upper > lower else np.float64("nan")
                      for lower, upper in bins]

    def answers(self, count):
        return self.found


class _One:
    """The mean of an identity."""

    def __init__(self, batch_size):
        self.ones = np.float64(1) if batch_size is None else np.ones(batch_size)

    def answers(self, count):
        return [self.ones] * count


class _Total:
    def __init__(self, parts):
        self.parts = parts

    def answers(self, count):
        found = [(c, reader.answers(count)) for c, reader in self.parts]
        return [sum((c * values[k] for c, values in found), np.float64(0)) for k in range(count)]


def without_shots(mp: Any, order: Any) -> Any:
    """What is answered where no shot is left."""
    if isinstance(mp, ProbabilityMP):
        wires = mp.mv if isinstance(mp.mv, (list, tuple)) else mp.wires
        return np.full(2 ** len(wires or order), np.nan)
    if isinstance(mp, CountsMP):
        return {}
    if isinstance(mp, SampleMP):
        return np.zeros((0,) if mp.obs is not None or mp.mv is not None else (0, len(mp.wires or order)))
    return np.float64("nan")


def is_shadow(mp: Any) -> bool:
    return isinstance(mp, (ClassicalShadowMP, ShadowExpvalMP))


def accepts_shots(obs: Any) -> bool:
    """Whether an observable can be measured with shots."""
    if sentence_of(obs) is not None:
        return True
    if isinstance(obs, CompositeOp):
        return all(accepts_shots(operand) for operand in obs.operands)
    if isinstance(obs, LinearCombination):
        return all(accepts_shots(operand) for operand in obs.terms()[1])
    if isinstance(obs, SProd):
        return accepts_shots(obs.base)
    return bool(obs.has_diagonalizing_gates)
