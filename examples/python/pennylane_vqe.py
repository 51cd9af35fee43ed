# The ground state of the hydrogen molecule, by a variational circuit that PennyLane trains on Tilewave.

# %% The Hamiltonian in the basis STO-3G at the bond length 0.7414 Angstrom: 15 Pauli strings on 4 qubits.
import numpy as np
import pennylane as qml
from pennylane import numpy as pnp

bond = 0.7414 / 0.529177210903  # in Bohr
molecule = qml.qchem.Molecule(["H", "H"], np.array([[0.0, 0.0, 0.0], [0.0, 0.0, bond]]))
hamiltonian, num_wires = qml.qchem.molecular_hamiltonian(molecule)
print(f"{len(hamiltonian.terms()[1])} strings on {num_wires} qubits")

# %% Its lowest eigenvalue, which the circuit is to find: full configuration interaction gives -1.1373 Hartree.
exact = np.linalg.eigvalsh(qml.matrix(hamiltonian, wire_order=range(num_wires)))[0]
assert abs(exact + 1.1373) < 1e-4

# %% A circuit with two electrons: from the Hartree-Fock state, both single excitations and the double one.
device = qml.device("tilewave.qubit", wires=num_wires)


@qml.qnode(device)
def energy(angles):
    qml.BasisState([1, 1, 0, 0], range(num_wires))
    qml.SingleExcitation(angles[0], [0, 2])
    qml.SingleExcitation(angles[1], [1, 3])
    qml.DoubleExcitation(angles[2], range(num_wires))
    return qml.expval(hamiltonian)


# %% Gradient descent. Every step is one run and one product with its Jacobian, both in the engine.
angles = pnp.zeros(3, requires_grad=True)
optimizer = qml.GradientDescentOptimizer(stepsize=0.4)
with qml.Tracker(device) as tracker:
    for step in range(60):
        angles, value = optimizer.step_and_cost(energy, angles)
print(f"{energy(angles):.8f} Hartree after {step + 1} steps, exactly {exact:.8f}")
assert 0 <= energy(angles) - exact + 1e-12 < 1e-7
assert tracker.totals["vjps"] == 60  # adjoint derivatives: no step shifts a parameter

# %% The energy along the double excitation, 41 circuits in one execution.
along = np.linspace(-0.6, 0.6, 41)
curve = energy(np.array([np.full(41, float(angles[0])), np.full(41, float(angles[1])), float(angles[2]) + along]))
assert curve.shape == (41,) and curve.argmin() == 20
