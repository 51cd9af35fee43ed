"""PennyLane's observables as Pauli terms of Tilewave."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, Optional

import numpy as np
from pennylane.pauli import PauliSentence, PauliWord

from ..observables import Terms, mask_words, need_finite

_MOST_KEPT = 64
_MOST_SQUARED_TERMS = 64  # a variance of more is read off the amplitudes


def sentence_of(obs: Any) -> Optional[PauliSentence]:
    """The Pauli sentence of an observable; None where it has none."""
    return getattr(obs, "pauli_rep", None)


def terms_of(sentence: PauliSentence, wires: dict, num_qubits: int) -> Terms:
    """Real coefficients and masks; `wires` are the qubits of wires. Of a coefficient the real part counts, as PennyLane has
    it."""
    x, z = np.zeros((len(sentence), num_qubits), bool), np.zeros((len(sentence), num_qubits), bool)
    for row, word in enumerate(sentence):
        for wire, letter in word.items():
            x[row, wires[wire]] = letter != "Z"
            z[row, wires[wire]] = letter != "X"
    coefficients = np.array([complex(np.asarray(c)).real for c in sentence.values()], float)
    need_finite(coefficients)
    return coefficients, mask_words(x, num_qubits), mask_words(z, num_qubits)


class KnownObservables:
    """Terms of observables that came before: training asks for the same object again and again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Any] = OrderedDict()

    def terms(self, obs: Any, is_variance: bool, wires: dict, num_qubits: int) -> Optional[list[Terms]]:
        """The terms of <O>, or of <O^2> and of <O>; None where the observable is no Pauli sum, or its square too large a
        one."""
        key = id(obs), is_variance, num_qubits, tuple(wires[wire] for wire in obs.wires)
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known[1]
        sentence = sentence_of(obs)
        if sentence is None or not len(sentence) or (is_variance and len(sentence) > _MOST_SQUARED_TERMS):
            return None
        terms = [terms_of(sentence, wires, num_qubits)]
        if is_variance:
            terms.insert(0, terms_of(sentence @ sentence, wires, num_qubits))
        self._kept[key] = obs, terms  # keeps what has the id
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return terms


__all__ = ["KnownObservables", "PauliWord", "sentence_of", "terms_of"]
