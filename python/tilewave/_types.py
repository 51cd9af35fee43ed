"""Names of types in signatures."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

Precision = Literal["double", "single"]
PauliOrder = Literal["last", "first"]
NoiseEngine = Literal["auto", "statevector", "stabilizer", "density", "trajectories"]
Device = str  # auto, cpu, cuda, cuda:<index>, cuda:0-3
Effort = Literal["auto", "once", "repeated", "best"]
Path = Union[str, "os.PathLike[str]"]
#: Numbers of qubits or classical bits: a list, or an array of one dimension.
Places = Union[Sequence[int], NDArray[np.integer[Any]]]
#: A text, a mapping or a list of Pauli strings and coefficients, a list of strings, Qiskit's SparsePauliOp or Pauli.
Observable = Union[str, Mapping[str, complex], Iterable[Union[str, tuple[str, complex]]], Any]
#: What tilewave.noise_model takes: its own, a dictionary, JSON, a path, Aer's NoiseModel.
Noise = Union[Mapping[str, Any], Path, Any, None]
#: A tilewave.Circuit, Qiskit's QuantumCircuit, a stim.Circuit without noise, or OpenQASM: a text or a path.
AnyCircuit = Union[Path, Any]
#: A text in Stim's language, a path, or a stim.Circuit (of a package that extends it, too).
StimCircuit = Union[Path, Any]
#: A text of an error model (.dem), a path, or a stim.DetectorErrorModel.
StimModel = Union[Path, Any]
#: An array of NumPy or of any package that speaks DLPack, on the host or on a CUDA device.
AnyArray = Union[ArrayLike, Any]
Complex = NDArray[np.complexfloating[Any, Any]]
Bits = NDArray[Any]  # bool [shots, bits], or packed in uint8
Seed = Optional[int]
#: 2^n complex numbers of norm 1, qubit 0 the least significant bit of the index; None is |0...0>.
InitialState = Optional[ArrayLike]
