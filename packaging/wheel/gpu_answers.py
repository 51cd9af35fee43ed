"""gpu_answers.py [--device cuda:0] [--program FILE] [--nvrtc yes|no]: answers of an installed wheel on a CUDA device.

Every answer is compared with one known another way (the Fourier transform of a basis state, entropies pixel by pixel by
NumPy, the shift rule, rates of a chain of flips) or with the CPU's, bit for bit where the bits are promised. The last
line counts them; exit code 1 where one is wrong, and where a command fails, which ends it. --nvrtc no: maps have to be
refused, everything else answers.
--device cpu tries the script itself. try_gpu calls it.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tilewave as tw

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--device", default="cuda:0")
parser.add_argument("--program", default=str(Path(sys.prefix) / "bin" / "tilewave"))
parser.add_argument("--nvrtc", choices=["yes", "no"], default="yes", help="whether NVRTC is expected to be found")
arguments = parser.parse_args()
DEVICE, GPU, HAS_NVRTC = arguments.device, arguments.device != "cpu", arguments.nvrtc == "yes"
COMMAND_DEVICE = "cuda" if GPU else "cpu"
right = wrong = 0


def check(good, what):
    global right, wrong
    if good:
        right += 1
    else:
        wrong += 1
        print("WRONG", what, flush=True)


def near(a, b, most, what):
    off = float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) if np.asarray(a).size else 0.0
    check(np.shape(a) == np.shape(b) and off <= most, f"{what}: off {off:.2e}, shapes {np.shape(a)} {np.shape(b)}")
    print(f"  {what}: {off:.1e} (at most {most:.0e})", flush=True)


def refused(kind, words, call, what):
    try:
        call()
    except kind as problem:
        check(all(word in str(problem) for word in words), f"{what}: {problem}")
        print(f"  {what}: {type(problem).__name__}: {problem}")
    except Exception as problem:
        check(False, f"{what}: {type(problem).__name__} {problem}")
    else:
        check(False, f"{what}: not refused")


def program(*words):
    done = subprocess.run([arguments.program, *map(str, words)], capture_output=True)
    if done.returncode:
        shown = " ".join(map(str, ["tilewave", *words]))
        sys.exit(f"error: {shown}: exit code {done.returncode}: {done.stderr.decode().strip()[-400:]}")
    return done.stdout


print("numpy", np.__version__, "tilewave", tw.__version__, "CUDA", tw.built_with_cuda(), "device", DEVICE)
folder = Path(tempfile.mkdtemp())

# -- the program -------------------------------------------------------------------------------------------------------

print("tilewave run")
NUMBER = 0b101100111010110011101011
for n, precision, most in ((12, "double", 1e-12), (22, "double", 1e-13), (24, "single", 1e-7)):
    value = NUMBER & ((1 << n) - 1)
    lines = ["OPENQASM 2.0;", 'include "qelib1.inc";', f"qreg q[{n}];"]
    lines += [f"x q[{q}];" for q in range(n) if value >> q & 1]
    for q in reversed(range(n)):
        lines.append(f"h q[{q}];")
        lines += [f"cu1({math.pi / 2 ** (q - k)!r}) q[{k}],q[{q}];" for k in range(q)]
    lines += [f"swap q[{q}],q[{n - 1 - q}];" for q in range(n // 2)]
    path = folder / f"qft{n}.qasm"
    path.write_text("\n".join(lines) + "\n")
    asked = [*range(8), (1 << n) - 1, (1 << n) // 3]
    words = ["--device", COMMAND_DEVICE, "--precision", precision, "--amplitudes", ",".join(map(str, asked)), "--json"]
    start = time.monotonic()
    out = json.loads(program("run", path, *words))
    took_s = time.monotonic() - start
    at = {a["index"]: complex(a["re"], a["im"]) for a in out["amplitudes"]}
    found = np.array([at[k] for k in asked])
    turns = np.array([value * k % (1 << n) for k in asked]) / 2**n
    expected = np.exp(2j * np.pi * turns) / 2 ** (n / 2)
    near(found, expected, most, f"QFT of {n} qubits, {precision}, process {took_s:.2f} s")
words = ["run", folder / "qft12.qasm", "--shots", 4096, "--seed", 1, "--json", "--device"]
counts = [json.loads(program(*words, d)).get("counts") for d in (COMMAND_DEVICE, "cpu")]
check(counts[0] == counts[1] and sum(counts[0].values()) == 4096, "run: shots of a seed are those of the CPU")

print("tilewave detect, sample, sample_dem")
NOISE = ["after_clifford_depolarization", "before_round_data_depolarization", "before_measure_flip_probability",
         "after_reset_flip_probability"]  # fmt: skip
code, model = folder / "code.stim", folder / "code.dem"
size = ["--code", "surface_code", "--task", "rotated_memory_z", "--distance", 5, "--rounds", 5]
program("gen", *size, *(word for name in NOISE for word in (f"--{name}", "0.005")), "--out", code)
program("analyze_errors", "--in", code, "--out", model)
for verb, file, more in (("detect", code, ["--append_observables"]), ("sample", code, []), ("sample_dem", model, [])):
    words = ["--in", file, "--shots", 100000, "--seed", 5, "--out_format", "b8", *more]
    both = [program(verb, *words, "--device", d) for d in (COMMAND_DEVICE, "cpu")]
    check(both[0] == both[1] and len(both[0]) > 1000, f"{verb}: bits of the CPU")
    print(f"  {verb}: {len(both[0])} bytes, equal {both[0] == both[1]}")
known = folder / "known.stim"  # its detectors fire with known probabilities
known.write_text("R 0 1\nX_ERROR(0.25) 0\nX_ERROR(0.125) 1\nCX 0 1\nM 0 1\nDETECTOR rec[-2]\nDETECTOR rec[-1]\n")
shots = 1 << 22
words = ["--in", known, "--shots", shots, "--seed", 3, "--out_format", "counts", "--device", COMMAND_DEVICE, "--quiet"]
fired = dict(line.split() for line in program("detect", *words).decode().splitlines())
for name, p in (("D0", 0.25), ("D1", 0.25 * 0.875 + 0.75 * 0.125)):
    off = int(fired[name]) - shots * p
    check(abs(off) < 5 * math.sqrt(shots * p * (1 - p)), f"detect: {name} {fired[name]} of {shots}, expected {shots * p}")

print("tilewave entropy, map")
draw = np.random.default_rng(3)
for classes in (9, 200):
    image = draw.integers(0, classes, (150, 201)).astype(np.uint8)
    np.save(folder / "image.npy", image)
    words = ["--radius", 3, "--levels", 256, "--border", "crop", "--base", 2, "--device", COMMAND_DEVICE, "--quiet"]
    program("entropy", folder / "image.npy", "-o", folder / "out.npy", *words)
    expected = np.empty(image.shape)
    for y, x in np.ndindex(image.shape):
        cells = np.bincount(image[max(0, y - 3) : y + 4, max(0, x - 3) : x + 4].ravel())
        part = cells[cells > 0] / cells.sum()
        expected[y, x] = -(part * np.log2(part)).sum()
    near(np.load(folder / "out.npy"), expected, 2e-6, f"entropy of {classes} classes, each pixel by NumPy")
numbers = draw.uniform(0.1, 5, (64, 90)).astype(np.float32)
np.save(folder / "x.npy", numbers)
words = ["map", "--expr", "log(v + 1) * sqrt(v)", folder / "x.npy", "-o", folder / "y.npy", "--device", COMMAND_DEVICE]
if HAS_NVRTC or not GPU:
    program(*words, "--quiet")
    exact = numbers.astype(float)
    near(np.load(folder / "y.npy"), np.log(exact + 1) * np.sqrt(exact), 2e-6, "map")
else:
    done = subprocess.run([arguments.program, *map(str, words)], capture_output=True, text=True)
    print("  map without NVRTC: exit code", done.returncode, done.stderr.strip()[-300:])
    check(done.returncode != 0 and "NVRTC" in done.stderr, "map without NVRTC is one clear error")

# -- Python ------------------------------------------------------------------------------------------------------------

print("states")
draw = np.random.default_rng(1)
circuit = tw.Circuit(18)
for _ in range(8):
    for q in range(18):
        circuit.ry(draw.uniform(0, 6), q).rz(draw.uniform(0, 6), q)
    for q in range(17):
        circuit.cx(q, q + 1)
expected = np.asarray(tw.simulate(circuit, device="cpu"))
near(tw.simulate(circuit, device=DEVICE), expected, 1e-13, "simulate, 18 qubits")
if GPU:
    on_device = tw.simulate(circuit, device=DEVICE, on_device=True)
    near(tw.to_host(on_device).reshape(-1), expected, 1e-13, "simulate(on_device=True), to_host")
values = [tw.expectation(circuit, "Z0 Z5 + 0.5 X3 Y7", device=d) for d in (DEVICE, "cpu")]
near(*values, 1e-13, "expectation")

print("functions of parameters")


def function(n, depth, observables, device, precision="double"):
    """Layers of rotations and CX, and gates of two qubits whose angles share parameters."""
    parameters = iter(tw.parameters("w", 3 * n * depth + 4))
    made = tw.Circuit(n)
    for d in range(depth):
        for q in range(n):
            made.rz(next(parameters), q).ry(next(parameters), q).rx(next(parameters), q)
        for q in range(n):
            made.cx(q, (q + d % (n - 1) + 1) % n)
    shared = next(parameters)
    made.rzz(2 * shared + 0.5, 0, n - 1).cp(next(parameters) - shared, 1, 0)
    made.crx(next(parameters), 0, 2).rxx(next(parameters), 1, 2).h(0)
    return made.compile(observables, device=device, precision=precision)


def ising(n):
    return {**{f"Z{k} Z{k + 1}": 1.0 for k in range(n - 1)}, **{f"X{k}": 0.5 for k in range(n)}, "Y0 Y2": 0.25}


for n, depth in ((4, 2), (8, 3), (13, 2), (16, 3), (20, 2)):
    f, host = (function(n, depth, ising(n), d) for d in (DEVICE, "cpu"))
    v = np.random.default_rng(n).normal(size=f.num_parameters)
    (energy, gradient), (energy_there, gradient_there) = f.value_and_grad(v), host.value_and_grad(v)
    near(energy, energy_there, 1e-12, f"value, {n} qubits")
    near(gradient, gradient_there, 1e-12, f"gradient, {n} qubits, {f.num_parameters} parameters")
    if n <= 13:
        for k in (0, 1, 2, 3 * n - 1):  # the shift rule is exact for rotations whose parameter is their own
            step = np.pi / 2 * (np.arange(len(v)) == k)
            shifted = 0.5 * (f.expectation(v + step) - f.expectation(v - step))
            near(gradient[k], shifted, 1e-12, f"gradient, {n} qubits, parameter {k} by the shift rule")
        many = np.random.default_rng(n + 1).normal(size=(37, len(v)))
        for name, a, b in zip(("values", "gradients"), f.value_and_grad(many), host.value_and_grad(many)):
            near(a, b, 1e-12, f"37 {name}, {n} qubits")
f, host = (function(10, 2, ["Z0", "X1 Y2", {"Z3": 0.5, "Y4": -1}], d) for d in (DEVICE, "cpu"))
v = np.random.default_rng(5).normal(size=f.num_parameters)
weights = [1, -2, 3]
near(f.jacobian(v), host.jacobian(v), 1e-12, "Jacobian of three observables")
near(f.vjp(v, weights), weights @ host.jacobian(v), 1e-12, "vjp")
energies, product = f.expectation_and_vjp(v, weights)
near(energies, host.expectation(v), 1e-12, "expectations")
near(product, f.vjp(v, weights), 1e-12, "expectation_and_vjp")
near(f.state(v), host.state(v), 1e-12, "state")
draw = np.random.default_rng(6)
cotangent = draw.normal(size=1024) + 1j * draw.normal(size=1024)
near(f.state_vjp(v, cotangent), host.state_vjp(v, cotangent), 1e-11, "state_vjp")
near(f.probabilities(v, [0, 3, 7]), host.probabilities(v, [0, 3, 7]), 1e-12, "probabilities")
products = [g.probabilities_vjp(v, [0, 3], [1, 2, 3, 4]) for g in (f, host)]
near(*products, 1e-12, "probabilities_vjp")
check(np.array_equal(f.sample(v, 5000, seed=3), host.sample(v, 5000, seed=3)), "sample of a seed is that of the CPU")
begin = draw.normal(size=1024) + 0j
begin /= np.linalg.norm(begin)
near(f.expectation(v, initial_state=begin), host.expectation(v, initial_state=begin), 1e-12, "initial_state")
f, host = function(12, 2, ising(12), DEVICE, "single"), function(12, 2, ising(12), "cpu")
v = np.random.default_rng(9).normal(size=f.num_parameters)
near(f.value_and_grad(v)[1], host.value_and_grad(v)[1], 2e-5, "gradient in single precision")

print("the metric tensor")
f, host = (function(6, 1, ising(6), d) for d in (DEVICE, "cpu"))
v = np.random.default_rng(11).normal(size=f.num_parameters)
# by states of the device: |<psi(v - s)|psi(v + s)>|^2 = 1 - 4 s g s + O(s^4)
steps = 1e-4 * np.eye(len(v))[:8]
overlaps = [abs(np.vdot(f.state(v + s), f.state(v - s))) ** 2 for s in steps]
near([(1 - o) / 4e-8 for o in overlaps], np.diag(host.metric_tensor(v))[:8], 1e-6, "its diagonal, by differences")
if GPU:
    refused(ValueError, ["CPU"], lambda: f.metric_tensor(v), "metric tensor on a CUDA device")

print("samplers")
text = code.read_text()
made, host = (tw.compile_detector_sampler(text, seed=5, device=d) for d in (DEVICE, "cpu"))
if GPU:
    same = lambda a, b: all(np.array_equal(tw.to_host(x), y) for x, y in zip(a, b) if y is not None)
    rows = made.sample(70001, separate_observables=True, on_device=True)
    expected = host.sample(70001, separate_observables=True)
    check(isinstance(rows[0], tw.DeviceArray) and same(rows, expected), "detector sampler on the device")
    packed = made.sample(999, bit_packed=True, on_device=True)
    check(same([packed], [host.sample(999, bit_packed=True)]), "bit-packed, on the device")
    check(same(made.sample_lists(5000, on_device=True), host.sample_lists(5000)), "lists, on the device")
    rows = made.sample_detector_major(5000, on_device=True)
    check(same(rows, host.sample_detector_major(5000)), "detector major, on the device")
    of_model = [tw.compile_dem_sampler(model.read_text(), seed=2, device=d) for d in (DEVICE, "cpu")]
    check(same(of_model[0].sample(3000, on_device=True), of_model[1].sample(3000)), "DEM sampler, on the device")
    measured = [tw.compile_sampler(text, seed=2, device=d) for d in (DEVICE, "cpu")]
    check(same([measured[0].sample(3000, on_device=True)], [measured[1].sample(3000)]), "measurements, on the device")
    on_device = made.sample(9, on_device=True)
    refused(TypeError, ["to_host"], lambda: np.asarray(on_device), "NumPy's array of a DeviceArray")
    image, window = np.random.default_rng(4).integers(0, 9, (200, 300)).astype(np.uint8), np.ones((5, 5))
    on_device = tw.to_host(tw.entropy(tw.to_device(image), window))
    near(on_device, tw.entropy(image, window), 2e-6, "entropy of an array on the device")
else:
    check(np.array_equal(made.sample(100), host.sample(100)), "sampler")
refused(ValueError, ["GPU"], lambda: host.sample(10, on_device=True), "on_device without a GPU")

print("doctor")
findings = {f["name"]: f for f in json.loads(program("doctor", "--json"))["findings"]}
for name in ("GPUs", "GPU", "links", "NVRTC", "NCCL", "MPI"):
    if name in findings:
        print("  ", name, "|", findings[name]["state"], "|", findings[name]["found"])
if GPU:
    check(findings["NVRTC"]["found"].startswith("none") != HAS_NVRTC, f"doctor's NVRTC: {findings['NVRTC']}")
print(f"{right} answers right, {wrong} wrong", flush=True)
sys.exit(wrong > 0)
