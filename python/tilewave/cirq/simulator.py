"""A simulator with all four of Cirq's interfaces."""
from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Union

import cirq
import numpy as np

from .. import _core
from ..functions import bits_of
from ..observables import NO_TERMS
from ..one_shot import OneShot
from ..programs import how_side_by_side
from ..runs import _count, how_of, initial_of, is_gpu, means_of
from .convert import Converter
from .converted import Converted, is_unitary
from .observables import Asked, real

_MOST_FUNCTION_QUBITS = 18  # beyond, bound circuits run about as fast, and a GPU may suit them
_MOST_SETS = 256  # of values that run side by side
_FEWEST_SETS = 3  # that are worth it
_MOST_SHOTS = 1 << 22  # that are drawn at a time
_DEFAULT = cirq.QubitOrder.DEFAULT
_SHORT = {"f": "max_fused_gate_size", "t": "cpu_threads", "r": "ev_noisy_repetitions", "g": "use_gpu", "gmode": "gpu_mode",
          "gsst": "gpu_state_threads", "gdb": "gpu_data_blocks", "glbuf": "gpu_cusvex_log_buf_size",
          "gnwt": "gpu_cusvex_network_type", "v": "verbosity", "z": "denormals_are_zeros"}


@dataclass
class TilewaveOptions:
    """The options of qsimcirq, by their names, or in a dictionary by their short names.

    cpu_threads (t)           CPU threads; 0 (default): all
    ev_noisy_repetitions (r)  trajectories of expectation values under noise; 0 (default): exact where a density matrix is
                              the cheaper way, else 1000
    use_gpu (g)               a CUDA device rather than what suits the circuit

    The others are accepted and decide nothing here, since the planner does: max_fused_gate_size (f), gpu_mode (gmode),
    gpu_state_threads (gsst), gpu_data_blocks (gdb), gpu_cusvex_log_buf_size (glbuf), gpu_cusvex_network_type (gnwt),
    verbosity (v), denormals_are_zeros (z).
    """

    max_fused_gate_size: int = 2
    cpu_threads: int = 0
    ev_noisy_repetitions: int = 0
    use_gpu: bool = False
    gpu_mode: int = 0
    gpu_state_threads: int = 512
    gpu_data_blocks: int = 16
    gpu_cusvex_log_buf_size: int = 30
    gpu_cusvex_network_type: int = 0
    verbosity: int = 0
    denormals_are_zeros: bool = False

    def as_dict(self) -> dict[str, Any]:
        """By their short names."""
        values = asdict(self)
        return {short: values[name] for short, name in _SHORT.items()}


class TilewaveSimulator(cirq.SimulatesSamples, cirq.SimulatesAmplitudes,
                        cirq.SimulatesFinalState[cirq.StateVectorTrialResult], cirq.SimulatesExpectationValues):
    """Cirq's circuits on Tilewave. A circuit is converted once for all parameters of a sweep.

    options  TilewaveOptions, qsimcirq's QSimOptions, or a dictionary of their short names; also as `qsim_options`
    seed     of everything drawn: what cirq.value.parse_random_state takes
    noise    a noise model, or what one is made of
    circuit_memoization_size  so many converted circuits are kept for later calls, found by equality
    dtype    np.complex64 (default) or np.complex128
    device   "auto", "cpu", "cuda" or "cuda:<index>"
    """

    def __init__(self, options: Union[None, dict[str, Any], TilewaveOptions, Any] = None, seed: Any = None, noise: Any = None,
                 circuit_memoization_size: int = 0, *, qsim_options: Any = None, dtype: Any = np.complex64,
                 device: str = "auto") -> None:
        given = options if options is not None else qsim_options
        given = given.as_dict() if hasattr(given, "as_dict") else dict(given or {})
        if any(key in given for key in ("c", "i", "s")):
            raise ValueError('Keys {"c", "i", "s"} are reserved for internal use of qsimcirq and are not taken here either')
        unknown = sorted(set(given) - set(_SHORT))
        if unknown:
            raise ValueError(f"unknown option '{unknown[0]}': use {', '.join(_SHORT)}")
        self.options = {**TilewaveOptions().as_dict(), **given}
        if self.options["r"] < 0:
            raise ValueError(f"ev_noisy_repetitions={self.options['r']}: use 0 (exact where that is cheaper) or more")
        if np.dtype(dtype) not in (np.complex64, np.complex128):
            raise ValueError(f"dtype must be a complex type, np.complex64 or np.complex128, but was {dtype}")
        self._dtype = np.dtype(dtype)
        if self.options["g"]:
            if not _core.built_with_cuda():
                raise ValueError("GPU execution requested, but not supported: this build of Tilewave has no CUDA back end")
            device = "cuda" if device == "auto" else device
        self._how = how_of("single" if self._dtype == np.complex64 else "double", device, self.options["t"])
        self._prng = cirq.value.parse_random_state(seed)
        self.noise = cirq.NoiseModel.from_noise_model_like(noise)
        self._memory: deque[tuple[Any, Converted]] = deque(maxlen=circuit_memoization_size)

    @property
    def qsim_options(self) -> dict[str, Any]:
        """The options by their short names."""
        return self.options

    def get_seed(self) -> int:
        """A new seed, drawn from the simulator's."""
        return int(self._prng.randint(2**31 - 1))

    # --- conversion

    def _converted(self, circuit, order):
        for given, known in self._memory:
            if known.order == order and given == circuit:
                return known
        noisy = circuit
        if self.noise is not cirq.NO_NOISE:
            noisy = cirq.Circuit(self.noise.noisy_moments(circuit, sorted(circuit.all_qubits())))
        if not self._memory.maxlen:
            return Converted(noisy, order)
        made = Converted(noisy.freeze(), order)  # the caller may go on building
        self._memory.append((circuit.freeze(), made))
        return made

    def _order(self, circuit, qubit_order):
        return tuple(cirq.QubitOrder.as_qubit_order(qubit_order).order_for(circuit.all_qubits()))

    def _initial(self, state, order):
        """The amplitudes of an initial state as Cirq takes them; None for all zeros."""
        if state is None or (isinstance(state, (int, np.integer)) and state == 0):
            return None
        if isinstance(state, cirq.SimulationStateBase):
            merged = state.create_merged_state()
            state = merged.transpose_to_qubit_order(order).target_tensor.reshape(-1)
        elif isinstance(state, np.ndarray) and state.size != 2 ** len(order) and state.dtype.kind == "c":
            raise ValueError(f"initial_state vector size must match number of qubits. Expected: {2 ** len(order)} "
                             f"Received: {state.size}")
        elif not isinstance(state, (int, np.integer, np.ndarray, Sequence, cirq.ProductState)):
            raise TypeError("initial_state must be an int, a state vector, or what cirq.to_valid_state_vector takes")
        vector = np.asarray(state)
        if vector.dtype.kind == "c" and vector.size == 2 ** len(order):
            return initial_of(vector, len(order))
        return initial_of(cirq.to_valid_state_vector(state, num_qubits=len(order), dtype=np.complex128), len(order))

    # --- samples

    def run_sweep_iter(self, program: cirq.AbstractCircuit, params: cirq.Sweepable,
                       repetitions: int = 1) -> Iterator[cirq.Result]:
        """A result for each resolver; the circuit is converted once."""
        if not program.has_measurements():
            raise ValueError("Circuit has no measurements to sample.")
        repetitions = _count(repetitions, name="repetitions")
        if repetitions == 0:
            records = {cirq.measurement_key_name(op): np.empty([0, 1, 1])
                       for _, op, _ in program.findall_operations_with_gate_type(cirq.MeasurementGate)}
            for resolver in cirq.to_resolvers(params):
                yield cirq.ResultDict(params=resolver, records=records)
            return
        converted = self._converted(program, tuple(sorted(program.all_qubits())))
        for block in _blocks(params):
            how = self._how_of_batch(block, converted)
            final = how and converted.final()
            if final is None:
                for resolver in block:
                    yield cirq.ResultDict(params=resolver, records=self._records(converted, resolver, repetitions))
                continue
            qubits, program_of_gates = final
            function = program_of_gates.function((), [], how)
            step = max(1, _MOST_SHOTS // repetitions)
            for first in range(0, len(block), step):
                part = block[first:first + step]
                for resolver, shots in zip(part, function.samples(_table(converted, part), repetitions, self.get_seed())):
                    bits = bits_of(shots, qubits).view(np.uint8)
                    yield cirq.ResultDict(params=resolver, records=self._records_of(converted.converter, bits))

    def _how_of_batch(self, block, converted):
        """How sets of values run side by side; None where they do not."""
        return how_side_by_side(self._how, len(converted.order)) if len(block) >= _FEWEST_SETS else None

    def _run(self, circuit: cirq.AbstractCircuit, param_resolver: cirq.ParamResolver,
             repetitions: int) -> dict[str, np.ndarray]:
        converted = self._converted(circuit, tuple(sorted(circuit.all_qubits())))
        return self._records(converted, cirq.ParamResolver(param_resolver), repetitions)

    def _records(self, converted, resolver, repetitions):
        converter, values = converted.at(resolver)
        circuit = converted.program(converter).at(values)
        result = _core._run(circuit, repetitions, self.get_seed(), *self._how, None, NO_TERMS, True, False, False, False)
        return self._records_of(converter, np.unpackbits(result.shot_bits, axis=1, count=result.num_shot_bits,
                                                         bitorder="little"))

    def _records_of(self, converter, bits):
        records = {}
        for key, several in converter.keys.items():
            # as of Cirq, so that 1 - 2 * record is -1 for a one
            record = np.empty((len(bits), len(several), len(several[0].bits)), np.int8)
            for k, m in enumerate(several):
                record[:, k] = bits[:, m.bits] ^ np.array(m.inverted, np.uint8)
                for indices, matrix in m.confusion.items():
                    self._confuse(record[:, k], list(indices), matrix)
            records[key] = record
        return records

    def _confuse(self, record, indices, matrix):
        """Reads some bits wrongly, as the rows of a matrix say."""
        weights = 1 << np.arange(len(indices))[::-1]
        sums = np.cumsum(matrix, axis=1)[record[:, indices] @ weights]
        drawn = (self._prng.random_sample((len(record), 1)) * sums[:, -1:] >= sums).sum(axis=1)
        record[:, indices] = (drawn[:, None] & weights) > 0

    # --- states

    def simulate_sweep_iter(self, program: cirq.AbstractCircuit, params: cirq.Sweepable, qubit_order: Any = _DEFAULT,
                            initial_state: Any = None) -> Iterator[cirq.StateVectorTrialResult]:
        """A final state for each resolver, with what was measured on the way to it."""
        order = self._order(program, qubit_order)
        for resolver, amplitudes, measured in self._final_states(program, params, order, initial_state):
            yield cirq.StateVectorTrialResult(
                params=resolver, measurements=measured, final_simulator_state=cirq.StateVectorSimulationState(
                    initial_state=amplitudes.reshape((2,) * len(order)), qubits=order, dtype=self._dtype.type))

    def simulate_into_1d_array(self, program: cirq.AbstractCircuit, param_resolver: Any = None, qubit_order: Any = _DEFAULT,
                               initial_state: Any = None) -> tuple[cirq.ParamResolver, np.ndarray, Sequence[cirq.Qid]]:
        """The resolver, the amplitudes, which are not copied, and the order of qubits: for states of more than 32 axes."""
        order = self._order(program, qubit_order)
        resolver, amplitudes, _ = next(self._final_states(program, cirq.ParamResolver(param_resolver), order, initial_state))
        return resolver, amplitudes, order

    def _final_states(self, program, params, order, initial_state):
        initial, converted = self._initial(initial_state, order), self._converted(program, order)
        for resolver, amplitudes in self._states_side_by_side(converted, params, initial):
            if amplitudes is not None:
                yield resolver, amplitudes, {}
                continue
            converter, values = converted.at(resolver)
            if not converter.keys and not converter.rows.has_channels and is_unitary(converter.rows):
                circuit, bits = converted.program(converter).at(values), {}
                amplitudes = _core._simulate(circuit, *self._how, None, "auto", initial)
            else:
                shot = OneShot(converter.rows, values, self._how, self._prng.random_sample, initial).run()
                amplitudes, bits = shot.settle().take(), shot.bits
            if not order:
                amplitudes = amplitudes[:1]
            yield resolver, amplitudes, self._measurements(converter, bits)

    def _states_side_by_side(self, converted, params, initial=None):
        """The resolvers, and the final amplitudes where they are of a batch, else None."""
        for block in _blocks(params):
            amplitudes = [None] * len(block)
            how = self._how_of_batch(block, converted)
            if how and converted.is_function:
                function = converted.program(converted.converter).function((), [], how)
                amplitudes = function.states(_table(converted, block), initial).astype(self._dtype)
            yield from zip(block, amplitudes)

    def _measurements(self, converter, bits):
        found = {}
        for key, several in converter.keys.items():
            found[key] = self._record(several[-1], bits)
        return found

    def _record(self, m, bits):
        record = np.array([[bits[bit] for bit in m.bits]], np.uint8) ^ np.array(m.inverted, np.uint8)
        for indices, matrix in m.confusion.items():
            self._confuse(record, list(indices), matrix)
        return record[0]

    def simulate_moment_steps(self, circuit: cirq.AbstractCircuit, param_resolver: Any = None, qubit_order: Any = _DEFAULT,
                              initial_state: Any = None) -> Iterator[cirq.SparseSimulatorStep]:
        """The state behind each moment, with the measurements so far; behind a circuit without moments the state it begins
        in. The amplitudes of every step are copied."""
        order = self._order(circuit, qubit_order)
        converted = self._converted(circuit, order)
        converter, values = converted.at(cirq.ParamResolver(param_resolver))
        shot = OneShot(converter.rows, values, self._how, self._prng.random_sample, self._initial(initial_state, order))
        data, told = cirq.ClassicalDataDictionaryStore(), set()
        for end in self._ends(circuit, converter, order) or [0]:
            amplitudes = _core.State(shot.run(end).settle()).take()
            for key, several in converter.keys.items():
                for k, m in enumerate(several):
                    if (key, k) not in told and all(bit in shot.bits for bit in m.bits):
                        told.add((key, k))
                        record = self._record(m, shot.bits)
                        data.record_measurement(cirq.MeasurementKey.parse_serialized(key), record.tolist(), m.qubits)
            yield cirq.SparseSimulatorStep(cirq.StateVectorSimulationState(
                initial_state=amplitudes[:2 ** len(order)].reshape((2,) * len(order)), qubits=order, dtype=self._dtype.type,
                prng=self._prng, classical_data=data.copy()), dtype=self._dtype.type)

    def _ends(self, program, converter, order):
        """Where the rows of each moment of the circuit end; a noise model adds moments of its own."""
        if self.noise is cirq.NO_NOISE:
            return converter.ends
        qubits = sorted(program.all_qubits())
        return [len(Converter(cirq.Circuit(self.noise.noisy_moments(program[:k + 1], qubits)), order).rows.rows)
                for k in range(len(program))]

    # --- amplitudes

    def compute_amplitudes_sweep_iter(self, program: cirq.AbstractCircuit, bitstrings: Sequence[int], params: cirq.Sweepable,
                                      qubit_order: Any = _DEFAULT) -> Iterator[Sequence[complex]]:
        """Amplitudes of basis states, numbers in the order of the qubits, the first the highest bit."""
        if isinstance(bitstrings, np.ndarray) and bitstrings.ndim > 1:
            raise ValueError("The list of bitstrings must be input as a 1-dimensional array of ints. Got an array with shape "
                             f"{bitstrings.shape}.")
        order = self._order(program, qubit_order)
        wanted = [int(k) for k in bitstrings]
        for k in wanted:
            if not 0 <= k < 2**len(order):
                raise ValueError(f"amplitude {k} does not exist: a state of {len(order)} qubits has indices 0 to {2**len(order) - 1}")
        converted = self._converted(program, order)
        for resolver, amplitudes in self._states_side_by_side(converted, params):
            if amplitudes is not None:
                yield amplitudes[wanted].tolist()
                continue
            converter, values = converted.at(resolver)
            if not converter.keys and not converter.rows.has_channels and is_unitary(converter.rows):
                state = _core.State(converted.program(converter).at(values), *self._how, None)
            else:
                state = OneShot(converter.rows, values, self._how, self._prng.random_sample).run().settle()
            yield state.amplitudes(wanted).tolist()

    # --- expectation values

    def simulate_expectation_values_sweep_iter(self, program: cirq.AbstractCircuit, observables: Any, params: cirq.Sweepable,
                                               qubit_order: Any = _DEFAULT, initial_state: Any = None,
                                               permit_terminal_measurements: bool = False) -> Iterator[list[Any]]:
        """A list of expectation values for each resolver. Those of circuits with channels and resets are of the density matrix
        that they end in. A circuit that measures is run once, as by Cirq's simulators, and its outcomes count."""
        if not permit_terminal_measurements and program.are_any_measurements_terminal():
            raise ValueError("Provided circuit has terminal measurements, which may skew expectation values. If this is "
                             "intentional, set permit_terminal_measurements=True.")
        order = self._order(program, qubit_order)
        asked = Asked(observables if isinstance(observables, list) else [observables], order)
        initial, converted = self._initial(initial_state, order), self._converted(program, order)
        how = how_side_by_side(self._how, len(order))
        if how is None and len(order) <= _MOST_FUNCTION_QUBITS and not is_gpu(self._how[1]):
            how = self._how[0], "cpu", self._how[2]
        if how is not None and converted.is_function:
            return (yield from self._sweep_of_function(converted, params, asked, initial, how))
        for resolver in cirq.to_resolvers(params):
            converter, values = converted.at(resolver)
            rows = converter.rows
            if converter.keys:
                state = OneShot(rows, values, self._how, self._prng.random_sample, initial).run().settle()
                means = state._expectations(asked.terms) / state.norm()
            elif rows.has_channels or not is_unitary(rows):
                circuit = converted.program(converter).at(values)
                means = self._noisy_means(circuit, asked.terms, initial)
            else:
                means = means_of(converted.program(converter).at(values), asked.terms, self._how, initial=initial)
            yield asked.sums(means)

    def _sweep_of_function(self, converted, params, asked, initial, how):
        """Sets of values side by side, as functions of the circuit's parameters."""
        each = [tuple(part[k:k + 1] for part in asked.terms) for k in range(len(asked.terms[0]))]
        key = asked.terms[1].tobytes(), asked.terms[2].tobytes()
        function = converted.program(converted.converter).function(key, each, how)
        for block in _blocks(params):
            for means in function.expectations(_table(converted, block), initial):
                yield asked.sums(means)

    def _noisy_means(self, circuit, terms, initial):
        if not circuit.is_noisy:  # it resets qubits
            return _core._exact_expectations(circuit, terms, *self._how, None, initial)
        engine = "trajectories" if self.options["r"] else "auto"
        return _core._run(circuit, self.options["r"], self.get_seed(), *self._how, None, terms, False, False, False, False,
                          None, engine, "auto", initial).expectations

    def simulate_moment_expectation_values(self, program: cirq.AbstractCircuit, indexed_observables: Any, param_resolver: Any,
                                           qubit_order: Any = _DEFAULT, initial_state: Any = None) -> list[list[Any]]:
        """Expectation values behind moments of the circuit, of one run: `indexed_observables` is an observable or a list of
        them for every moment, or a dictionary from numbers of moments to such."""
        order = self._order(program, qubit_order)
        if isinstance(indexed_observables, dict):
            indexed = sorted((k, obs if isinstance(obs, list) else [obs]) for k, obs in indexed_observables.items())
            for k, _ in indexed:
                if not 0 <= k < len(program):
                    raise ValueError(f"observables behind moment {k}: the circuit has the moments 0 to {len(program) - 1}")
        else:
            every = indexed_observables if isinstance(indexed_observables, list) else [indexed_observables]
            indexed = [(k, every) for k in range(len(program))]
        (resolver,) = cirq.to_resolvers(param_resolver)
        converted = self._converted(program, order)
        converter, values = converted.at(resolver)
        ends = self._ends(program, converter, order)
        noisy = converter.rows.has_channels
        shots = max(1, self.options["r"]) if noisy else 1
        found = [np.zeros(len(observables), complex) for _, observables in indexed]
        parts = [Asked(observables, order) for _, observables in indexed]
        initial = self._initial(initial_state, order)
        for _ in range(shots):
            shot = OneShot(converter.rows, values, self._how, self._prng.random_sample, initial)
            for k, ((moment, _), asked) in enumerate(zip(indexed, parts)):
                state = shot.run(ends[moment]).settle()
                found[k] += np.array(asked.sums(state._expectations(asked.terms) / state.norm())) / shots
        return [[real(value) for value in values] for values in found]


def _blocks(params: cirq.Sweepable) -> Iterator[list[cirq.ParamResolver]]:
    # what Cirq makes of resolvers of numbers by names is equal to them, but takes longer than small circuits
    plain = isinstance(params, Sequence) and all(isinstance(resolver, cirq.ParamResolver) and all(
        type(key) is str and type(value) is float for key, value in resolver.param_dict.items()) for resolver in params)
    resolvers = iter(params if plain else cirq.to_resolvers(params))
    while block := list(itertools.islice(resolvers, _MOST_SETS)):
        yield block


def _table(converted: Converted, block: list[cirq.ParamResolver]) -> np.ndarray:
    """The values of the parameters, [resolvers, parameters]."""
    return np.array([converted.at(resolver)[1] for resolver in block]).reshape(len(block), -1)
