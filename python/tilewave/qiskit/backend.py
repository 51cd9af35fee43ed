"""Qiskit's BackendV2: circuits in, a job with counts out."""
from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, Optional, Union

import numpy as np
from qiskit.circuit import Delay, Instruction, Measure, Parameter, ParameterVector, QuantumCircuit, Reset, Store, controlflow
from qiskit.circuit.library import DiagonalGate, Initialize, MCPhaseGate, MCXGate, PauliGate, UnitaryGate
from qiskit.circuit.library.standard_gates import get_standard_gate_name_mapping
from qiskit.providers import BackendV2, JobStatus, JobV1, Options
from qiskit.result import Result
from qiskit.transpiler import Target

from .. import __version__, _core
from ..noise import noise_model
from ..observables import NO_TERMS
from ..runs import _count, how_of, seed_of
from .convert import _STANDARD
from .jobs import Cancellable
from .template import bound_circuits

# Instructions of any number of qubits that need no transpiling. Channels are Qiskit's and Aer's, known by their names.
_CHANNELS = ("kraus", "superop", "quantum_channel")
_WIDE = {"unitary": UnitaryGate, "diagonal": DiagonalGate, "initialize": Initialize, "mcx": MCXGate, "mcphase": MCPhaseGate,
         "pauli": PauliGate, "store": Store, "if_else": controlflow.IfElseOp, "while_loop": controlflow.WhileLoopOp,
         "for_loop": controlflow.ForLoopOp, "switch_case": controlflow.SwitchCaseOp, "break_loop": controlflow.BreakLoopOp,
         "continue_loop": controlflow.ContinueLoopOp, "box": getattr(controlflow, "BoxOp", None), **dict.fromkeys(_CHANNELS, Instruction)}


def _make_target(num_qubits):
    target = Target(description="Tilewave: every gate between any qubits", num_qubits=num_qubits)
    for name, gate in get_standard_gate_name_mapping().items():
        if gate.base_class in _STANDARD:
            target.add_instruction(gate, name=name)
    for instruction in (Measure(), Reset(), Delay(Parameter("t"))):
        target.add_instruction(instruction)
    for name, kind in _WIDE.items():
        if kind is not None:
            target.add_instruction(kind, name=name)
    return target


class TilewaveJob(JobV1):
    """A job on a thread of its own."""

    def __init__(self, backend: TilewaveBackend, job_id: str, run: Callable[[], Result]) -> None:
        super().__init__(backend, job_id)
        self._run, self._future, self._cancellable = run, None, Cancellable()

    def submit(self) -> None:
        if self._future is not None:
            raise RuntimeError("the job was submitted before")
        executor = ThreadPoolExecutor(max_workers=1)
        self._future = executor.submit(self._cancellable.run, self._run)
        executor.shutdown(wait=False)

    def result(self, timeout: Optional[float] = None) -> Result:
        """Waits for the result. Ctrl-C cancels the job."""
        try:
            return self._future.result(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise

    def cancel(self) -> bool:
        """Ends the job within a tenth of a second, running or not. False where it has ended before."""
        if self._future.done():
            return False
        self._cancellable.token.cancel()
        self._future.cancel()
        return True

    def status(self) -> JobStatus:
        if self._future is None:
            return JobStatus.INITIALIZING
        if self._future.cancelled():
            return JobStatus.CANCELLED
        if self._future.running():
            return JobStatus.RUNNING
        if not self._future.done():
            return JobStatus.QUEUED
        problem = self._future.exception()
        if isinstance(problem, CancelledError):
            return JobStatus.CANCELLED
        return JobStatus.DONE if problem is None else JobStatus.ERROR


class TilewaveBackend(BackendV2):
    """Runs circuits and counts outcomes. Options of run(): shots, seed_simulator, memory (every shot), precision
    ("double" or "single"), device ("auto", "cpu", "cuda", ...), threads, noise_model (Aer's, or what
    tilewave.noise_model takes); parameter_binds as Qiskit's backends take it. ``num_qubits`` is what this machine's memory
    holds as a state; circuits that touch fewer qubits, or of Clifford gates, may have more.
    Circuits need not be transpiled: any gate with a definition or a matrix is converted."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(name="tilewave", description="Tilewave state vectors", backend_version=__version__)
        self._target = _make_target(_core._most_qubits("double"))
        if fields:
            _check_names(fields, self._default_options())
            self.set_options(**fields)

    @property
    def target(self) -> Target:
        return self._target

    @property
    def max_circuits(self) -> None:
        return None

    @classmethod
    def _default_options(cls) -> Options:
        return Options(shots=1024, seed_simulator=None, memory=False, precision="double", device="auto", threads=0,
                       noise_model=None)

    def run(self, run_input: Union[QuantumCircuit, Iterable[QuantumCircuit]], *,
            parameter_binds: Optional[Sequence[Mapping[Any, Sequence[float]]]] = None, **options: Any) -> TilewaveJob:
        """A job under way; its result() counts the outcomes of every circuit."""
        circuits = [run_input] if isinstance(run_input, QuantumCircuit) else list(run_input)
        for circuit in circuits:
            if not isinstance(circuit, QuantumCircuit):
                raise TypeError(f"run takes a QuantumCircuit or a list of them, not {type(circuit).__name__}")
        _check_names(options, self._default_options())
        options = {**dict(self.options.items()), **options}
        shots, seed = _count(options["shots"]), seed_of(options["seed_simulator"])
        how = how_of(options["precision"], options["device"], options["threads"])
        model, memory = noise_model(options["noise_model"]), bool(options["memory"])
        seeds = np.random.default_rng(seed)
        # what cannot be converted is told here, not from the job
        ready = [(circuit, converted, int(seeds.integers(1 << 63)))
                 for circuit, values in zip(circuits, _values_of(circuits, parameter_binds))
                 for converted in _converted(circuit, values, model)]
        if not all(converted.records for _, converted, _ in ready):
            warnings.warn("a circuit measures nothing, its counts are all zeros: add measurements")
        job_id = str(uuid.uuid4())

        def work():
            start = time.perf_counter()
            results = [_experiment(circuit, converted, shots, s, how, model and model._core, memory)
                       for circuit, converted, s in ready]
            return Result.from_dict({"backend_name": self.name, "backend_version": __version__, "job_id": job_id,
                                     "qobj_id": "", "success": True, "results": results, "status": "COMPLETED",
                                     "date": datetime.now(timezone.utc).isoformat(),
                                     "time_taken": time.perf_counter() - start,
                                     "metadata": {"precision": how[0], "device": how[1], "threads": how[2]}})

        job = TilewaveJob(self, job_id, work)
        job.submit()
        return job


def _check_names(options, known):
    unknown = sorted(set(options) - set(known.__dict__.get("_fields", known.__dict__)))
    if unknown:
        raise ValueError(f"unknown option {unknown[0]}: use {', '.join(sorted(dict(known.items())))} or parameter_binds")


def _values_of(circuits, binds):
    """For each circuit an array [sets, parameters] of values, in the order of its parameters."""
    if not binds:
        return [np.zeros((1, 0)) if not circuit.parameters else None for circuit in circuits]
    if isinstance(binds, Mapping):
        raise TypeError("parameter_binds is a list with a dictionary for each circuit: put the dictionary into a list")
    binds = list(binds)
    if len(binds) != len(circuits):
        raise ValueError(f"parameter_binds has {len(binds)} dictionaries for {len(circuits)} circuits: give one for each")
    return [_sets(circuit, bind) for circuit, bind in zip(circuits, binds)]


def _sets(circuit, bind):
    columns: dict[Any, Any] = {}

    def put(parameter, column):
        if parameter in columns:
            raise ValueError(f"parameter_binds: the parameter '{parameter.name}' of the circuit '{circuit.name}' is given twice, by "
                             "itself and by its name or vector: give it once")
        columns[parameter] = column

    names = {parameter.name: parameter for parameter in circuit.parameters}
    for key, values in bind.items():
        values = np.asarray(values, float)
        values = values.reshape(1, *values.shape) if values.ndim < (2 if isinstance(key, ParameterVector) else 1) else values
        if isinstance(key, ParameterVector):
            if values.ndim != 2 or values.shape[1] != len(key):
                raise ValueError(f"parameter_binds: '{key.name}' has {len(key)} elements: give a list of that many numbers for "
                                 "each set")
            for parameter, column in zip(key, values.T):
                put(parameter, column)
            continue
        parameter = names.get(key) if isinstance(key, str) else key
        if not isinstance(parameter, Parameter):
            raise ValueError(f"parameter_binds: the circuit '{circuit.name}' has no parameter {key!r}")
        put(parameter, values)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"parameter_binds: the lists of values of the circuit '{circuit.name}' have different lengths: "
                         f"{', '.join(f'{p.name} {len(v)}' for p, v in columns.items())}")
    foreign = [parameter.name for parameter in columns if parameter not in circuit.parameters]
    if foreign:
        other = " (it has another one of this name: give the name instead)" if foreign[0] in names else ""
        raise ValueError(f"parameter_binds: the circuit '{circuit.name}' has no parameter '{foreign[0]}'{other}")
    missing = [parameter.name for parameter in circuit.parameters if parameter not in columns]
    if missing:
        raise ValueError(f"parameter {missing[0]} of the circuit '{circuit.name}' has no value in parameter_binds")
    if not circuit.parameters:
        return np.zeros((next(iter(lengths), 1), 0))
    return np.stack([columns[parameter] for parameter in circuit.parameters], axis=1)


def _converted(circuit, values, model):
    if model is not None and model._passes is not None:
        circuit = model._passes.run(circuit)
    if values is None:
        names = ", ".join(sorted(parameter.name for parameter in circuit.parameters))
        raise ValueError(f"parameter {names} has no value: give parameter_binds, or use assign_parameters first")
    yield from bound_circuits(circuit, values)


def _experiment(circuit, converted, shots, seed, how, noise, memory):
    start = time.perf_counter()
    metadata = {"num_qubits": circuit.num_qubits}
    if converted.records and shots:
        result = _core._run(converted, shots, seed, *how, None, NO_TERMS, memory, False, False, False, noise)
        counts = {}
        for bits, count in result.counts.items():
            counts[hex(int(bits.replace(" ", "") or "0", 2))] = count
        data = {"counts": counts}
        if memory:
            data["memory"] = _keys(result.shot_bits, circuit.num_clbits)
        metadata.update(engine=result.engine, device=result.device, memory_bytes=result.memory_bytes)
    else:
        data = {"counts": {"0x0": shots} if shots else {}}
        if memory:
            data["memory"] = ["0x0"] * shots
    return {"shots": shots, "success": True, "data": data, "seed": seed, "status": "DONE", "metadata": metadata,
            "time_taken": time.perf_counter() - start,
            "header": {"name": circuit.name, "n_qubits": circuit.num_qubits, "memory_slots": circuit.num_clbits,
                       "creg_sizes": [[register.name, register.size] for register in circuit.cregs],
                       "qreg_sizes": [[register.name, register.size] for register in circuit.qregs],
                       "metadata": circuit.metadata or {}}}


def _keys(packed, num_bits):
    """Every shot as a hexadecimal number, from rows of whole 64-bit words."""
    words = np.ascontiguousarray(packed).view("<u8")[:, :(num_bits + 63) // 64].copy()
    if num_bits % 64:
        words[:, -1] &= np.uint64((1 << num_bits % 64) - 1)  # variables lie behind the circuit's bits
    if words.shape[1] == 1:
        rows, inverse = np.unique(words[:, 0], return_inverse=True)
        keys = [hex(int(row)) for row in rows]
        return [keys[k] for k in inverse.tolist()]
    known = {}
    return [known.get(row) or known.setdefault(row, hex(int.from_bytes(row, "little")))
            for row in (words[k].tobytes() for k in range(len(words)))]
