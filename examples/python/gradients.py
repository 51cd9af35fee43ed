# Training a circuit: the ground state of a chain of spins by gradient descent, from angles that are all zero.

# %% The Hamiltonian: sum of -Z Z between neighbours and -X on each, a chain of 8 that is not closed.
import numpy as np

import tilewave as tw

n, layers = 8, 8
hamiltonian = {f"Z{k} Z{k + 1}": -1.0 for k in range(n - 1)} | {f"X{k}": -1.0 for k in range(n)}

# %% Its lowest energy, from free fermions: the chain's modes have energies 2 sqrt of the eigenvalues of A A^T.
a = np.eye(n) + np.diag(np.ones(n - 1), 1)
exact = -np.sqrt(np.linalg.eigvalsh(a @ a.T)).sum()

# %% A circuit with parameters in its angles: layers of rotations about Y, by themselves and under the neighbour's control.
theta = iter(tw.parameters("theta", layers * (2 * n - 1) + n))
circuit = tw.Circuit(n)
for _ in range(layers):
    for k in range(n):
        circuit.ry(next(theta), k)
    for k in range(n - 1):
        circuit.cry(next(theta), k, k + 1)
for k in range(n):
    circuit.ry(next(theta), k)
energy = circuit.compile(hamiltonian)
print(energy)

# %% Value and gradient in one call. Angles at 0 are as good as any: no value changes what is planned.
values = np.zeros(energy.num_parameters)
value, gradient = energy.value_and_grad(values)
assert np.isclose(value, 1 - n) and gradient.shape == (layers * (2 * n - 1) + n,)

# %% A quasi-Newton method (BFGS): steps along the gradient, with what it learns of the curvature.
inverse = np.eye(len(values))
direction = -gradient
for step in range(4000):
    length = 1.0
    while True:
        trial = values + length * direction
        new, new_gradient = energy.value_and_grad(trial)
        if new <= value + 1e-4 * length * (direction @ gradient) or length < 1e-10:
            break
        length /= 2
    moved, change = trial - values, new_gradient - gradient
    values, value, gradient = trial, new, new_gradient
    if value - exact < 1e-7 or np.abs(gradient).max() < 1e-10:
        break
    if moved @ change > 1e-14:
        rho = 1 / (moved @ change)
        along = inverse @ change
        inverse += rho * ((1 + rho * (change @ along)) * np.outer(moved, moved)
                          - np.outer(along, moved) - np.outer(moved, along))
    direction = -inverse @ gradient
print(f"after {step + 1} steps: {value:.9f}, exactly {exact:.9f}")
assert 0 <= value - exact + 1e-9 < 1e-6

# %% Many sets of values at once: how the energy changes along the first angle.
along = np.repeat(values[None], 50, axis=0)
along[:, 0] += np.linspace(-1, 1, 50)
energies = energy.expectation(along)
assert energies.shape == (50,) and energies.min() >= exact
