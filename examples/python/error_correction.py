# The logical error rate of the repetition code, sampled by Tilewave: circuits in Stim's language, arrays of bits.

# %% A circuit in Stim's language: distance 3, three rounds, 5 % bit flips.
import numpy as np

import tilewave as tw


def repetition_code(distance, rounds, p):
    data, ancillas = range(0, 2 * distance - 1, 2), range(1, 2 * distance - 2, 2)
    words = lambda qubits: " ".join(map(str, qubits))
    n = len(ancillas)
    step = f"""X_ERROR({p}) {words(data)}
        CX {" ".join(f"{a - 1} {a}" for a in ancillas)}
        CX {" ".join(f"{a + 1} {a}" for a in ancillas)}
        MR {words(ancillas)}
        """
    first = "\n".join(f"DETECTOR rec[-{n - k}]" for k in range(n))
    later = "\n".join(f"DETECTOR rec[-{n - k}] rec[-{2 * n - k}]" for k in range(n))
    last = "\n".join(f"DETECTOR rec[-{distance - k}] rec[-{distance - k - 1}] rec[-{distance + n - k}]" for k in range(n))
    return (f"R {words(range(2 * distance - 1))}\n{step}{first}\nREPEAT {rounds - 1} {{\n{step}{later}\n}}\n"
            f"M {words(data)}\n{last}\nOBSERVABLE_INCLUDE(0) rec[-1]\n")


circuit = repetition_code(3, 3, 0.05)

# %% Detection events and observable flips, as Stim's sampler gives them.
sampler = tw.compile_detector_sampler(circuit, seed=1)
dets, obs = sampler.sample(100_000, separate_observables=True)
print(sampler, "detection rate", dets.mean())
assert dets.shape == (100_000, sampler.num_detectors) and dets.dtype == np.bool_

# %% Decoding by majority: the detectors of each ancilla, summed over time, say which data qubit differs.
space = np.logical_xor.reduce(dets.reshape(len(dets), -1, 2), axis=1)
flips_last = space[:, 1] & ~space[:, 0]  # only the last data qubit sits beside ancilla 1 alone
logical = (obs[:, 0] ^ flips_last).mean()
print("logical error rate", logical, "unprotected", obs.mean())
assert logical < obs.mean()

# %% Packed bits, in files that Stim reads: sampler.sample_write(..., format="b8").
packed = tw.compile_detector_sampler(circuit, seed=1).sample(1000, bit_packed=True)
assert np.array_equal(np.unpackbits(packed, axis=1, count=dets.shape[1], bitorder="little"), dets[:1000])

# %% The detector error model, for any decoder that reads .dem.
print(tw.detector_error_model(circuit)[:200])
