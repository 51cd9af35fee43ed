"""PennyLane's observables as Pauli terms of Tilewave."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, Optional

import numpy as np
import pennylane as qml
from pennylane.pauli import PauliSentence

from ..observables import Terms, mask_words, need_finite

_MOST_KEPT = 256
_MOST_KEPT_TERMS = 1 << 18  # of all of them; the last one is kept whatever its size
MOST_SQUARED_TERMS = 64  # a variance of more is read off the amplitudes
_MOST_COMPARED_TERMS = 64  # larger observables are known by who they are


def sentence_of(obs: Any) -> Optional[PauliSentence]:
    """The Pauli sentence of an observable; None where it has none."""
    return getattr(obs, "pauli_rep", None)


def real_of(coefficient: Any, what: Any) -> float:
    """A coefficient of an observable. Raises ValueError for a complex one, whose observable is not Hermitian: it has no
    real expectation value."""
    if not isinstance(coefficient, (int, float, complex)):  # a tensor, which may be differentiated
        coefficient = qml.math.toarray(coefficient)
    value = complex(np.asarray(coefficient))
    if abs(value.imag) > 1e-8 * max(abs(value.real), 1.0):
        raise ValueError(f"the observable is not Hermitian: the coefficient of {what} is {value:.6g}; give its real and its "
                         "imaginary part as two observables")
    return value.real


def terms_of(sentence: PauliSentence, wires: dict[Any, int], num_qubits: int) -> Terms:
    """Real coefficients and masks; `wires` are the qubits of wires."""
    x, z = np.zeros((len(sentence), num_qubits), bool), np.zeros((len(sentence), num_qubits), bool)
    for row, word in enumerate(sentence):
        for wire, letter in word.items():
            x[row, wires[wire]] = letter != "Z"
            z[row, wires[wire]] = letter != "X"
    coefficients = np.array([real_of(c, word) for word, c in sentence.items()], float)
    need_finite(coefficients)
    return coefficients, mask_words(x, num_qubits), mask_words(z, num_qubits)


def with_terms(states: Any, terms: Terms) -> Any:
    """O psi for states [sets, 2^n] and the terms of O, strings P = i^(number of Y) X^x Z^z of at most 64 qubits."""
    basis, total = np.arange(states.shape[1]), np.zeros(states.shape, complex)
    for coefficient, x, z in zip(terms[0], *(np.reshape(masks, (len(terms[0]), -1))[:, 0] for masks in terms[1:])):
        signs = 1 - 2 * (np.bitwise_count(basis & int(z)) & 1).astype(int)
        total += coefficient * 1j ** (int(x) & int(z)).bit_count() * (signs * states)[:, basis ^ int(x)]
    return total


class Known:
    """The terms of <O>, or of <O^2> and of <O>, and a key that others of the same terms have."""

    __slots__ = ("terms", "key", "obs")

    def __init__(self, terms: list[Terms], obs: Any) -> None:
        self.terms, self.obs = terms, obs
        self.key = tuple(part.tobytes() for part in terms[0])

    @property
    def num_terms(self) -> int:
        return sum(len(part[0]) for part in self.terms)


class KnownObservables:
    """Terms of observables that came before: training asks for the same ones again and again, small ones made anew."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Known] = OrderedDict()
        self._num_terms = 0

    def find(self, obs: Any, is_variance: bool, wires: dict[Any, int], num_qubits: int) -> Optional[Known]:
        """None where the observable is no Pauli sum, or its square too large a one."""
        sentence = sentence_of(obs)
        if sentence is None or not len(sentence) or (is_variance and len(sentence) > MOST_SQUARED_TERMS):
            return None
        if len(sentence) <= _MOST_COMPARED_TERMS:
            key: Any = is_variance, num_qubits, tuple(
                (tuple((wires[wire], letter) for wire, letter in word.items()), real_of(c, word))
                for word, c in sentence.items())
        else:
            key = id(obs), num_qubits, tuple(wires[wire] for wire in obs.wires)
        known = self._kept.get(key)
        if known is None:
            terms = [terms_of(sentence, wires, num_qubits)]
            if is_variance:
                terms.insert(0, terms_of(sentence @ sentence, wires, num_qubits))
            # what has the id is kept
            known = Known(terms, obs)
            self._num_terms += known.num_terms
        self._kept[key] = known
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and (len(self._kept) > _MOST_KEPT or self._num_terms > _MOST_KEPT_TERMS):
            self._num_terms -= self._kept.popitem(last=False)[1].num_terms
        return known
