"""Parameters of circuits, and affine expressions of them in the place of angles."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

_NOT_AFFINE = ("is not affine in the parameters: angles are sums of parameters with numbers as coefficients; compute other "
               "functions where the values come from (NumPy, torch, JAX)")


class ParameterExpression:
    """A number plus a sum of parameters with coefficients. Sums of such expressions, and products with numbers, are such
    expressions; any other function raises TypeError."""

    __slots__ = ("_constant", "_terms")
    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to the methods below

    def __init__(self, constant: float = 0.0, terms: Mapping[str, float] = {}) -> None:
        self._constant = float(constant)
        self._terms = {name: float(weight) for name, weight in terms.items() if weight}

    @property
    def constant(self) -> float:
        """What is left where all parameters are 0."""
        return self._constant

    @property
    def terms(self) -> dict[str, float]:
        """Coefficients of the parameters, by name."""
        return dict(self._terms)

    def _affine(self) -> tuple[float, list[tuple[str, float]]]:
        return self._constant, list(self._terms.items())

    def __add__(self, other: Any) -> ParameterExpression:
        other = _expression(other)
        if other is None:
            return NotImplemented
        terms = dict(self._terms)
        for name, weight in other._terms.items():
            terms[name] = terms.get(name, 0.0) + weight
        return ParameterExpression(self._constant + other._constant, terms)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> ParameterExpression:
        if isinstance(factor, ParameterExpression):
            if factor._terms and self._terms:
                raise TypeError(f"({self}) * ({factor}) {_NOT_AFFINE}")
            if factor._terms:
                return factor * self._constant
            factor = factor._constant
        number = _number(factor)
        if number is None:
            return NotImplemented
        return ParameterExpression(self._constant * number, {name: weight * number for name, weight in self._terms.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> ParameterExpression:
        number = _number(divisor)
        if number is None:
            if isinstance(divisor, ParameterExpression):
                raise TypeError(f"({self}) / ({divisor}) {_NOT_AFFINE}")
            return NotImplemented
        return ParameterExpression(self._constant / number, {name: weight / number for name, weight in self._terms.items()})

    def __rtruediv__(self, other: Any) -> ParameterExpression:
        raise TypeError(f"{other} / ({self}) {_NOT_AFFINE}")

    def __pow__(self, other: Any) -> ParameterExpression:
        raise TypeError(f"({self}) ** {other} {_NOT_AFFINE}")

    def __neg__(self) -> ParameterExpression:
        return self * -1.0

    def __pos__(self) -> ParameterExpression:
        return self

    def __sub__(self, other: Any) -> ParameterExpression:
        other = _expression(other)
        return NotImplemented if other is None else self + -other

    def __rsub__(self, other: Any) -> ParameterExpression:
        return -self + other

    def __float__(self) -> float:
        if self._terms:
            raise TypeError(f"{self} has no value (and no function but sums and products with numbers is taken of it): "
                            "bind the circuit to numbers")
        return self._constant

    def __eq__(self, other: object) -> bool:
        own = _expression(other)
        if own is None:
            return NotImplemented
        return self._constant == own._constant and self._terms == own._terms

    def __hash__(self) -> int:
        # without parameters it equals a number, so it has that one's
        return hash((self._constant, frozenset(self._terms.items())) if self._terms else self._constant)

    def __repr__(self) -> str:
        parts = [name if weight == 1 else f"{weight:g}*{name}" for name, weight in self._terms.items()]
        if self._constant or not parts:
            parts.append(f"{self._constant:g}")
        return " + ".join(parts).replace("+ -", "- ")


class Parameter(ParameterExpression):
    """A parameter of circuits. Its name says which: two of one name are the same parameter."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"a parameter's name is {name!r}: give a text that is not empty")
        super().__init__(0.0, {name: 1.0})
        self.name = name


#: What may stand in the place of an angle: radians, or an expression of parameters.
Angle = Union[float, ParameterExpression]


def parameters(name: str, count: int) -> list[Parameter]:
    """`count` parameters, name[0], name[1] and so on."""
    return [Parameter(f"{name}[{k}]") for k in range(count)]


def _number(value):
    if isinstance(value, ParameterExpression):
        return None if value._terms else value._constant
    if isinstance(value, (str, bytes)):  # which float() would read
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _expression(value):
    if isinstance(value, ParameterExpression):
        return value
    number = _number(value)
    return None if number is None else ParameterExpression(number)


def expression_of(constant: float, terms: Sequence[tuple[str, float]]) -> ParameterExpression:
    """From what circuits keep of an angle; a Parameter where it is one."""
    if constant == 0 and len(terms) == 1 and terms[0][1] == 1:
        return Parameter(terms[0][0])
    return ParameterExpression(constant, dict(terms))


def value_array(names: Sequence[str], values: Any) -> NDArray[np.float64]:
    """Values of parameters as float64[..., parameters]: an array, or a dictionary from parameters or their names to numbers or
    arrays (which broadcast). Raises ValueError for another number of parameters, for names that are missing or too many,
    and for values that are not finite."""
    if isinstance(values, Mapping):
        values = _from_mapping(names, values)
    array = _real_array(values, "the values of parameters are", "give an array of numbers, or a dictionary")
    if array.ndim == 0 or array.shape[-1] != len(names):
        raise ValueError(f"{len(names)} parameters, got values of shape {array.shape}: the last dimension is the parameters")
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"the value of parameter '{names[where[-1]]}' at {list(where)} is {array[where]}: give finite numbers")
    return array


def _real_array(values, what, advice):
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US":  # which NumPy would read
            raise TypeError
        if array.dtype.kind == "c" and np.any(array.imag):
            raise ValueError(f"{what} complex: give real numbers")
        return np.asarray(array.real if array.dtype.kind == "c" else array, np.float64, order="C")
    except TypeError:
        raise TypeError(f"{what} {type(values).__name__}: {advice}") from None


def _from_mapping(names, values):
    given: dict[Any, Any] = {}
    for key, value in values.items():
        name = key.name if isinstance(key, Parameter) else key
        if name in given:
            raise ValueError(f"the parameter '{name}' has two values, one by its name and one by itself: give one of them")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"{_names(missing)} no value")
    known = set(names)
    unknown = [str(name) for name in given if name not in known]
    if unknown:
        raise ValueError(f"the circuit has no parameter '{unknown[0]}'")
    columns = np.broadcast_arrays(*(_real_array(given[name], f"the value of parameter '{name}' is", "give a number, or an array of them")
                                    for name in names)) if names else []
    return np.stack(columns, axis=-1) if names else np.zeros(0)


def _names(names):
    return f"the parameter '{names[0]}' has" if len(names) == 1 else f"{len(names)} parameters ('{names[0]}', ...) have"

