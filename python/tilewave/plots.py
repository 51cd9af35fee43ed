"""Pictures with matplotlib. Every function draws on `ax` (a new one when None) and returns it."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike

from ._core import Result
from .runs import Plan


def _axes(ax, **figure):
    if ax is not None:
        return ax
    from matplotlib import pyplot
    return pyplot.subplots(layout="constrained", **figure)[1]


def plot_counts(counts: Union[Mapping[str, int], Result], ax: Any = None, *, most: int = 32) -> Any:
    """Counts of outcomes (a dictionary or a Result) as bars, by outcome; only the `most` frequent ones."""
    counts = getattr(counts, "counts", counts)
    if not counts:
        raise ValueError("there are no counts to draw")
    ax = _axes(ax)
    shown = sorted(sorted(counts, key=counts.get, reverse=True)[:most])
    ax.bar(range(len(shown)), [counts[key] for key in shown])
    ax.set_xticks(range(len(shown)), shown, rotation=90 if len(shown) > 4 else 0, family="monospace")
    ax.set_ylabel("shots")
    ax.set_xlabel("outcome")
    if len(shown) < len(counts):
        ax.set_title(f"{len(shown)} of {len(counts)} outcomes", fontsize="small")
    return ax


def plot_probabilities(probabilities: ArrayLike, ax: Any = None) -> Any:
    """P(qubit = 1), one bar a qubit: what `marginals` gives."""
    values = np.asarray(probabilities, float)
    if values.ndim != 1:
        raise ValueError(f"probabilities are one number a qubit, not an array {list(values.shape)}")
    ax = _axes(ax)
    ax.bar(range(len(values)), values)
    ax.set_ylim(0, 1)
    ax.set_xlabel("qubit")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("P(1)")
    return ax


def plot_plan(result: Union[Result, Plan], ax: Any = None) -> Any:
    """The passes of a run (a Result of run(..., record_steps=True)) as a time line, predicted above, measured below; those
    of a `Plan` as they are predicted."""
    if not result.steps:
        raise ValueError("there are no passes to draw: a plan of gates has them, and run(circuit, record_steps=True)")
    names = ["predicted"] if isinstance(result, Plan) else ["measured", "predicted"]
    ax = _axes(ax, figsize=(8, 2))
    for row, name in enumerate(f"{name}_s" for name in names):
        widths = np.array([step[name] for step in result.steps]) * 1e3
        starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
        ax.barh(row, widths, left=starts, edgecolor="white", linewidth=0.5)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("ms")
    return ax


def plot_entropy(values: ArrayLike, ax: Any = None, *, unit: str = "bit") -> Any:
    """A map of local entropy with its scale."""
    values = np.asarray(values)
    if values.ndim != 2:
        raise ValueError(f"a map has two dimensions, not {values.ndim}")
    ax = _axes(ax)
    picture = ax.imshow(values, cmap="viridis", interpolation="nearest")
    ax.figure.colorbar(picture, ax=ax, label=f"entropy ({unit})")
    return ax
