"""State vectors on one GPU by packages that apply a circuit gate by gate, for gpu.py: cuStateVec by its Ex interface
and lightning.gpu by its state vector.

A peer has `use(precision)`, `amplitudes(size, gates)` and `measure(size, gates, small, rounds, budget_s)`. `gates`
are those of circuits.read_qasm; `small` is (size, gates) of the same kinds on fewer qubits, which loads the kernels.
A timed run sets |0...0>, applies the gates, whose matrices were made before, and ends with a synchronisation. The
first run counts only where it took longer than `budget_s`.
"""

import cmath
import ctypes
import math
import statistics
import time

import numpy as np

DIAGONAL = {"z": -1, "s": 1j, "t": cmath.exp(0.25j * math.pi)}
CONTROLLED = {"cx": "x", "cz": "z", "cp": "p"}


def target_matrix(name, parameters):
    """(kind, elements) of the matrix on the target of a gate: "diagonal" with two elements, "antidiagonal" with those
    of the first and the second row, or "dense" with four, row by row."""
    name = CONTROLLED.get(name, name)
    if name in DIAGONAL:
        return "diagonal", [1, DIAGONAL[name]]
    if name == "p":
        return "diagonal", [1, cmath.exp(1j * parameters[0])]
    if name == "rz":
        return "diagonal", [cmath.exp(-0.5j * parameters[0]), cmath.exp(0.5j * parameters[0])]
    if name in ("x", "y"):
        return "antidiagonal", [1, 1] if name == "x" else [-1j, 1j]
    if name == "h":
        return "dense", [math.sqrt(0.5), math.sqrt(0.5), math.sqrt(0.5), -math.sqrt(0.5)]
    if name not in ("rx", "ry", "u3"):
        raise ValueError(f"the gate {name} has no matrix here: add it to target_matrix of bench/peers/gpu_states.py")
    cosine, sine = math.cos(parameters[0] / 2), math.sin(parameters[0] / 2)
    if name == "rx":
        return "dense", [cosine, -1j * sine, -1j * sine, cosine]
    if name == "ry":
        return "dense", [cosine, -sine, sine, cosine]
    phi, lam = (cmath.exp(1j * angle) for angle in parameters[1:])
    return "dense", [cosine, -lam * sine, phi * sine, phi * lam * cosine]


def folded(gates, size):
    """The gates with their qubits taken modulo `size`, without those whose qubits then coincide."""
    at = [(name, [k % size for k in qubits], parameters) for name, qubits, parameters in gates]
    return [gate for gate in at if len(set(gate[1])) == len(gate[1])]


class _GateByGate:
    def use(self, precision):
        self.type = {"single": np.complex64, "double": np.complex128}[precision]

    def amplitudes(self, size, gates):
        state, program = self.state(size), self.program(gates)
        try:
            self.run(state, program)
            self.run(state, program)  # the timed runs are repeated too
            return self.read(state, size).tolist()
        finally:
            self.free(program)
            self.free_state(state)

    def measure(self, size, gates, small, rounds, budget_s):
        self.amplitudes(*small)
        state, program, times = self.state(size), self.program(gates), []
        try:
            while len(times) <= rounds and sum(times) < budget_s:
                start = time.perf_counter()
                self.run(state, program)
                times.append(time.perf_counter() - start)
        finally:
            self.free(program)
            self.free_state(state)
        counted = times[1:] or times
        return {"median_s": statistics.median(counted), "times_s": counted}

    def free(self, program):
        pass


class CuStateVec(_GateByGate):
    """custatevecExApplyMatrix, one call a gate."""

    name, title, package = "custatevec", "cuStateVec Ex, gate by gate", "custatevec-cu13"

    def __init__(self):
        from cuquantum.bindings import custatevec, custatevecEx
        from cuquantum.bindings._utils import cudaDataType

        self.ex, self.row = custatevecEx, custatevec.MatrixLayout.ROW
        self.types = {np.complex64: cudaDataType.CUDA_C_32F, np.complex128: cudaDataType.CUDA_C_64F}
        kinds = custatevecEx.MatrixType
        self.kinds = {"dense": kinds.DENSE, "diagonal": kinds.DIAGONAL, "antidiagonal": kinds.ANTI_DIAGONAL}

    def state(self, size):
        config = self.ex.configure_state_vector_single_device(self.types[self.type], size, size, 0, 0)
        try:
            return self.ex.state_vector_create_single_process(config, 0, 0, 0)  # on the default stream
        finally:
            self.ex.dictionary_destroy(config)

    def free_state(self, state):
        self.ex.state_vector_destroy(state)

    def calls(self, gates):
        """Arguments of apply_matrix and of sv_updater_enqueue_matrix, and the matrices, which have to stay."""
        made, matrices = [], []
        for name, qubits, parameters in gates:
            kind, elements = target_matrix(name, parameters)
            matrices.append(np.array(elements, self.type))
            *controls, target = qubits
            made.append((matrices[-1].ctypes.data, self.types[self.type], self.kinds[kind], self.row, 0, [target], 1,
                         controls, [1] * len(controls), len(controls)))
        return made, matrices

    def program(self, gates):
        return self.calls(gates)

    def run(self, state, program):
        self.ex.state_vector_set_zero_state(state)
        for call in program[0]:
            self.ex.apply_matrix(state, *call)
        self.ex.state_vector_synchronize(state)

    def read(self, state, size):
        found = np.empty(1 << size, self.type)
        self.ex.state_vector_get_state(state, found.ctypes.data, self.types[self.type], 0, 1 << size, 1)
        self.ex.state_vector_synchronize(state)
        return found


class CuStateVecUpdater(CuStateVec):
    """custatevecExSVUpdaterApply, which fuses the gates that were enqueued before."""

    name, title = "custatevec_updater", "cuStateVec Ex, SVUpdater"

    def program(self, gates):
        config = self.ex.configure_sv_updater(self.types[self.type])
        try:
            updater = self.ex.sv_updater_create(config, 0)
        finally:
            self.ex.dictionary_destroy(config)
        calls, matrices = self.calls(gates)
        for call in calls:
            self.ex.sv_updater_enqueue_matrix(updater, *call)
        return updater, matrices

    def run(self, state, program):
        self.ex.state_vector_set_zero_state(state)
        self.ex.sv_updater_apply(program[0], state, 0, 0)
        self.ex.state_vector_synchronize(state)

    def free(self, program):
        self.ex.sv_updater_destroy(program[0])


class LightningGpu(_GateByGate):
    """The methods of its state vector in C++, one call a gate, below PennyLane's devices and tapes."""

    name, title, package = "lightning_gpu", "lightning.gpu", "pennylane-lightning-gpu"
    METHODS = {"h": "Hadamard", "x": "PauliX", "y": "PauliY", "z": "PauliZ", "s": "S", "t": "T", "rx": "RX", "ry": "RY",
               "rz": "RZ", "u3": "Rot", "cx": "CNOT", "cz": "CZ", "cp": "ControlledPhaseShift"}

    def __init__(self):
        from pennylane_lightning import lightning_gpu_ops

        lightning_gpu_ops.DevPool.getTotalDevices()
        self.ops = lightning_gpu_ops
        runtime = ctypes.CDLL("libcudart.so.12")  # the one that it is linked with and has loaded
        self.synchronize = runtime.cudaDeviceSynchronize

    def state(self, size):
        self.size = size
        return {np.complex64: self.ops.StateVectorC64, np.complex128: self.ops.StateVectorC128}[self.type](size)

    def free_state(self, state):
        pass  # by its destructor, when the last name is gone

    def program(self, gates):
        made = []
        for name, qubits, parameters in gates:
            if name == "u3":  # Rot is RZ(third) RY(second) RZ(first)
                theta, phi, lam = parameters
                parameters = [lam, theta, phi]
            made.append((self.METHODS[name], qubits, parameters))
        return made

    def run(self, state, program):
        last = self.size - 1  # its wire 0 is the highest bit
        state.resetStateVector(False)
        for name, qubits, parameters in program:
            getattr(state, name)([last - k for k in qubits], False, parameters)
        if self.synchronize():
            raise RuntimeError("cudaDeviceSynchronize failed after gates of lightning.gpu")

    def read(self, state, size):
        found = np.empty(1 << size, self.type)
        state.DeviceToHost(found, False)
        return found


PEERS = [CuStateVec, CuStateVecUpdater, LightningGpu]
