"""Circuits from texts, files and other packages."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._types import AnyCircuit, Path, StimCircuit


def read_text(source: Path) -> tuple[str, str]:
    """A text and its name: of a file (a path, or a short string that names one), or the string itself."""
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"expected a text or a path, not {type(source).__name__}")
    if isinstance(source, str) and not _names_a_file(source):
        return source, "<text>"
    with open(source, encoding="utf-8", errors="replace") as file:  # what is wrong in a comment does no harm
        return file.read(), os.fspath(source)


def _names_a_file(source):
    if "\n" in source or ";" in source or len(source) >= 4096 or not source.strip():
        return False
    return os.path.exists(source) or os.path.splitext(source)[1] in (".qasm", ".stim", ".txt", ".dem")


def circuit_of(circuit: AnyCircuit) -> _core.Circuit:
    """A circuit of any kind as one of ours, which is used as it is (and keeps its plans)."""
    if isinstance(circuit, _core.Circuit):
        return circuit
    package = type(circuit).__module__.split(".")[0]
    if package == "qiskit":
        return Circuit.from_qiskit(circuit)
    if package == "stim":
        return Circuit.from_stim(circuit)
    if isinstance(circuit, (str, os.PathLike)):
        return Circuit.from_qasm(circuit)
    raise TypeError("expected a tilewave.Circuit, a qiskit.QuantumCircuit, a stim.Circuit, or OpenQASM (a text or a path), "
                    f"not {type(circuit).__name__}")


def _need_unitary(matrix, tolerance, targets):
    side = 2 ** len(targets)
    if matrix.size != side * side:
        return  # the engine says what is wrong
    matrix = matrix.reshape(side, side)
    off = np.abs(matrix.conj().T @ matrix - np.eye(side)).max()
    if not off <= tolerance:
        raise ValueError(f"the matrix on {_qubits(targets)} is not unitary: an element of its product with its adjoint is "
                         f"{off:.3g} off the identity, at most {tolerance:.0e} is allowed (check=False takes any matrix)")


def _qubits(numbers):
    return ("qubit " if len(numbers) == 1 else "qubits ") + ", ".join(map(str, numbers))


def _input_text(value):
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, (int, np.integer)) else repr(float(value))


class Circuit(_core.Circuit):
    """A list of operations on qubits and classical bits.

    ``Circuit(3, 2)`` has a quantum register ``q`` of 3 qubits and a classical register ``c`` of 2 bits. There is a method
    for every gate, angles first, then qubits: ``circuit.rx(0.5, 0).cx(0, 1)``; each returns the circuit. Invalid qubits
    or angles raise ValueError.
    """

    @classmethod
    def from_qasm(cls, source: Path, inputs: Optional[Mapping[str, Union[float, str]]] = None) -> Circuit:
        """Reads OpenQASM 2 or 3 (or qsim's text format): a text, or the path of a file. ``inputs`` gives the `input`
        variables of an OpenQASM 3 program their values, a dictionary from names to numbers, truth values or texts as on
        the command line: ``"pi/2"``, ``"0101"`` for bit[4], ``"100ns"``."""
        values = {name: _input_text(value) for name, value in (inputs or {}).items()}
        return cls(_core.Circuit._from_text(*read_text(source), values))

    @classmethod
    def from_stim(cls, source: StimCircuit) -> Circuit:
        """Reads a circuit of Stim's language without noise: a text, a path, or a stim.Circuit. Measurements go into the
        classical register ``rec``, in order; REPEAT blocks are unrolled."""
        if type(source).__module__.split(".")[0] == "stim":
            source = str(source) + "\n"
        return cls(_core.Circuit._from_stim_text(*read_text(source)))

    @classmethod
    def from_qiskit(cls, circuit: Any, parameter_values: Any = None,
                    inputs: Optional[Mapping[str, Union[int, bool]]] = None) -> Circuit:
        """Converts a qiskit.QuantumCircuit, control flow included. ``parameter_values`` is what
        ``QuantumCircuit.assign_parameters`` takes; ``inputs`` gives input variables their values, by name."""
        from .qiskit.convert import from_qiskit
        return from_qiskit(circuit, parameter_values, inputs)

    def copy(self) -> Circuit:
        """A circuit of its own with the same operations."""
        return type(self)(self)

    def unitary(self, matrix: ArrayLike, targets: Sequence[int], controls: Sequence[int] = (),
                control_values: Optional[int] = None, *, check: bool = True) -> Circuit:
        """Adds a matrix of 2^t x 2^t complex numbers; bit k of a row or column is targets[k]. Raises ValueError where it is
        not unitary: an element of its product with its adjoint more than 1e-8 off the identity (1e-4 for a matrix of
        single precision). With ``check=False`` any matrix will do: the norm is then no longer 1, nothing is rescaled, and
        `Result.warnings` says so."""
        given = np.asarray(matrix)
        entries = np.ascontiguousarray(given, np.complex128)
        if check:
            _need_unitary(entries, 1e-4 if given.dtype in (np.float16, np.float32, np.complex64) else 1e-8, targets)
        super().unitary(entries, targets, controls, control_values)
        return self

    def inverse(self) -> Circuit:
        """The circuit that undoes this one, which must be unitary."""
        return type(self)(super().inverse())

    def __copy__(self) -> Circuit:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Circuit:
        return self.copy()
