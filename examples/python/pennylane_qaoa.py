# The largest cut of a ring by QAOA, trained from many starting points at once with PennyLane on Tilewave.

# %% A ring of 10 vertices. Two layers of QAOA reach 5/6 of its 10 edges, as E. Farhi, J. Goldstone and S. Gutmann found
# (arXiv 1411.4028): with p layers the share of a long ring is (2 p + 1) / (2 p + 2).
import numpy as np
import pennylane as qml
from pennylane import numpy as pnp

n, layers, starts = 10, 2, 16
edges = [(k, (k + 1) % n) for k in range(n)]
cut = qml.Hamiltonian([0.5] * n + [-0.5] * n, [qml.I(0)] * n + [qml.Z(a) @ qml.Z(b) for a, b in edges])

# %% Angles of shape [starts]: a broadcast circuit is one execution, whose derivatives come in one call, too.
device = qml.device("tilewave.qubit", wires=n)


@qml.qnode(device)
def expected_cut(gammas, betas):
    for k in range(n):
        qml.Hadamard(k)
    for layer in range(layers):
        for a, b in edges:
            qml.IsingZZ(gammas[layer], [a, b])
        for k in range(n):
            qml.RX(betas[layer], k)
    return qml.expval(cut)


rng = np.random.default_rng(5)
gammas = pnp.array(rng.uniform(-np.pi, np.pi, (layers, starts)), requires_grad=True)
betas = pnp.array(rng.uniform(-np.pi, np.pi, (layers, starts)), requires_grad=True)

# %% Every start climbs on its own: the sum of their cuts has each one's gradient.
optimizer = qml.AdamOptimizer(stepsize=0.05)
with qml.Tracker(device) as tracker:
    for step in range(150):
        gammas, betas = optimizer.step(lambda g, b: -qml.math.sum(expected_cut(g, b)), gammas, betas)
cuts = expected_cut(gammas, betas)
print(f"best of {starts} starts: {cuts.max():.6f} of {n} edges, 5/6 of them are {5 * n / 6:.6f}")
assert tracker.totals["simulations"] == tracker.totals["vjps"] == 150  # one a step, not one a start
assert np.all(cuts < 5 * n / 6 + 1e-9) and abs(cuts.max() - 5 * n / 6) < 1e-4

# %% Shots of the best one: cuts that were seen.
best = int(np.argmax(cuts))


@qml.set_shots(1000)
@qml.qnode(device)
def draw():
    for k in range(n):
        qml.Hadamard(k)
    for layer in range(layers):
        for a, b in edges:
            qml.IsingZZ(gammas[layer, best], [a, b])
        for k in range(n):
            qml.RX(betas[layer, best], k)
    return qml.sample()


bits = draw()
seen = sum(bits[:, a] != bits[:, b] for a, b in edges)
assert abs(seen.mean() - cuts[best]) < 0.3 and seen.max() == n
