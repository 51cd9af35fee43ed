"""Pictures of circuits in Stim's language and of error models."""
from __future__ import annotations

import os
import re
from operator import index
from typing import Any, Iterable, Literal, Optional, Union

from . import _core
from ._types import Path, StimCircuit, StimModel
from .circuits import read_text
from .samplers import _model_text_of, _text_of

DiagramType = Literal["timeline-svg", "detslice-svg", "matchgraph-svg"]


class Diagram:
    """An SVG; notebooks show it, str() is its text."""

    def __init__(self, svg: str) -> None:
        self._svg = svg

    def __str__(self) -> str:
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def write(self, path: Path) -> None:
        """Into a file, which appears when it is whole."""
        part = f"{os.fspath(path)}.part{os.getpid()}"
        try:
            with open(part, "w", encoding="utf-8") as file:
                file.write(self._svg)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise

    def __repr__(self) -> str:
        return f"<tilewave.Diagram: SVG, {len(self._svg)} characters>"


def diagram(circuit: Union[StimCircuit, StimModel], type: DiagramType = "timeline-svg", *,
            tick: Union[int, range, None] = None, filter_coords: Optional[Iterable[Any]] = None, remove_noise: bool = False) -> Diagram:
    """Draws a circuit, or the match graph of an error model.

    - "timeline-svg": the operations, qubits as rows; ``tick`` chooses time steps: step k lies behind the k-th TICK.
    - "detslice-svg": which Paulis every detector checks at ``tick``, a picture for each tick of a range.
    - "matchgraph-svg": the errors between detectors, of a circuit (whose errors are decomposed where they can be), or of
      a model, given as text, a path that ends in .dem, or a stim.DetectorErrorModel.

    ``filter_coords`` says what a detector slice shows, in place of all detectors and observables: a list of coordinates (detectors whose coordinates begin
    with these numbers; ``()`` is every detector), of names such as "D5" or "L0", and of ``stim.DemTarget``. ``remove_noise=True`` draws a time line or detector slices without noise.

    Raises ValueError for other types, ticks that are not there, also those of a match graph, filters of other diagrams than detector slices, match graphs without noise,
    and circuits that cannot be read, TypeError for entries of a filter of other types, MemoryError for pictures that would be too large."""
    if isinstance(tick, range):
        if tick.step != 1 or len(tick) == 0 or tick.start < 0:
            raise ValueError(f"ticks are a range with steps of one from 0 on, not {tick}")
        ticks = f"{tick.start}:{tick.stop}"
    else:
        ticks = "" if tick is None else str(index(tick))
    is_model, read = _is_model(circuit)
    shown = None if filter_coords is None else _filter_text(filter_coords)
    return Diagram(_core._diagram(*(read or (_model_text_of if is_model else _text_of)(circuit)), type, ticks, shown, bool(remove_noise), is_model))


def _filter_text(entries: Iterable[Any]) -> str:
    """As ``--filter_coords`` takes it; one name or target alone is a list of it."""
    def text(entry: Any) -> str:
        if isinstance(entry, str):
            if not re.fullmatch(r"[DL]\d+", entry):
                raise ValueError(f"{entry!r} names no detector and no observable: write 'D5' or 'L0'")
            return entry
        if hasattr(entry, "is_relative_detector_id"):
            return text(str(entry))
        try:
            numbers = [float(x) for x in entry]
        except TypeError:
            raise TypeError(f"filter_coords holds coordinates such as (2, 3), names such as 'D5' or 'L0', or stim.DemTarget, not {entry!r}") from None
        return ",".join(map(repr, numbers))

    is_one = isinstance(entries, str) or hasattr(entries, "is_relative_detector_id")
    return ":".join(map(text, [entries] if is_one else entries))


def _is_model(given: Any) -> tuple[bool, Any]:
    """Whether it is an error model, and its text and name where it was read to find out."""
    if not isinstance(given, (str, os.PathLike)):
        return hasattr(given, "num_errors"), None
    text, name = read_text(given)
    return name.endswith(".dem") or re.search(r"^\s*error\s*[(\[]", text, re.M | re.I) is not None, (text, name)
