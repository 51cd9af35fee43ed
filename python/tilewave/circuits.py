"""Circuits from texts, files and other packages."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any, NamedTuple, Optional, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._types import AnyCircuit, Device, Path, PauliOrder, Places, Precision, StimCircuit
from .angles import Angle, Parameter, expression_of, value_array
from .functions import CircuitFunction, Ranks


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


def _listed(numbers):
    """A list of whole numbers, of one too."""
    try:
        return [index(numbers)]
    except TypeError:
        return list(numbers)


class Operation(NamedTuple):
    """One operation of a circuit, as iterating over it gives them."""
    name: str  #: of the gate under all its controls, or unitary, measure, reset, channel, barrier, delay, jump, assign
    qubits: tuple[int, ...]  #: controls first, then targets
    params: tuple[Angle, ...]  #: angles
    clbits: tuple[int, ...]  #: classical bits it writes
    num_controls: int
    control_values: int  #: bit k: the value that control k acts on
    conditional: bool  #: whether it happens only where classical bits say so
    label: str


_C = TypeVar("_C", bound="Circuit")


class Circuit(_core.Circuit):
    """A list of operations on qubits and classical bits.

    ``Circuit(3, 2)`` has a quantum register ``q`` of 3 qubits and a classical register ``c`` of 2 bits. There is a method
    for every gate, angles first, then qubits: ``circuit.rx(0.5, 0).cx(0, 1)``; each returns the circuit. Invalid qubits
    or angles raise ValueError, arguments of a wrong type TypeError. ``len`` is the number of operations, iterating gives
    each as an `Operation`, ``==`` compares what circuits hold, and ``a + b`` is b behind a.
    """

    @classmethod
    def from_qasm(cls: type[_C], source: Path, inputs: Optional[Mapping[str, Union[float, str]]] = None, *,
                  include: bool = True) -> _C:
        """Reads OpenQASM 2 or 3 (or qsim's text format): a text, or the path of a file. ``inputs`` gives the `input`
        variables of an OpenQASM 3 program their values, a dictionary from names to numbers, truth values or texts as on
        the command line: ``"pi/2"``, ``"0101"`` for bit[4], ``"100ns"``. Inputs of type float and angle that get no value become
        parameters of the circuit: angles may be affine in them, nothing else may depend on them. ``include=False`` refuses programs that include
        files, for those of others; the libraries of gates are built in and need none."""
        values = {name: _input_text(value) for name, value in (inputs or {}).items()}
        return cls(_core.Circuit._from_text(*read_text(source), values, bool(include)))

    @classmethod
    def from_stim(cls: type[_C], source: StimCircuit) -> _C:
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

    def copy(self: _C) -> _C:
        """A circuit of its own with the same operations."""
        return type(self)(self)

    def unitary(self: _C, matrix: ArrayLike, targets: Union[int, Places], controls: Union[int, Places] = (),
                control_values: Optional[int] = None, *, check: bool = True) -> _C:
        """Adds a matrix of 2^t x 2^t complex numbers; bit k of a row or column is targets[k]. Raises ValueError where it is
        not unitary: an element of its product with its adjoint more than 1e-8 off the identity (1e-4 for a matrix of
        single precision). With ``check=False`` any matrix will do: the norm is then no longer 1, nothing is rescaled, and
        `Result.warnings` says so."""
        given = np.asarray(matrix)
        entries = np.ascontiguousarray(given, np.complex128)
        if check:
            _need_unitary(entries, 1e-4 if given.dtype in (np.float16, np.float32, np.complex64) else 1e-8, _listed(targets))
        super().unitary(entries, targets, controls, control_values)
        return self

    def kraus(self: _C, operators: Sequence[ArrayLike], qubits: Union[int, Places]) -> _C:
        """Adds a noise channel, rho -> sum_k K_k rho K_k^dagger: matrices of 2^t x 2^t complex numbers on 1 to 4 qubits, bit k
        of a row or column is qubits[k]. Raises ValueError where the sum of K_k^dagger K_k is more than 1e-8 off the identity."""
        targets = _listed(qubits)
        side = 2 ** len(targets)
        own = [np.ascontiguousarray(k, np.complex128) for k in operators]
        if not 1 <= len(targets) <= 4:
            raise ValueError(f"a noise channel acts on {len(targets)} qubits: use 1 to 4")
        if not own or any(k.shape != (side, side) for k in own):
            raise ValueError(f"a noise channel on {_qubits(targets)} is a list of matrices {side} x {side}")
        off = np.abs(sum(k.conj().T @ k for k in own) - np.eye(side)).max()
        if not off <= 1e-8:
            raise ValueError(f"the channel on {_qubits(targets)} does not preserve the trace: an entry of the sum of "
                             f"K^dagger K is {off:.3g} off the identity, at most 1e-08 is allowed")
        self._kraus("kraus", own, targets)
        return self

    def compose(self: _C, other: _core.Circuit, qubits: Union[int, Places, None] = None,
                clbits: Union[int, Places, None] = None) -> _C:
        """Appends another circuit: its qubit k becomes qubits[k] (default: k), its classical bit k becomes clbits[k]. Without
        ``clbits`` a classical register of `other` is the one of the same name and size here, or is added."""
        if not isinstance(other, _core.Circuit):
            raise TypeError(f"compose takes a tilewave.Circuit, not {type(other).__name__}")
        places = list(range(other.num_qubits)) if qubits is None else _listed(qubits)
        if len(places) != other.num_qubits:
            raise ValueError(f"the other circuit has {other.num_qubits} qubits, {len(places)} places were given")
        if len(set(places)) != len(places):
            raise ValueError("compose: a place is named twice, every qubit of the other circuit needs one of its own")
        if qubits is None and other.num_qubits > self.num_qubits:
            raise ValueError(f"the other circuit has {other.num_qubits} qubits, this one {self.num_qubits}: compose them the "
                             "other way round, or say where they go with qubits=")
        bits, registers, more = self._places_of_bits(other) if clbits is None else (_listed(clbits), [], 0)
        if len(bits) != other.num_clbits:
            raise ValueError(f"the other circuit has {other.num_clbits} classical bits, {len(bits)} places were given")
        self._append(other, places, bits, registers, more)
        return self

    def _places_of_bits(self, other):
        """Where the classical bits of another circuit go; the registers to add for them (names and sizes), and how many bits
        behind those."""
        mine = {name: (first, size) for name, first, size in self.cregs}
        for name, _, size in other.cregs:
            if name in mine and mine[name][1] != size:
                raise ValueError(f"the classical register '{name}' has {mine[name][1]} bits here and {size} in the other "
                                 "circuit: say where they go with clbits=")
        bits, registers, end = [None] * other.num_clbits, [], self.num_clbits
        for name, first, size in other.cregs:
            start = mine[name][0] if name in mine else end
            if name not in mine:
                registers.append((name, size))
                end += size
            bits[first:first + size] = range(start, start + size)
        rest = [k for k, place in enumerate(bits) if place is None]  # variables of programs
        for j, k in enumerate(rest):
            bits[k] = end + j
        return bits, registers, len(rest)

    def inverse(self: _C) -> _C:
        """The circuit that undoes this one, which must be unitary."""
        return type(self)(super().inverse())

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that angles hold, in the order of their first use: the order of values."""
        return tuple(Parameter(name) for name in self._parameter_names)

    def bind(self: _C, values: Any) -> _C:
        """The circuit with numbers in the place of its parameters: ``values`` is an array of `num_parameters` numbers, or a
        dictionary from parameters or their names to numbers. Raises ValueError for another shape, and for numbers that
        are not finite."""
        array = value_array(self._parameter_names, values)
        if array.ndim != 1:
            raise ValueError(f"bind takes one set of values, got the shape {array.shape}: compile the circuit for several")
        return type(self)(self._bind(array))

    def compile(self, observables: Any = None, *, pauli_order: PauliOrder = "last", precision: Precision = "double",
                device: Device = "auto", threads: int = 0, ranks: Ranks = False) -> CircuitFunction:
        """The circuit as a function of its parameters, planned once for all values: expectations of ``observables`` and their
        derivatives, states, probabilities, samples, for one set of values or many at a time. An observable is what
        `tilewave.expectation` takes; a list is several, unless its items are pairs (string, coefficient). Sets of
        values are shared by the CUDA devices that ``device`` names, and with ``ranks=True`` by the processes of the run; with
        ``ranks="state"`` they share one state.
        Raises ValueError for a circuit that is not unitary (measurements at its end are left out), an observable that is not
        Hermitian, and a device of no known form or that is not there; RuntimeError where processes do not come together."""
        return CircuitFunction(self, observables, pauli_order=pauli_order, precision=precision, device=device, threads=threads,
                               ranks=ranks)

    def count_ops(self) -> dict[str, int]:
        """How many operations there are of each name, the most frequent first."""
        return dict(sorted(self._count_ops().items(), key=lambda item: (-item[1], item[0])))

    def __iter__(self) -> Iterator[Operation]:
        for k in range(len(self)):
            name, qubits, params, clbits, *rest = self._operation(k)
            angles = (expression_of(*angle) if isinstance(angle, tuple) else angle for angle in params)
            yield Operation(name, tuple(qubits), tuple(angles), tuple(clbits), *rest)

    def __bool__(self) -> bool:
        return True  # a circuit without operations is one, too

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _core.Circuit):
            return NotImplemented
        return bool(self._equals(other))

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __add__(self: _C, other: _core.Circuit) -> _C:
        if not isinstance(other, _core.Circuit):
            return NotImplemented
        return self.copy().compose(other)

    def __iadd__(self: _C, other: _core.Circuit) -> _C:
        if not isinstance(other, _core.Circuit):
            return NotImplemented
        return self.compose(other)

    def __copy__(self: _C) -> _C:
        return self.copy()

    def __deepcopy__(self: _C, memo: dict[int, Any]) -> _C:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (type(self), self._to_bytes())

    def _repr_html_(self) -> str:
        from .notebooks import circuit_html
        return circuit_html(self)


def _from_bytes(kind, data):
    return kind(_core.Circuit._from_bytes(data))
