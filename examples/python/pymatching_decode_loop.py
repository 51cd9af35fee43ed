# A decode loop on the CPU: shots stay packed, eight bits a byte, from Tilewave's sampler to PyMatching's answers, and the next
# batch is sampled while one is decoded. It ends when there are enough errors, and compares distances.

# %% The circuit: a repetition code with flips of data and of measurements, in Stim's language.
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymatching

import tilewave as tw


def repetition_code(distance, rounds, p):
    data, checks = range(0, 2 * distance - 1, 2), range(1, 2 * distance - 2, 2)
    words = lambda qubits: " ".join(map(str, qubits))
    n = len(checks)
    step = (f"X_ERROR({p}) {words(data)}\n" + "".join(f"CX {c - 1} {c} {c + 1} {c}\n" for c in checks)
            + f"X_ERROR({p}) {words(checks)}\nMR {words(checks)}\n")
    first = "".join(f"DETECTOR({c}, 0) rec[-{n - k}]\n" for k, c in enumerate(checks))
    later = "SHIFT_COORDS(0, 1)\n" + "".join(
        f"DETECTOR({c}, 0) rec[-{n - k}] rec[-{2 * n - k}]\n" for k, c in enumerate(checks))
    last = "".join(f"DETECTOR({c}, 1) rec[-{distance - k}] rec[-{distance - k - 1}] rec[-{distance + n - k}]\n"
                   for k, c in enumerate(checks))
    return (f"R {words(range(2 * distance - 1))}\n{step}{first}REPEAT {rounds - 1} {{\n{step}{later}}}\n"
            f"M {words(data)}\n{last}OBSERVABLE_INCLUDE(0) rec[-1]\n")


# %% A decoder for the circuit's error model, which PyMatching reads from a file.
def decoder_of(circuit):
    with tempfile.NamedTemporaryFile("w", suffix=".dem", delete=False) as file:
        file.write(tw.detector_error_model(circuit, decompose_errors=True))
    try:
        return pymatching.Matching.from_detector_error_model_file(file.name)
    finally:
        os.remove(file.name)


# %% The loop. Sampling and decoding let go of Python's lock, so a second thread has them overlap.
def logical_error_rate(circuit, max_errors, max_shots, batch=50_000, seed=1):
    sampler, matching = tw.compile_detector_sampler(circuit, seed=seed), decoder_of(circuit)
    sample = lambda: sampler.sample(batch, separate_observables=True, bit_packed=True)
    shots = errors = 0
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(sample)
        while errors < max_errors and shots < max_shots:
            dets, obs = coming.result()
            coming = pool.submit(sample)
            predicted = matching.decode_batch(dets, bit_packed_shots=True, bit_packed_predictions=True)
            errors += int(np.count_nonzero(np.any(predicted != obs, axis=1)))
            shots += batch
    return errors / shots, shots


# %% Below the threshold a larger distance errs less often.
rates = []
for distance in (3, 5, 7):
    circuit = repetition_code(distance, rounds=distance, p=0.03)
    start = time.perf_counter()
    rate, shots = logical_error_rate(circuit, max_errors=2000, max_shots=500_000)
    rates.append(rate)
    print(f"distance {distance}: logical error rate {rate:.5f} of {shots} shots, "
          f"{shots / (time.perf_counter() - start) / 1e6:.2f} M shots/s")
assert rates[0] > rates[1] > rates[2]

# %% The distance that the decoder sees.
model = tw.detector_error_model(circuit, decompose_errors=True)
assert tw.shortest_graphlike_error(model, ignore_ungraphlike_errors=False).count("error") == 7
