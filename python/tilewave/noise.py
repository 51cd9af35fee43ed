"""Noise models: channels after gates and readout errors, for `run`, `sample`, `expectation` and the Qiskit classes.

A model is a dictionary of the form that `tilewave run --noise` reads (docs/noise.md), a JSON text of it, or a path to a
file with it::

    noise = tw.noise_model({"channels": [{"after": "all", "channel": "depolarizing", "p": 0.001}],
                            "readout": [{"p1_given_0": 0.01, "p0_given_1": 0.03}]})
    tw.sample(circuit, 1000, noise=noise)

Qiskit Aer's ``NoiseModel`` is converted, and so is what its ``to_dict()`` gives: see `tilewave.aer_noise`.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Optional, Union, overload

import numpy as np

from . import _core
from ._types import AnyCircuit, Noise, Path
from .circuits import circuit_of


class NoiseModel:
    """A checked noise model. ``as_dict()`` gives it back in the form of docs/noise.md."""

    def __init__(self, model: Mapping[str, Any], name: str = "noise") -> None:
        text = json.dumps(model, default=_plain)
        self._dict, self._name = json.loads(text), name
        self._core = _core._Noise(text, name)
        self._passes: Any = None  # Qiskit's, which put further noise into its circuits

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._dict, self._name, self._passes)

    def as_dict(self) -> dict[str, Any]:
        """The model in the form of docs/noise.md."""
        return json.loads(json.dumps(self._dict))

    def __repr__(self) -> str:
        return (f"<tilewave.NoiseModel: {_core._counted(len(self._dict.get('channels', [])), 'channel')}, "
                f"{_core._counted(len(self._dict.get('readout', [])), 'readout error')}>")


@overload
def noise_model(source: None) -> None: ...


@overload
def noise_model(source: Union[NoiseModel, Mapping[str, Any], Path, Any]) -> NoiseModel: ...


def noise_model(source: Noise) -> Optional[NoiseModel]:
    """A `NoiseModel` from a dictionary, a JSON text, a path, a Qiskit Aer ``NoiseModel``, or one of its own kind."""
    if source is None or isinstance(source, NoiseModel):
        return source
    if isinstance(source, Mapping):
        return _of_dict(source, "noise")
    if type(source).__module__.split(".")[0] == "qiskit_aer" and hasattr(source, "to_dict"):
        model = _of_dict(source.to_dict(), "Aer's noise model")
        passes = getattr(source, "_pass_manager", None)
        model._passes = passes() if callable(passes) else None
        return model
    if isinstance(source, (str, os.PathLike)):
        text, name = source, "noise"
        if not isinstance(source, str) or not source.lstrip().startswith("{"):
            name = os.fspath(source)
            with open(name, encoding="utf-8") as file:
                text = file.read()
        try:
            model = json.loads(text)
        except ValueError:
            model = None
        if isinstance(model, dict) and "errors" in model:
            return _of_dict(model, name)
        _core._Noise(text, name)  # errors with line and column
        return NoiseModel(json.loads(text), name)
    raise TypeError(f"a noise model is a dictionary, a JSON text, a path or Aer's NoiseModel, not {type(source).__name__}")


def _plain(value):
    """Numbers and lists of NumPy's, as JSON has them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a noise model holds numbers, texts, lists and dictionaries, not {type(value).__name__}")


def _of_dict(model, name):
    if "errors" in model:
        from .aer_noise import from_aer
        return NoiseModel(from_aer(model), name)
    return NoiseModel(model, name)


def _restored(model, name, passes):
    restored = NoiseModel(model, name)
    restored._passes = passes
    return restored


def noisy(circuit: AnyCircuit, noise: Noise) -> tuple[_core.Circuit, Any]:
    """A circuit and the noise of its run as the compiled part takes them."""
    model = noise_model(noise)
    if model is None:
        return circuit_of(circuit), None
    if model._passes is not None and type(circuit).__module__.split(".")[0] == "qiskit":
        circuit = model._passes.run(circuit)
    return circuit_of(circuit), model._core
