# A decode loop on one GPU: the sampler writes detection events into the GPU's memory, PyTorch takes them as they lie and
# decodes them by belief propagation, and only the number of errors comes back. Without a GPU the same loop runs on the CPU.
# Usage: torch_decode_loop.py [BATCHES]

# %% The circuit: a repetition code with flips of data and of measurements, in Stim's language.
import sys
import time

import torch

import tilewave as tw


def repetition_code(distance, rounds, p):
    data, checks = range(0, 2 * distance - 1, 2), range(1, 2 * distance - 2, 2)
    words = lambda qubits: " ".join(map(str, qubits))
    n = len(checks)
    step = (f"X_ERROR({p}) {words(data)}\n" + "".join(f"CX {c - 1} {c} {c + 1} {c}\n" for c in checks)
            + f"X_ERROR({p}) {words(checks)}\nMR {words(checks)}\n")
    first = "".join(f"DETECTOR rec[-{n - k}]\n" for k in range(n))
    later = "".join(f"DETECTOR rec[-{n - k}] rec[-{2 * n - k}]\n" for k in range(n))
    last = "".join(f"DETECTOR rec[-{distance - k}] rec[-{distance - k - 1}] rec[-{distance + n - k}]\n" for k in range(n))
    return (f"R {words(range(2 * distance - 1))}\n{step}{first}REPEAT {rounds - 1} {{\n{step}{later}}}\n"
            f"M {words(data)}\n{last}OBSERVABLE_INCLUDE(0) rec[-1]\n")


# %% The error model as matrices: which detectors and observables an error flips.
def matrices(model, num_detectors, num_observables):
    errors = [line.strip()[len("error("):].split(")") for line in model.splitlines() if line.strip().startswith("error(")]
    checks, flips = torch.zeros(num_detectors, len(errors)), torch.zeros(num_observables, len(errors))
    for k, (_, targets) in enumerate(errors):
        for target in targets.replace("^", "").split():
            (checks if target[0] == "D" else flips)[int(target[1:]), k] = 1
    return checks, flips, torch.tensor([float(probability) for probability, _ in errors])


# %% Belief propagation by the smallest message (min-sum), for all shots at a time; messages run along the edges between a check
# and an error that flips it. The edges are found once: how many there are is a number that the host would wait for.
def most_likely_errors(events, edges, probabilities, iterations=30):
    check, error = edges
    shots, num_checks, device = len(events), events.shape[1], events.device
    to_checks, to_errors = check.expand(shots, -1), error.expand(shots, -1)
    per_check = lambda fill: torch.full((shots, num_checks), fill, device=device)
    prior = torch.log((1 - probabilities) / probabilities)
    sign = 1 - 2 * events.float()[:, check]
    message = prior[error].expand(shots, -1)
    for _ in range(iterations):
        size, negative = message.abs(), (message < 0).float()
        least = per_check(torch.inf).scatter_reduce(1, to_checks, size, "amin")
        is_least = size == least[:, check]
        second = per_check(torch.inf).scatter_reduce(1, to_checks, torch.where(is_least, torch.inf, size), "amin")
        second = torch.where(per_check(0.0).scatter_add(1, to_checks, is_least.float()) > 1, least, second)
        others = torch.where(is_least, second[:, check], least[:, check]).clamp(max=50)
        odd = per_check(0.0).scatter_add(1, to_checks, negative)[:, check] - negative
        answer = 0.8 * sign * (1 - 2 * (odd % 2)) * others
        total = prior + torch.zeros(shots, len(probabilities), device=device).scatter_add(1, to_errors, answer)
        message = total[:, error] - answer
    return total < 0


# %% The loop. Nothing in it waits for the host or copies to it; the arrays are bools, a byte a bit.
on_gpu = tw.built_with_cuda() and torch.cuda.is_available()
device = "cuda:0" if on_gpu else "cpu"
circuit = repetition_code(distance=5, rounds=5, p=0.02)
sampler = tw.compile_detector_sampler(circuit, seed=1, device=device)
model = tw.detector_error_model(circuit, flatten_loops=True)
checks, flips, probabilities = (m.to(device) for m in matrices(model, sampler.num_detectors, sampler.num_observables))
edges = checks.nonzero(as_tuple=True)
batch, batches = (1 << 17, 32) if on_gpu else (5_000, 2)
if "".join(sys.argv[1:]).isdigit():  # in a notebook there are other arguments
    batches = int(sys.argv[1])
wrong, flipped = torch.zeros((), dtype=torch.int64, device=device), torch.zeros((), dtype=torch.int64, device=device)
start = time.perf_counter()
for _ in range(batches):
    events, observables = map(torch.from_dlpack, sampler.sample(batch, separate_observables=True, on_device=on_gpu))
    guess = most_likely_errors(events, edges, probabilities).float() @ flips.T % 2 == 1
    wrong += (guess != observables).any(dim=1).sum()
    flipped += observables.any(dim=1).sum()
shots, wrong, flipped = batch * batches, int(wrong), int(flipped)
print(f"{shots} shots on {device}: {flipped} observables flipped, {wrong} wrong behind the decoder, "
      f"{shots / (time.perf_counter() - start) / 1e6:.3f} M shots/s")
assert wrong < flipped / 4
