"""Qiskit's BackendV2: circuits in, a job with counts out."""
from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional, Union

import numpy as np
from qiskit.circuit import Measure, Parameter, QuantumCircuit
from qiskit.circuit.controlflow import BreakLoopOp, ContinueLoopOp, ForLoopOp, IfElseOp, SwitchCaseOp, WhileLoopOp
from qiskit.circuit.library import Reset
from qiskit.circuit.library.standard_gates import get_standard_gate_name_mapping
from qiskit.providers import BackendV2, JobStatus, JobV1, Options
from qiskit.result import Result
from qiskit.transpiler import Target

from .. import __version__
from ..noise import noise_model
from .convert import _STANDARD, from_qiskit
from .primitives import measured_bits

_MOST_QUBITS = 36


def _make_target(num_qubits):
    target = Target(description="Tilewave: every gate between any qubits", num_qubits=num_qubits)
    for name, gate in get_standard_gate_name_mapping().items():
        if gate.base_class in _STANDARD:
            target.add_instruction(gate, name=name)
    target.add_instruction(Measure())
    target.add_instruction(Reset())
    for flow, name in ((IfElseOp, "if_else"), (WhileLoopOp, "while_loop"), (ForLoopOp, "for_loop"),
                       (SwitchCaseOp, "switch_case"), (BreakLoopOp, "break_loop"), (ContinueLoopOp, "continue_loop")):
        target.add_instruction(flow, name=name)
    return target


class TilewaveJob(JobV1):
    """A job on a thread of its own."""

    def __init__(self, backend: TilewaveBackend, job_id: str, run: Callable[[], Result]) -> None:
        super().__init__(backend, job_id)
        self._run, self._future = run, None

    def submit(self) -> None:
        if self._future is not None:
            raise RuntimeError("the job was submitted before")
        executor = ThreadPoolExecutor(max_workers=1)
        self._future = executor.submit(self._run)
        executor.shutdown(wait=False)

    def result(self, timeout: Optional[float] = None) -> Result:
        return self._future.result(timeout)

    def cancel(self) -> bool:
        return self._future.cancel()

    def status(self) -> JobStatus:
        if self._future is None:
            return JobStatus.INITIALIZING
        if self._future.running():
            return JobStatus.RUNNING
        if self._future.cancelled():
            return JobStatus.CANCELLED
        if not self._future.done():
            return JobStatus.QUEUED
        return JobStatus.DONE if self._future.exception() is None else JobStatus.ERROR


class TilewaveBackend(BackendV2):
    """Runs circuits and counts outcomes. Options of run(): shots, seed_simulator, memory (every shot), precision
    ("double" or "single"), device ("auto", "cpu", "cuda", ...), threads, noise_model (Aer's, or what
    tilewave.noise_model takes); parameter_binds as Qiskit's backends take it.
    Circuits need not be transpiled: any gate with a definition or a matrix is converted."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(name="tilewave", description="Tilewave state vectors", backend_version=__version__)
        self._target = _make_target(_MOST_QUBITS)
        if fields:
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
        unknown = sorted(set(options) - set(vars(self.options).get("_fields", self._default_options()._fields)))
        if unknown:
            raise ValueError(f"unknown option {unknown[0]}: use shots, seed_simulator, memory, precision, device, "
                             "threads or parameter_binds")
        options = {**dict(self.options.items()), **options}
        options["noise_model"] = noise_model(options["noise_model"])
        circuits = [bound for k, circuit in enumerate(circuits)
                    for bound in _bind(circuit, parameter_binds[k] if parameter_binds else None)]
        job_id = str(uuid.uuid4())
        seed = options["seed_simulator"]
        seeds = np.random.default_rng(seed).integers(1 << 63, size=len(circuits))
        # what cannot be converted is told here, not from the job
        ready = [(circuit, from_qiskit(circuit), int(s)) for circuit, s in zip(circuits, seeds)]

        if not all(converted.records for _, converted, _ in ready):
            warnings.warn("a circuit measures nothing, its counts are all zeros: add measurements")

        def work():
            results = [_experiment(circuit, converted, s, options) for circuit, converted, s in ready]
            return Result.from_dict({"backend_name": self.name, "backend_version": __version__, "job_id": job_id,
                                     "qobj_id": "", "success": True, "results": results})

        job = TilewaveJob(self, job_id, work)
        job.submit()
        return job


def _bind(circuit, binds):
    """One circuit a set of values; `binds` maps parameters to lists of values."""
    if not binds:
        return [circuit]
    count = len(next(iter(binds.values())))
    return [circuit.assign_parameters({p: values[k] for p, values in binds.items()
                                       if isinstance(p, (Parameter, str))}) for k in range(count)]


def _experiment(circuit, converted, seed, options):
    bits = measured_bits(converted, options["shots"], seed, options["precision"], options["device"],
                         options["threads"], options["noise_model"])[:, :circuit.num_clbits]
    packed = np.packbits(bits, axis=1, bitorder="little") if bits.shape[1] else np.zeros((len(bits), 1), np.uint8)
    rows, inverse, counts = np.unique(packed, axis=0, return_inverse=True, return_counts=True)
    keys = [hex(int.from_bytes(row.tobytes(), "little")) for row in rows]
    data = {"counts": dict(zip(keys, (int(c) for c in counts)))}
    if options["memory"]:
        data["memory"] = [keys[k] for k in inverse.reshape(-1)]
    return {"shots": options["shots"], "success": True, "data": data, "seed": seed, "status": "DONE",
            "header": {"name": circuit.name, "n_qubits": circuit.num_qubits, "memory_slots": circuit.num_clbits,
                       "creg_sizes": [[register.name, register.size] for register in circuit.cregs],
                       "qreg_sizes": [[register.name, register.size] for register in circuit.qregs],
                       "metadata": circuit.metadata or {}}}
