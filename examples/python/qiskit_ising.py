# Qiskit on Tilewave: the ground state of a small Ising chain by a variational circuit.

# %% The chain, and a circuit with parameters.
import numpy as np
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.quantum_info import SparsePauliOp

from tilewave.qiskit import EstimatorV2, SamplerV2

n = 4
chain = SparsePauliOp.from_sparse_list([("ZZ", [q, q + 1], -1.0) for q in range(n - 1)] +
                                       [("X", [q], -0.6) for q in range(n)], num_qubits=n)
theta = ParameterVector("theta", 2 * n)
ansatz = QuantumCircuit(n)
for q in range(n):
    ansatz.ry(theta[q], q)
for q in range(n - 1):
    ansatz.cx(q, q + 1)
for q in range(n):
    ansatz.ry(theta[n + q], q)

# %% Energies of many parameters in one call, then the gradient by shifts of pi / 2: 2 x 8 more points at once.
estimator = EstimatorV2()
rng = np.random.default_rng(1)
start = rng.uniform(-0.5, 0.5, (20, 2 * n))
energies = estimator.run([(ansatz, chain, start)]).result()[0].data.evs
x = start[np.argmin(energies)]
shifts = np.concatenate([np.eye(2 * n), -np.eye(2 * n)]) * np.pi / 2
for step in range(60):
    values = estimator.run([(ansatz, chain, x + shifts)]).result()[0].data.evs
    x = x - 0.15 * (values[:2 * n] - values[2 * n:]) / 2

# %% Near the exact ground state.
energy = float(estimator.run([(ansatz, chain, x)]).result()[0].data.evs)
exact = np.linalg.eigvalsh(chain.to_matrix())[0]
print("energy", energy, "exact", exact)
assert exact - 1e-9 <= energy < 0.9 * exact

# %% Shots of the state that was found.
ansatz.measure_all()
bits = SamplerV2(seed=1).run([(ansatz, x, 1000)]).result()[0].data.meas
print(bits.get_counts())
