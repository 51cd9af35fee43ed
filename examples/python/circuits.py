# Circuits from Python, cell by cell: build one, look at its plan, ask it questions. Runs as a script or, by its `# %%`
# marks, as a notebook in most editors.

# %% A circuit has a method for every gate; angles come first, then qubits.
import numpy as np

import tilewave as tw

ghz = tw.Circuit(5).h(0)
for q in range(4):
    ghz.cx(q, q + 1)
print(ghz)

# %% The state is an array over the memory it was computed in. Qubit 0 is the lowest bit of an index.
state = tw.simulate(ghz)
assert np.allclose(state[[0, 31]], np.sqrt(0.5)) and np.count_nonzero(state) == 2

# %% Expectations of Pauli sums, exact; the rightmost letter is qubit 0.
assert abs(tw.expectation(ghz, "XXXXX") - 1) < 1e-12
assert abs(tw.expectation(ghz, "0.5 Z0 Z4 + 0.25 IIIZZ") - 0.75) < 1e-12

# %% Shots: counts, or every shot in order.
counts = tw.sample(ghz.copy().measure_all(), 1000, seed=1)
print(counts)
bits = tw.sample_bits(ghz, 1000, seed=1)
assert set(counts) == {"00000", "11111"} and bits.shape == (1000, 5)

# %% How it would run: passes over the state, their bytes and times. Nothing is allocated for this.
qft = tw.Circuit(24)
for q in reversed(range(24)):
    qft.h(q)
    for k in range(q):
        qft.cp(np.pi / 2 ** (q - k), k, q)
plan = tw.plan(qft)
print(plan.explain())
assert plan.num_passes < 12 and plan.num_gates == 300

# %% Measuring in the middle: shots are grouped by outcome, every history is simulated once.
reset_by_hand = tw.Circuit(1, 2).h(0).measure(0, 0)
reset_by_hand.x(0).c_if(0)
reset_by_hand.measure(0, 1)
assert all(key[0] == "0" for key in tw.sample(reset_by_hand, 100))
