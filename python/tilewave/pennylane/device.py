"""The device ``tilewave.qubit``."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import pennylane as qml
from pennylane.devices import Device, ExecutionConfig
from pennylane.devices.modifiers import simulator_tracking, single_tape_support
from pennylane.devices.preprocess import (decompose, device_resolve_dynamic_wires, validate_device_wires,
                                          validate_measurements)
from pennylane.devices.qubit import apply_operation
from pennylane.exceptions import DeviceError
from pennylane.math import Interface
from pennylane.measurements import (ExpectationMP, MutualInfoMP, PurityMP, SampleMeasurement, StateMeasurement, StateMP,
                                    VnEntropyMP)
from pennylane.ops import CompositeOp, MidMeasure, SparseHamiltonian, SymbolicOp
from pennylane.operation import StatePrepBase
from pennylane.pytrees import flatten, unflatten
from pennylane.tape import QuantumScript
from pennylane.transforms import broadcast_expand, defer_measurements

from .._types import Effort, Precision
from ..runs import how_of
from . import gates
from .followed import framework_of, is_jit, is_vmapped, is_wrapped
from .gradients import is_differentiable, is_followable, is_free_matrix, need_adjoint, why_not
from .observables import KnownObservables, sentence_of
from ..programs import Programs
from .run import Run, wire_order
from .shots import accepts_shots, is_shadow
from .traced import need_traced, why_not_traced

_OPTIONS = ("precision", "device", "threads", "effort")


def _is_native(op):
    return gates.is_native(op)


def _is_native_gate(op):
    return gates.is_native(op, allows_measurements=False)


def _accepts_analytic(mp):
    if not isinstance(mp, StateMeasurement):
        return False
    return mp.obs is None or _has_exact_answer(mp.obs, isinstance(mp, ExpectationMP))


def _has_exact_answer(obs, is_expectation):
    if sentence_of(obs) is not None:
        return True
    if isinstance(obs, CompositeOp):
        return all(_has_exact_answer(operand, is_expectation) for operand in obs.operands)
    if isinstance(obs, SymbolicOp):
        return _has_exact_answer(obs.base, is_expectation)
    return obs.has_diagonalizing_gates or (is_expectation and isinstance(obs, (SparseHamiltonian, qml.Hermitian)))


def _accepts_shots(mp):
    if is_shadow(mp):
        return True
    return isinstance(mp, SampleMeasurement) and (mp.obs is None or accepts_shots(mp.obs))


@qml.transform
def _one_by_one(tape):
    """A circuit for each member of a batch."""
    tapes, gather = broadcast_expand(tape)
    return [_of_one(own) for own in tapes], gather


def _of_one(tape):
    """Some operations (MultiRZ) still say that they are a batch after theirs is taken apart; those made anew do not."""
    if tape.batch_size is None:
        return tape
    return tape.copy(operations=[op if op.batch_size is None else unflatten(*flatten(op)) for op in tape.operations])


@qml.transform
def _expand_what_is_no_angle(tape):
    """A batch whose members differ in more than the state they begin in and angles of gates is taken apart, and so are
    classical shadows and samples of circuits that measure in the middle or postselect, which may differ in number."""
    if tape.batch_size is None:
        return (tape,), _first
    if any(is_shadow(mp) for mp in tape.measurements) or any(
            isinstance(op, MidMeasure) or (tape.shots and op.name == "Projector") for op in tape.operations):
        return _one_by_one(tape)
    first = 1 if tape.operations and isinstance(tape.operations[0], StatePrepBase) else 0
    if any(op.batch_size is not None and op.name == "BasisState" for op in tape.operations[:first]) or any(
            op.batch_size is not None and not gates.angles_only(op) for op in tape.operations[first:]):
        return _one_by_one(tape)
    return (tape,), _first


def _first(results):
    return results[0]


def _deferred(tape):
    """The circuit that runs in place of one that measures in the middle, whose shots would choose; else the circuit."""
    measured = [op for op in tape.operations if isinstance(op, MidMeasure)]
    if not measured or tape.shots or any(op.postselect is not None for op in measured):
        return tape
    (tape,), _ = defer_measurements(tape)
    return tape


# Of these the parameter-shift rule is wrong, and PennyLane does not say so.
_NOT_LINEAR = (PurityMP, MutualInfoMP, VnEntropyMP)


@qml.transform
def _no_parameter_shift(tape, **_):
    names = ", ".join(str(mp) for mp in tape.measurements if type(mp) in _NOT_LINEAR)
    raise DeviceError(f"the derivatives of {names} are no parameter shifts: differentiate with JAX, or on default.qubit")


@simulator_tracking
@single_tape_support
class TilewaveQubit(Device):
    """A state-vector device on CPUs and GPUs.

    wires      how many there are, or their labels, anything hashable; None: those of each circuit
    precision  "double" or "single"
    device     "auto", "cpu", "cuda" or "cuda:<index>"
    threads    CPU threads, 0 for all
    effort     how much planning a circuit is worth: "auto", "once", "repeated" or "best"
    seed       of shots, what numpy.random.default_rng takes; "global" draws one from NumPy's global generator
    """

    config_filepath = str(Path(__file__).parent / "tilewave_qubit.toml")
    pennylane_requires = ">=0.45"

    def __init__(self, wires: Any = None, shots: Any = None, *, precision: Precision = "double", device: str = "auto",
                 threads: int = 0, effort: Effort = "auto", seed: Any = "global") -> None:
        super().__init__(wires=wires, shots=shots)
        self._how = how_of(precision, device, threads)
        self._effort = effort
        self._rng = np.random.default_rng(np.random.randint(1 << 31) if isinstance(seed, str) and seed == "global" else seed)
        self._programs, self._known = Programs(), KnownObservables()

    @property
    def name(self) -> str:
        return "tilewave.qubit"

    # --- what PennyLane asks before a run

    def setup_execution_config(self, config: Optional[ExecutionConfig] = None,
                               circuit: Optional[QuantumScript] = None) -> ExecutionConfig:
        config = config or ExecutionConfig()
        for option in config.device_options:
            if option not in _OPTIONS:
                raise DeviceError(f"{self.name} has no device option '{option}': use {', '.join(_OPTIONS)}")
        changes: dict[str, Any] = {"grad_on_execution": False}
        if config.gradient_method in ("best", "device", "adjoint") and self.supports_derivatives(config, circuit):
            # QNodes say device_vjp=False where nobody chose: a Jacobian would be computed for a vector's product with it
            changes.update(gradient_method="adjoint", use_device_gradient=True, use_device_jacobian_product=True)
            if config.interface in (Interface.JAX, Interface.JAX_JIT, Interface.TORCH):  # the device takes what these follow
                changes.update(gradient_method="backprop", use_device_gradient=False, use_device_jacobian_product=False)
        else:
            changes.update(use_device_gradient=False, use_device_jacobian_product=False)
            if config.interface == Interface.JAX and config.gradient_method != "backprop" and circuit is not None and any(
                    is_vmapped(value) for value in circuit.get_parameters(trainable_only=False)):
                raise DeviceError("jax.vmap of this circuit is not supported by " + self.name + ", as it has shots, measures in the "
                                  "middle or is differentiated by another method than 'adjoint': give it a batch of parameters, or put "
                                  "jax.jit around the vmap")
            if config.gradient_method != "backprop" and circuit is not None and any(
                    is_wrapped(value) for value in circuit.get_parameters(trainable_only=False)):
                raise DeviceError("torch.func transforms no circuit that has shots, measures in the middle or is differentiated by another "
                                  "method than 'adjoint': use backward() or torch.autograd.functional, and give the QNode a batch of "
                                  "parameters in the place of a vmap")
            if config.gradient_method is qml.gradients.param_shift and circuit is not None and any(
                    type(mp) in _NOT_LINEAR for mp in circuit.measurements):
                changes["gradient_method"] = _no_parameter_shift
        method = config.mcm_config.mcm_method
        casts_shadow = circuit is not None and any(is_shadow(mp) for mp in circuit.measurements)
        if method is None:
            method = "device" if circuit is not None and circuit.shots and not casts_shadow else "deferred"
        elif method in ("one-shot", "tree-traversal") and circuit is not None and circuit.shots:
            method = "device"  # shots grouped by outcome: the same statistics
        if method not in ("device", "deferred", "one-shot", "tree-traversal"):
            raise DeviceError(f"mcm_method='{method}' is not supported by {self.name}: use 'deferred' or 'device'")
        if circuit is not None and not circuit.shots and method != "deferred" and any(
                isinstance(op, MidMeasure) for op in circuit.operations):
            method = "deferred"
        if method == "device" and casts_shadow and any(isinstance(op, MidMeasure) for op in circuit.operations):
            raise DeviceError("classical shadows of a circuit that measures in the middle need mcm_method='deferred'")
        changes["mcm_config"] = replace(config.mcm_config, mcm_method=method)
        return replace(config, **changes)

    def preprocess_transforms(self, execution_config: Optional[ExecutionConfig] = None) -> qml.CompilePipeline:
        config = execution_config or ExecutionConfig()
        pipeline = qml.CompilePipeline()
        gate_set = self.capabilities.gate_set()
        deferred = config.mcm_config.mcm_method in ("deferred", None)
        if deferred:
            pipeline.add_transform(defer_measurements, allow_postselect=True)
        else:
            gate_set = gate_set | {"MidMeasureMP"}
        pipeline.add_transform(decompose, stopping_condition=_is_native_gate if deferred else _is_native,
                               skip_initial_state_prep=True, device_wires=self.wires, target_gates=gate_set, name=self.name)
        if config.gradient_method in ("adjoint", "backprop"):
            stays = is_followable if config.gradient_method == "backprop" else is_differentiable
            pipeline.add_transform(decompose, stopping_condition=stays, skip_initial_state_prep=False, device_wires=self.wires,
                                   target_gates=gate_set, name="adjoint + " + self.name)
        pipeline.add_transform(device_resolve_dynamic_wires, wires=self.wires, allow_resets=not deferred)
        pipeline.add_transform(validate_device_wires, self.wires, name=self.name)
        pipeline.add_transform(validate_measurements, analytic_measurements=_accepts_analytic,
                               sample_measurements=_accepts_shots, name=self.name)
        pipeline.add_transform(_expand_what_is_no_angle)
        if config.gradient_method == "adjoint":
            pipeline.add_transform(need_adjoint)
        elif config.gradient_method == "backprop":
            pipeline.add_transform(need_traced, under_jit=config.interface == Interface.JAX_JIT)
        return pipeline

    def supports_derivatives(self, execution_config: Optional[ExecutionConfig] = None,
                             circuit: Optional[QuantumScript] = None) -> bool:
        """Whether the engine's adjoint method gives them: of expectation values of Pauli sums, or of probabilities of
        wires, without shots, in a circuit whose measurements in the middle are deferred; with JAX also of what is measured of the
        state that such a circuit ends in."""
        if execution_config is not None:
            if execution_config.gradient_method not in ("best", "device", "adjoint") or execution_config.derivative_order > 1:
                return False
        if circuit is None:
            return True
        if execution_config is None or execution_config.mcm_config.mcm_method in (None, "deferred"):
            circuit = _deferred(circuit)
        framework = framework_of(execution_config, circuit)
        if framework is None:
            return why_not(circuit) is None
        return why_not_traced(circuit, framework == "jax" and is_jit()) is None

    def supports_vjp(self, execution_config: Optional[ExecutionConfig] = None,
                     circuit: Optional[QuantumScript] = None) -> bool:
        return self.supports_derivatives(execution_config, circuit)

    # --- running

    def _followed_results(self, tape, config, labels=None):
        """The answers as a framework follows them. Where it follows the entries of a matrix, the circuit is run up to there, the
        matrix multiplied by the framework, and the rest run from the state that comes of it."""
        is_torch = config.interface == Interface.TORCH
        at = next((k for k, op in enumerate(tape.operations) if is_free_matrix(op)), None)
        if at is None:
            return self._run_of(tape, config, labels).followed_results(is_torch)
        labels = wire_order(self.wires, tape) if labels is None else labels
        first = QuantumScript(tape.operations[:at], [StateMP()])
        state = self._run_of(first, config, labels).followed_results(is_torch)
        is_batch, sides = first.batch_size is not None, (2,) * len(labels)
        own = tape.operations[at].map_wires({label: k for k, label in enumerate(labels)})
        state = apply_operation(own, qml.math.reshape(state, (-1, *sides) if is_batch else sides), is_state_batched=is_batch)
        is_batch = is_batch or own.batch_size is not None
        start = qml.StatePrep(qml.math.reshape(state, (-1, 2**len(labels)) if is_batch else (-1,)), labels, validate_norm=False)
        rest = tape.copy(operations=[start, *tape.operations[at + 1:]])
        return self._followed_results(rest, config, labels)

    def _run_of(self, tape, config, labels=None):
        options = {**dict(zip(_OPTIONS, (*self._how, self._effort))), **config.device_options}
        how = how_of(options["precision"], options["device"], options["threads"])
        return Run(self, tape, how, options["effort"], config.mcm_config.postselect_mode, labels)

    def execute(self, circuits: Union[QuantumScript, Sequence[QuantumScript]],
                execution_config: Optional[ExecutionConfig] = None) -> Any:
        config = execution_config or ExecutionConfig()
        if config.gradient_method == "backprop":
            return tuple(self._followed_results(tape, config) for tape in circuits)
        return tuple(self._run_of(tape, config).results() for tape in circuits)

    def compute_derivatives(self, circuits: Union[QuantumScript, Sequence[QuantumScript]],
                            execution_config: Optional[ExecutionConfig] = None) -> Any:
        config = execution_config or ExecutionConfig()
        return tuple(self._run_of(tape, config).derivatives().jacobian() for tape in circuits)

    def execute_and_compute_derivatives(self, circuits: Union[QuantumScript, Sequence[QuantumScript]],
                                        execution_config: Optional[ExecutionConfig] = None) -> Any:
        config = execution_config or ExecutionConfig()
        runs = [self._run_of(tape, config) for tape in circuits]
        return tuple(run.results() for run in runs), tuple(run.derivatives().jacobian() for run in runs)

    def compute_vjp(self, circuits: Union[QuantumScript, Sequence[QuantumScript]], cotangents: Any,
                    execution_config: Optional[ExecutionConfig] = None) -> Any:
        config = execution_config or ExecutionConfig()
        return tuple(self._run_of(tape, config).derivatives().vjp(v) for tape, v in zip(circuits, cotangents))

    def execute_and_compute_vjp(self, circuits: Union[QuantumScript, Sequence[QuantumScript]], cotangents: Any,
                                execution_config: Optional[ExecutionConfig] = None) -> Any:
        config = execution_config or ExecutionConfig()
        runs = [self._run_of(tape, config) for tape in circuits]
        return (tuple(run.results() for run in runs),
                tuple(run.derivatives().vjp(v) for run, v in zip(runs, cotangents)))

    def _metric_tensor(self, tape: QuantumScript) -> Any:
        return self._run_of(tape, ExecutionConfig()).metric_tensor()

    def _seed(self) -> int:
        return int(self._rng.integers(1 << 63))
