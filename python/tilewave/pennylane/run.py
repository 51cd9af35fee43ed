"""One tape on the engine: from operations to rows and numbers, and from the engine's answers to what was measured."""
from __future__ import annotations

import numpy as np
import pennylane as qml
from pennylane.exceptions import DeviceError
from pennylane.measurements import ExpectationMP, StateMP, VarianceMP
from pennylane.operation import StatePrepBase
from pennylane.ops import Conditional, MidMeasure

from .. import _core
from ..circuits import Circuit
from ..functions import bits_of
from ..observables import NO_TERMS
from ..programs import Rows, how_side_by_side
from ..runs import _count, initial_of, is_gpu, means_of, seed_of
from . import gates
from .analytic import measure_exactly
from .followed import is_followed
from .gradients import MOST_FORWARD_QUBITS, Derivatives, asks_probabilities
from .measured import measure_branches
from .shots import ShotPlan, is_shadow, without_shots
from .traced import Answers

_MOST_SURE_QUBITS = 24  # whose state fits memory


class Run:
    """One tape on the engine."""

    def __init__(self, device, tape, how, effort, postselect_mode, labels=None):
        self.device, self.tape, self.how, self.effort, self.mode = device, tape, how, effort, postselect_mode
        labels = wire_order(device.wires, tape) if labels is None else labels
        self.wires = {wire: len(labels) - 1 - k for k, wire in enumerate(labels)}
        self.rows = Rows(max(1, len(labels)))  # a circuit without wires has its phase
        self.initial, self.clbits = None, {}
        self.numbers = []
        self._read()

    def _read(self):
        wires, rows = self.wires, self.rows
        operations = self.tape.operations
        if operations and isinstance(operations[0], StatePrepBase) and operations[0].name != "BasisState":
            batch = operations[0].batch_size
            vectors = qml.math.reshape(operations[0].state_vector(wire_order=list(wires)), (-1,) if batch is None else (batch, -1))
            if is_followed(vectors):
                self.initial = vectors
            else:
                vectors = qml.math.toarray(vectors)
                self.initial = (initial_of(vectors, rows.num_qubits) if batch is None
                                else np.stack([initial_of(vector, rows.num_qubits) for vector in vectors]))
            self.numbers += [np.nan] * len(operations[0].data)
            operations = operations[1:]
        at = len(self.numbers)
        for op in operations:
            if isinstance(op, MidMeasure):
                qubit = wires[op.wires[0]]
                self.clbits[op] = rows.measure(qubit)
                if op.reset:
                    rows.reset(qubit)
                continue
            if isinstance(op, Conditional):
                bits = tuple(self.clbits[m] for m in op.meas_val.measurements)
                patterns = [branch for branch, value in op.meas_val.items() if value]
                if not rows.act_on(bits, patterns):
                    at += self._take_numbers(op)
                    continue
                op = op.base
            angles = tuple((1.0, at + k, 0.0) for k in range(len(op.data)))
            gates.add(op, wires, angles, rows)
            rows.condition = None
            at += self._take_numbers(op)

    def _take_numbers(self, op):
        data = op.data
        if data:
            plain = gates.angles_only(op)
            for value in data:
                if not plain:
                    self.numbers.append(np.nan)
                elif is_followed(value):
                    self.numbers.append(value)
                else:
                    self.numbers.append(np.asarray(value if isinstance(value, (float, int)) else qml.math.toarray(value), float))
        return len(data)

    def table(self):
        """The numbers of each member of the batch, [members, numbers]; one row where there is no batch."""
        batch = self.tape.batch_size
        table = np.empty((batch or 1, len(self.numbers)))
        for k, value in enumerate(self.numbers):
            if batch is None and np.ndim(value):
                value = np.reshape(value, ())
            table[:, k] = value
        return table

    def circuits(self):
        """The circuits of the batch, or the one."""
        program = self.device._programs.of(self.rows)
        return [program.at(row) for row in self.table()]

    def _start_of(self, member):
        """The state that a member of the batch begins in."""
        return self.initial if self.initial is None or self.initial.ndim == 1 else self.initial[member]

    def function(self, wants_derivatives=False):
        """The expectation values as a function of the numbers; None where something else is asked, or a GPU answers as fast
        without."""
        if not self.rows.keeps_norm or (is_gpu(self.how[1]) and not wants_derivatives):
            return None
        found, how = [], self.how if is_gpu(self.how[1]) else (self.how[0], "cpu", self.how[2])
        if wants_derivatives and all(asks_probabilities(mp) for mp in self.tape.measurements):
            return self.device._programs.of(self.rows).function((), [], how)
        for mp in self.tape.measurements:
            if type(mp) is not ExpectationMP or mp.mv is not None or mp.obs is None:
                return None
            known = self.device._known.find(mp.obs, False, self.wires, len(self.wires))
            if known is None:
                return None
            found.append(known)
        return self.device._programs.of(self.rows).function(tuple(known.key for known in found),
                                                            [known.terms[0] for known in found], how)

    def followed_results(self, is_torch):
        """The answers as tensors of PyTorch or arrays of JAX, of numbers that these may follow."""
        everything = (*self.numbers, *self.tape.get_parameters(trainable_only=False))
        if is_torch:
            from .in_torch import answers_in_torch, as_tensors, device_of
        else:
            from .in_jax import answers_in_jax, as_arrays
        if not any(is_followed(value) for value in everything):
            return as_tensors(self.results(), device_of(everything)) if is_torch else as_arrays(self.results())
        how = self.how if is_gpu(self.how[1]) else (self.how[0], "cpu", self.how[2])
        if not self.rows.keeps_norm:
            raise DeviceError("derivatives of a circuit with projectors are not supported: use diff_method='parameter-shift'")
        program = self.device._programs.of(self.rows)
        answers = Answers(self.tape.measurements, self.wires,
                          lambda obs, is_variance: self.device._known.find(obs, is_variance, self.wires, len(self.wires)),
                          lambda key, terms: program.function(key, terms, how),
                          lambda row, start: _core.State(program.at(row), *self.how, None, self.effort, start),
                          is_followed(self.initial))
        return (answers_in_torch if is_torch else answers_in_jax)(answers, self.numbers, self.tape.batch_size, self.initial)

    def derivatives(self):
        function = self.function(wants_derivatives=True)
        if function is None:
            raise DeviceError("adjoint derivatives are of expectation values of Pauli sums, or of probabilities")
        terms = [self.device._known.find(mp.obs, False, self.wires, len(self.wires)).terms[0] for mp in self.tape.measurements
                 if mp.obs is not None]
        return Derivatives(self.tape, function, self.table(), self.tape.batch_size, self.wires, self.initial, terms)

    def metric_tensor(self):
        """Of the trainable parameters, whatever is measured."""
        if self.clbits or not self.rows.keeps_norm:
            raise DeviceError("the metric tensor is of a circuit of unitary gates")
        function = self.device._programs.of(self.rows).function((), [], self.how)
        bare = self.tape.copy(measurements=[], trainable_params=self.tape.trainable_params)
        return Derivatives(bare, function, self.table(), None, self.wires, self.initial).metric_tensor()

    def results(self):
        if self.tape.shots:
            _count(self.tape.shots.total_shots)
            if not self.wires:
                raise DeviceError("the circuit has no wires, so there is nothing to sample: name the wires that are measured")
        if self.clbits:
            found = self._measured()
        elif self.tape.shots:
            found = self._sampled()
        else:
            batch = self.tape.batch_size
            if self.rows.num_qubits <= MOST_FORWARD_QUBITS and (function := self.function()) is not None:
                values = function.expectations(self.table(), self.initial)
                answers = [np.float64(v) for v in values[0]] if batch is None else list(values.T)
                return tuple(answers) if len(answers) > 1 else answers[0]
            answers = self._side_by_side()
            if answers is None and self._has_no_state():
                answers = self._means_without_state()
            if answers is None:
                answers = [measure_exactly(self.state(circuit, k), self.tape.measurements, self.wires, self.rows.keeps_norm,
                                           self.device._known) for k, circuit in enumerate(self.circuits())]
                answers = answers[0] if batch is None else [np.stack(values) for values in zip(*answers)]
            return tuple(answers) if len(answers) > 1 else answers[0]
        # a list of entries of the shot vector for each measurement
        entries = [tuple(values) if len(values) > 1 else values[0] for values in zip(*found)]
        return tuple(entries) if self.tape.shots.has_partitioned_shots else entries[0]

    def state(self, circuit, member=0):
        return _core.State(circuit, *self.how, None, self.effort, self._start_of(member))

    def _means_without_state(self):
        """Expectation values and variances of Pauli sums as the engine can find them without a state: of Clifford circuits. None
        where something else is asked."""
        known = [self.device._known.find(mp.obs, type(mp) is VarianceMP, self.wires, len(self.wires))
                 if mp.obs is not None and mp.mv is None and type(mp) in (ExpectationMP, VarianceMP) else None
                 for mp in self.tape.measurements]
        if None in known:
            return None
        parts = [part for found in known for part in found.terms]
        ends = np.cumsum([len(part[0]) for part in parts])
        together = tuple(np.concatenate([part[k] for part in parts]) for k in range(3))
        rows = []
        for circuit in self.circuits():
            values = together[0] * means_of(circuit, (np.ones(len(together[0])), *together[1:]), self.how)
            sums = iter([part.sum() for part in np.split(values, ends[:-1])])
            rows.append([next(sums) - next(sums) ** 2 if type(mp) is VarianceMP else next(sums) for mp in self.tape.measurements])
        return rows[0] if self.tape.batch_size is None else [np.array(column) for column in zip(*rows)]

    # --- members of a batch side by side

    def _how_of_batch(self):
        """How members of a batch run side by side; None where they do not."""
        if self.tape.batch_size is None or not self.rows.keeps_norm or self.clbits:
            return None
        return how_side_by_side(self.how, self.rows.num_qubits)

    def _side_by_side(self):
        """Exact answers for a batch: expectation values and variances of Pauli sums, probabilities of wires, and states; None
        where something else is asked, or a member is worth a run of its own."""
        how = self._how_of_batch()
        if how is None:
            return None
        program, table = self.device._programs.of(self.rows), self.table()
        plans, known = [], []
        for mp in self.tape.measurements:
            if mp.obs is not None and mp.mv is None and type(mp) in (ExpectationMP, VarianceMP):
                found = self.device._known.find(mp.obs, type(mp) is VarianceMP, self.wires, len(self.wires))
                if found is None:
                    return None
                plans.append((mp, len(known)))
                known += found.terms
            elif asks_probabilities(mp) or type(mp) is StateMP:
                plans.append((mp, None))
            else:
                return None
        means = None
        if known:
            key = tuple(part.tobytes() for terms in known for part in terms)
            means = program.function(key, known, how).expectations(table, self.initial)
        bare = program.function((), [], how) if any(at is None for _, at in plans) else None
        answers = []
        for mp, at in plans:
            if at is not None:
                answers.append(means[:, at] - means[:, at + 1] ** 2 if type(mp) is VarianceMP else means[:, at])
            elif type(mp) is StateMP:
                answers.append(bare.states(table, self.initial))
            else:
                answers.append(bare.probabilities(table, [self.wires[wire] for wire in (mp.wires or self.wires)][::-1],
                                                  self.initial))
        return answers

    def _shots_side_by_side(self, how, rotations, operations, shots):
        """Samples of a batch, bool [members, shots, wires], after further gates."""
        rows = self.rows.copy()
        numbers = self._add_rotation(rows, rotations, operations, len(self.numbers))
        table = np.hstack([self.table(), np.broadcast_to(np.array(numbers, float), (self.tape.batch_size, len(numbers)))])
        function = self.device._programs.of(rows).function((), [], how)
        outcomes = function.samples(table, shots, self.device._seed(), self.initial)
        return bits_of(outcomes, range(rows.num_qubits)[::-1])

    # --- with shots

    def _sampled(self):
        tape, bins = self.tape, list(self.tape.shots.bins())
        together, without_state = self._how_of_batch(), self._has_no_state()
        states = [] if together or without_state else [self.state(circuit, k) for k, circuit in enumerate(self.circuits())]
        if not self.rows.keeps_norm:  # no batch: postselections with shots are taken apart
            bins = self._left_of(bins, states[0])
        plain = [mp for mp in tape.measurements if not is_shadow(mp)]
        plan = ShotPlan(plain, self.wires, tape.batch_size)

        def draw(rotations, operations):
            if together:
                return self._shots_side_by_side(together, rotations, operations, bins[-1][1]), bins
            parts = [self._run_shots(circuit, rotations, operations, bins[-1][1])[1] for circuit in self.circuits()] \
                if without_state else []
            for state in states:
                if rotations or operations:
                    state = _core.State(state)
                    state._apply(self._rotation(rotations, operations))
                parts.append(state._sample(bins[-1][1], self.device._seed())[:, ::-1].view(bool) if bins[-1][1]
                             else np.zeros((0, self.rows.num_qubits), bool))
            return (np.stack(parts) if tape.batch_size is not None else parts[0]), bins

        answers = iter(plan.answer(draw))
        return [self._shadow(mp, states[0], bins) if is_shadow(mp) else next(answers) for mp in tape.measurements]

    def _has_no_state(self):
        """Whether memory holds no state of so many qubits, so that shots are drawn as the engine can: of Clifford circuits."""
        n = self.rows.num_qubits
        return (n > _MOST_SURE_QUBITS and n > _core._most_qubits(self.how[0]) and self.rows.keeps_norm and self.initial is None
                and not any(is_shadow(mp) for mp in self.tape.measurements))

    def _left_of(self, bins, state):
        """The shots whose postselected measurements came out as asked; all of them for "fill-shots", none where they never
        do."""
        norm, at, left = min(1.0, state.norm()), 0, []
        if self.mode == "fill-shots":
            return bins if norm > 0 else [(0, 0)] * len(bins)
        for lower, upper in bins:
            count = int(self.device._rng.binomial(upper - lower, norm))
            left.append((at, at + count))
            at += count
        return left

    def _add_rotation(self, rows, rotations, operations, first=0):
        """Adds gates; their numbers, which those of the rows count from `first`."""
        for gate, qubit in rotations:
            rows.add(gate, (qubit,))
        numbers = []
        for op in operations or ():
            for native in _natives(op):
                at = first + len(numbers)
                gates.add(native, self.wires, tuple((1.0, at + k, 0.0) for k in range(len(native.data))), rows)
                numbers += [np.asarray(value, float) if gates.angles_only(native) else np.nan for value in native.data]
        return numbers

    def _rotation(self, rotations, operations):
        rows = Rows(self.rows.num_qubits)
        numbers = self._add_rotation(rows, rotations, operations)
        return self.device._programs.of(rows).at(np.array(numbers, float))

    def _shadow(self, mp, state, bins):
        amplitudes = _core.State(state).take().reshape((2,) * self.rows.num_qubits)
        if not self.rows.keeps_norm and bins[-1][1]:
            amplitudes = amplitudes / state.norm() ** 0.5
        order = qml.wires.Wires(list(self.wires))
        return [mp.process_state_with_shots(amplitudes, order, upper - lower, rng=self.device._rng) if upper > lower
                else without_shots(mp, order) for lower, upper in bins]

    def _run_shots(self, circuit, rotations, operations, count):
        """Classical bits and qubits of `count` shots of a circuit, after further gates."""
        full = Circuit(circuit)
        if rotations or operations:
            full.compose(self._rotation(rotations, operations))
        first = full._add_clbits(full.num_qubits)
        for k in range(full.num_qubits):
            full.measure(full.num_qubits - 1 - k, first + k)
        result = _core._run(full, count, seed_of(self.device._seed()), *self.how, None, NO_TERMS, True, False, False, False,
                            None, "auto", self.effort, self.initial)
        bits = np.unpackbits(result.shot_bits, axis=1, count=result.num_shot_bits, bitorder="little").view(bool)
        return bits[:, :len(self.clbits)], bits[:, first:first + full.num_qubits]

    def _measured(self):
        circuit, = self.circuits()
        return measure_branches(self.tape, self.clbits, self.wires,
                                lambda *asked: self._run_shots(circuit, *asked), self.mode)


def _natives(op):
    if gates.is_native(op, allows_measurements=False):
        yield op
        return
    for part in op.decomposition():
        yield from _natives(part)


def wire_order(device_wires, tape):
    """Labels in order: the device's, or those of the circuit as PennyLane orders them."""
    if device_wires is not None:
        return list(device_wires)
    acted = qml.wires.Wires.all_wires([op.wires for op in tape.operations])
    measured = qml.wires.Wires.all_wires([mp.wires for mp in tape.measurements])
    order = list(acted) + [wire for wire in measured if wire not in acted]
    if set(acted) == set(range(len(acted))) and set(order) == set(range(len(order))):
        return list(range(len(order)))
    return order
