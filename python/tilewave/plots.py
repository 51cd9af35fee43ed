"""Pictures with matplotlib. Every function draws on `ax` (a new one when None) and returns it."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

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


def plot_error_rates(stats: Iterable[Any], ax: Any = None, *, x: str = "p", group: str = "d",
                     pieces: Optional[str] = None) -> Any:
    """Logical error rates as curves with what the shots leave open, as sinter draws them; curves of growing distance cross
    at the threshold. ``stats`` are sinter.TaskStats (what `collect` gives, `sinter.read_stats_from_csv_files` reads). The
    metadata ``x`` goes along the axis, every value of the metadata ``group`` (and every decoder) is a curve; ``pieces``
    names the metadata that divides a shot, such as the number of rounds. Needs sinter. Raises ValueError where no
    statistics have that metadata."""
    from ._optional import need
    need("sinter", "sinter")
    import sinter
    stats = list(stats)
    named = [s for s in stats if isinstance(s.json_metadata, dict) and x in s.json_metadata]
    if not named:
        keys = sorted({key for s in stats if isinstance(s.json_metadata, dict) for key in s.json_metadata})
        raise ValueError(f"no statistics have the metadata '{x}' to go along the axis: "
                         f"{'they have ' + ', '.join(keys) if keys else 'they have none'}")
    ax = _axes(ax)
    decoders = {s.decoder for s in named}

    def curve(s):
        value = s.json_metadata.get(group)
        words = ([] if value is None else [f"{group} = {value}"]) + ([s.decoder] if len(decoders) > 1 else [])
        known = isinstance(value, (int, float))
        return {"label": ", ".join(words) or s.decoder, "sort": (s.decoder, not known, value if known else str(value))}

    sinter.plot_error_rate(ax=ax, stats=named, x_func=lambda s: s.json_metadata[x], group_func=curve,
                           failure_units_per_shot_func=lambda s: 1 if pieces is None else s.json_metadata[pieces])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel("logical error rate a shot" if pieces is None else f"logical error rate, shots divided by {pieces}")
    ax.grid(which="major", color="0.85")
    ax.legend()
    return ax
