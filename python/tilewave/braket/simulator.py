"""A local simulator of Braket: OpenQASM 3 is read by the default simulator's interpreter, Tilewave runs it.

A straight program (no control flow, no classical computation) is read once with its inputs as symbols; another run of the
same source binds its inputs to the converted circuit.
"""
from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
import sympy
from braket.default_simulator.gate_operations import Reset
from braket.default_simulator.openqasm.program_context import ProgramContext
from braket.default_simulator.operation import Observable, Operation
from braket.default_simulator.result_types import TargetedResultType
from braket.default_simulator.simulation import Simulation
from braket.default_simulator.simulator import BaseLocalSimulator
from braket.default_simulator.state_vector_simulator import StateVectorSimulator
from braket.device_schema import DeviceActionType
from braket.device_schema.simulators import GateModelSimulatorDeviceCapabilities
from braket.ir.jaqcd import AdjointGradient
from braket.ir.openqasm import Program as OpenQASMProgram
from braket.task_result import GateModelTaskResult, ResultTypeValue

from .. import _core
from ..observables import NO_TERMS, Terms, mask_words
from ..programs import Program
from ..runs import _count, how_of, means_of
from .convert import Converter, NeedsValues, SymbolicPhase, terms_of
from .convert import Terms as Letters
from .gradients import GradientRequest, is_gradient, read_gradient
from .reader import Reader

_MOST_SURE_QUBITS = 24  # whose state fits memory
_MOST_SOURCES = 64  # that are kept converted
_NOT_STRAIGHT = re.compile(r"\b(if|else|for|while|switch|def|return|let|const|array|int|uint|bool|angle|complex|duration"
                           r"|stretch|box|reset|delay|include|extern|measure_ff|cc_prx)\b|\bfloat(\[\d+\])?\s+\w+\s*(=|;)(?<!input)")
_INPUT = re.compile(r"\binput\s+float(\[\d+\])?\s+(\w+)\s*;")
_ANY_INPUT = re.compile(r"\binput\s+\w+(?:\[[^\]]*\])?\s+(\w+)\s*;")
# why a program is read anew with its inputs
_STEERED = "control flow, subroutines and classical variables"
_POWERS = ("powers (pow @, power=) of gates whose angles depend on inputs: rotations take whole powers, write other gates without "
           "one")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def _is_straight(source):
    """Whether a program's gates do not depend on its inputs, but for angles."""
    bare = _INPUT.sub(";", _COMMENTS.sub(" ", source))
    if source.endswith(".qasm") or _NOT_STRAIGHT.search(bare) is not None:
        return False
    # nothing but measurements and results behind the first measurement
    before, measured, behind = bare.partition("measure")
    rest = re.sub(r"^\s*#?pragma[^\n]*$", "", measured + behind, flags=re.M).split(";")
    return all("measure" in statement or not statement.strip() for statement in rest)


def _missing(name):
    return NameError(f"Missing input variable '{name}': the program has a free parameter without a value, give run(..., "
                     f"inputs={{'{name}': 0.1}})")


class _Context(ProgramContext):
    """Reads what the default simulator has no words for."""

    def __init__(self, simulator: Any) -> None:
        super().__init__(simulator=simulator)
        self.gradients: list[GradientRequest] = []

    def parse_pragma(self, pragma_body: str) -> Any:
        if not is_gradient(pragma_body):
            return super().parse_pragma(pragma_body)
        request = read_gradient(pragma_body, self._qubit)
        self.gradients.append(request)
        self._circuit.qubit_set |= set(request.qubits)
        return request.result

    def add_phase_instruction(self, target: Any, phase_value: Any) -> None:
        if not isinstance(phase_value, sympy.Basic) or not phase_value.free_symbols:
            return super().add_phase_instruction(target, phase_value)
        self._circuit.add_instruction(SymbolicPhase(target, phase_value))

    def _qubit(self, text):
        if text.startswith("$"):
            return int(text[1:])
        name, _, index = text.replace(" ", "").partition("[")
        try:
            qubits = self.qubit_mapping[name]
            return qubits[int(index[:-1])] if index else qubits[0]
        except (KeyError, IndexError):
            raise ValueError(f"an adjoint gradient asks for the qubit {text}, which is not declared") from None


def _pauli_terms(letters: Letters, num_qubits: int) -> Terms:
    n = max(1, num_qubits)
    x, z = np.zeros((len(letters), n), bool), np.zeros((len(letters), n), bool)
    for row, (_, word) in enumerate(letters):
        for qubit, letter in word.items():
            x[row, n - 1 - qubit], z[row, n - 1 - qubit] = letter in "XY", letter in "YZ"
    return np.array([c for c, _ in letters], float), mask_words(x, n), mask_words(z, n)


class TilewaveSimulation(Simulation):
    """A state that evolves under gate operations and is then asked."""

    def __init__(self, qubit_count: int, shots: int, how: tuple[str, str, int], seed: Any) -> None:
        super().__init__(qubit_count=qubit_count, shots=shots)
        self._how, self._rng = how, seed
        self._state: Any = None
        self._amplitudes: Optional[np.ndarray] = None
        self._operations: list[Operation] = []
        self._has_reset = False
        # where memory holds no state of so many qubits, shots and expectations are those that the engine can find: of Clifford
        # circuits
        self._has_state = qubit_count <= _MOST_SURE_QUBITS or qubit_count <= _core._most_qubits(how[0])
        self._circuit: Any = None

    def begin(self, circuit: Any) -> None:
        """With a circuit that was converted before."""
        if not self._has_state:
            self._circuit = circuit.copy()
            return
        self._state = _core.State(circuit, *self._how, None)

    def evolve(self, operations: Sequence[Operation]) -> None:
        self._operations += operations
        self._has_reset |= any(isinstance(op, Reset) for op in operations)
        self._amplitudes = None
        if self._has_reset:
            return None  # shots end in different states
        if self._circuit is not None:
            self._circuit.compose(self._converted(operations))
            return None
        if self._state is None:
            return self.begin(self._converted(operations))
        self._state._apply(self._converted(operations))

    def _converted(self, operations):
        converter = Converter(self.qubit_count)
        for op in operations:
            converter.add(op)
        return Program(converter.rows).circuit

    def _need_one_state(self):
        if self._has_reset:
            raise ValueError("a program that resets qubits ends in no single state: ask for shots, or for expectations")
        if self._circuit is not None:
            self._has_state = True
            self.begin(self._circuit)  # which says how much memory is missing
        if self._state is None:
            self.evolve([])

    def retrieve_samples(self) -> np.ndarray:
        """Basis states as numbers, the first qubit the highest bit."""
        if not self.shots:
            return np.zeros(0, np.int64)
        seed = int(self._rng.integers(1 << 63))
        if self._has_reset or self._circuit is not None:
            circuit = (self._converted(self._operations) if self._has_reset else self._circuit.copy()).measure_all()
            result = _core._run(circuit, self.shots, seed, *self._how, None, NO_TERMS, True, False, False, False)
            bits = np.unpackbits(result.shot_bits, axis=1, count=result.num_shot_bits, bitorder="little")
        else:
            self._need_one_state()
            bits = self._state._sample(self.shots, seed)
        kind = np.int64 if bits.shape[1] < 63 else object  # of Python's numbers, which have any length
        return bits.astype(kind) @ (np.array([1 << k for k in range(bits.shape[1])], kind))

    @property
    def state_vector(self) -> np.ndarray:
        if self._amplitudes is None:
            self._need_one_state()
            amplitudes = _core.State(self._state).take()
            norm = np.vdot(amplitudes, amplitudes).real
            self._amplitudes = amplitudes if abs(norm - 1) < 1e-12 else amplitudes / norm ** 0.5
        return self._amplitudes

    @property
    def density_matrix(self) -> np.ndarray:
        return np.outer(self.state_vector, self.state_vector.conj())

    @property
    def probabilities(self) -> np.ndarray:
        return np.abs(self.state_vector) ** 2

    def expectation(self, observable: Observable) -> float:
        letters = terms_of(observable)
        if letters is None:
            state = self.state_vector.reshape((2,) * self.qubit_count)
            return float(np.vdot(state, observable.apply(state)).real)
        coefficients, x, z = _pauli_terms(letters, self.qubit_count)
        terms = np.ones(len(x)), x, z
        if self._has_reset:
            means = _core._exact_expectations(self._converted(self._operations), terms, *self._how)
        elif self._circuit is not None and not self._has_state:
            means = means_of(self._circuit, terms, self._how)
        else:
            self._need_one_state()
            means = self._state._expectations(terms)
        return float(np.dot(coefficients, means))


class _Parsed:
    """A straight program, converted; its inputs are bound for every run."""

    def __init__(self, simulator: TilewaveSimulator, context: _Context) -> None:
        circuit = context.circuit
        validate = getattr(circuit, "validate_single_measured_register", None)
        if validate is not None:  # releases before it report only one register
            validate()
        self.measured = circuit.measured_qubits
        qubit_map = BaseLocalSimulator._map_circuit_to_contiguous_qubits(circuit)
        self.mapped = [qubit_map[q] for q in self.measured] if self.measured else None
        self.qubit_count, self.results = circuit.num_qubits, circuit.results
        simulator._validate_ir_results_compatibility(self.results, device_action_type=DeviceActionType.OPENQASM)
        simulator._validate_ir_instructions_compatibility(circuit, device_action_type=DeviceActionType.OPENQASM)
        converter = Converter(self.qubit_count)
        for op in circuit.instructions:
            converter.add(op)
        self.program, self.expressions = Program(converter.rows), converter.expressions
        self.names = sorted({str(symbol) for expression in self.expressions for symbol in expression.free_symbols})
        symbols = sympy.symbols(self.names)
        self._values = sympy.lambdify([symbols], self.expressions, "numpy")
        self._slopes: dict[str, Any] = {}
        self.rotations = None if any(isinstance(r, AdjointGradient) for r in self.results) else circuit
        self.gradients = {id(request.result): request for request in context.gradients}
        for request in context.gradients:
            request.terms = [(c, {qubit_map[q]: letter for q, letter in word.items()}) for c, word in request.terms]

    def inputs(self, given: dict[str, Any]) -> list[float]:
        for name in self.names:
            if name not in given:
                raise _missing(name)
            if not np.isfinite(float(given[name])):
                raise ValueError(f"the input '{name}' is {given[name]}: give a finite number")
        return [float(given[name]) for name in self.names]

    def values(self, inputs: list[float]) -> np.ndarray:
        return np.array([float(value) for value in self._values(inputs)], float)

    def gradient(self, request: GradientRequest, inputs: list[float], how: Any) -> dict[str, Any]:
        """The expectation and its derivatives by the inputs: those by the angles, through the chain rule."""
        wanted = self.names if request.parameters is None else request.parameters
        for name in wanted:
            if name not in self.names:
                raise ValueError(f"an adjoint gradient by '{name}': the program has no such input"
                                 + (f", it has {', '.join(self.names)}" if self.names else ""))
        terms = _pauli_terms(request.terms, self.qubit_count)
        function = self.program.function(id(request), [terms], (how[0], "cpu", how[2]))
        expectations, by_angle = function.vjp(self.values(inputs)[None], np.ones((1, 1)), True)
        gradient = {}
        for name in wanted:
            if name not in self._slopes:
                symbol = sympy.Symbol(name)
                self._slopes[name] = sympy.lambdify([sympy.symbols(self.names)],
                                                    [sympy.diff(e, symbol) for e in self.expressions], "numpy")
            slopes = np.array([float(value) for value in self._slopes[name](inputs)], float)
            gradient[name] = float(np.dot(slopes, by_angle[0]))
        return {"expectation": float(expectations[0, 0]), "gradient": gradient}


class TilewaveSimulator(BaseLocalSimulator):
    """Braket's local simulator "tilewave". `precision`, `device` and `threads` as everywhere; `seed` of the shots: what
    numpy.random.default_rng takes."""

    DEVICE_ID = "tilewave"

    def __init__(self, precision: str = "double", device: str = "auto", threads: int = 0, seed: Any = None) -> None:
        self._how = how_of(precision, device, threads)
        self._rng = np.random.default_rng(seed)
        self._parsed: OrderedDict[str, Union[_Parsed, str]] = OrderedDict()

    def create_program_context(self) -> ProgramContext:
        return _Context(self)

    def parse_program(self, program: OpenQASMProgram) -> ProgramContext:
        return self._parse_program_with_shots(program, 0)

    def _parse_program_with_shots(self, program: OpenQASMProgram, shots: int) -> ProgramContext:
        context = self.create_program_context()
        context._shots = shots
        reader = Reader(context, warn_advanced_features=True)
        return reader.run(source=program.source, inputs=program.inputs, is_file=program.source.endswith(".qasm"))

    def initialize_simulation(self, **kwargs: Any) -> TilewaveSimulation:
        return TilewaveSimulation(kwargs["qubit_count"], kwargs.get("shots") or 0, self._how, self._rng)

    def run_openqasm(self, openqasm_ir: OpenQASMProgram, shots: int = 0, *, batch_size: int = 1) -> GateModelTaskResult:
        """Runs a program; `batch_size` is of the default simulator and decides nothing here."""
        shots = 0 if shots is None else _count(shots)
        parsed = self._find(openqasm_ir.source)
        if isinstance(parsed, str):
            for name in _ANY_INPUT.findall(_COMMENTS.sub(" ", openqasm_ir.source)):
                if name not in (openqasm_ir.inputs or {}):
                    raise _missing(name)
            if re.search(r"^\s*#?pragma\s+braket\s+result\s+adjoint_gradient", openqasm_ir.source, re.M):
                raise ValueError(f"an adjoint gradient is of a program without {parsed}")
            return super().run_openqasm(openqasm_ir, shots=shots, batch_size=1)
        created_at = self._timestamp()
        given = dict(openqasm_ir.inputs or {})
        inputs = parsed.inputs(given)
        self._validate_shots_and_ir_results(shots, parsed.results, parsed.qubit_count)
        if shots and parsed.gradients:
            raise ValueError("an adjoint gradient is exact: ask for shots=0")
        simulation = self.initialize_simulation(qubit_count=parsed.qubit_count, shots=shots)
        simulation.begin(parsed.program.at(parsed.values(inputs)))
        results = parsed.results
        if not shots:
            results = [self._result(result, parsed, inputs, simulation) for result in parsed.results]
        elif parsed.rotations is not None and parsed.rotations.basis_rotation_instructions:
            simulation.evolve(parsed.rotations.basis_rotation_instructions)
        return self._create_results_obj(results, openqasm_ir, simulation, created_at, parsed.measured, parsed.mapped)

    def _find(self, source):
        """The converted program; for one that has to be read anew with its inputs, what makes it so."""
        if source not in self._parsed:
            self._parsed[source] = self._read(source) if _is_straight(source) else _STEERED
        self._parsed.move_to_end(source)
        while len(self._parsed) > _MOST_SOURCES:
            self._parsed.popitem(last=False)
        return self._parsed[source]

    def _read(self, source):
        context = self.create_program_context()
        Reader(context, warn_advanced_features=True).run(source=source, inputs={}, is_file=False)
        if context.is_branched:
            return _STEERED
        try:
            return _Parsed(self, context)
        except NeedsValues:
            return _POWERS

    def _result(self, result, parsed, inputs, simulation):
        request = parsed.gradients.get(id(result))
        if request is not None:
            return ResultTypeValue.construct(type=result, value=parsed.gradient(request, inputs, self._how))
        (kind,) = self._translate_result_types([result])
        if isinstance(kind, TargetedResultType):
            self._validate_result_types_qubits_exist([kind], parsed.qubit_count)
        return self._generate_results([result], [kind], simulation)[0]

    def run_multiple(self, programs: Sequence[Any], max_parallel: Optional[int] = None, *args: Any,
                     **kwargs: Any) -> list[Any]:
        """One after the other, each with all threads; `max_parallel` is of processes, which would share nothing."""
        return [self.run(program, *args, **kwargs) for program in programs]

    @property
    def properties(self) -> GateModelSimulatorDeviceCapabilities:
        """Of the default simulator, with as many qubits as fit memory, and AdjointGradient."""
        if not hasattr(self, "_properties"):
            given = StateVectorSimulator().properties.dict()
            action = given["action"][DeviceActionType.OPENQASM]
            action["supportedPragmas"] = [*action["supportedPragmas"], "braket_result_type_adjoint_gradient"]
            action["forbiddenPragmas"] = [p for p in action["forbiddenPragmas"] if not p.endswith("adjoint_gradient")]
            action["supportedResultTypes"] = [*action["supportedResultTypes"], {
                "name": "AdjointGradient", "observables": ["x", "y", "z", "h", "i", "hermitian"], "minShots": 0, "maxShots": 0}]
            given["paradigm"]["qubitCount"] = _core._most_qubits(self._how[0])
            self._properties = GateModelSimulatorDeviceCapabilities.parse_obj(given)
        return self._properties
