# Noise, cell by cell: a GHZ state on an imperfect device, exactly and by trajectories. Runs as a script or, by its `# %%`
# marks, as a notebook in most editors.

# %% A model is a dictionary (or JSON, a file, or Qiskit Aer's NoiseModel): channels after gates, and readout errors.
import numpy as np

import tilewave as tw

model = tw.noise_model({
    "channels": [
        {"after": "cx", "channel": "depolarizing2", "p": 0.02},
        {"after": "all", "channel": "thermal_relaxation", "t1": 100e-6, "t2": 80e-6, "time": 0.2e-6},
    ],
    "readout": [{"p1_given_0": 0.01, "p0_given_1": 0.03}],
})


def ghz(n):
    circuit = tw.Circuit(n).h(0)
    for q in range(n - 1):
        circuit.cx(q, q + 1)
    return circuit


# %% A few qubits: the density matrix itself.
rho = tw.simulate(ghz(5), noise=model)
ideal = tw.simulate(ghz(5))
fidelity = (ideal.conj() @ rho @ ideal).real
print(f"fidelity {fidelity:.4f}, purity {np.trace(rho @ rho).real:.4f}")
assert 0.85 < fidelity < 0.95

# %% Many qubits: trajectories, with the standard error of their mean. `run` says which engine ran and why.
result = tw.run(ghz(18), 300, seed=1, observables="Z0 Z17", noise=model)
print(f"{result.engine}: <Z0 Z17> = {result.expectation_sum:.3f} +- {result.expectation_sum_error:.3f}")
print(result.engine_choice)
assert result.engine == "trajectories" and 0.3 < result.expectation_sum < 0.95

# %% The two engines agree where both can run.
exact = tw.expectation(ghz(5), "XXXXX", noise=model, engine="density")
mean = tw.run(ghz(5), 4000, seed=2, observables="XXXXX", noise=model, engine="trajectories")
assert abs(mean.expectation_sum - exact) < 5 * mean.expectation_sum_error

# %% Shots are misread, too.
print(tw.sample(ghz(2), 1000, seed=3, noise=model))
