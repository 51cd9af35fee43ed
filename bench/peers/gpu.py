#!/usr/bin/env python3
"""Times Tilewave and other packages on one GPU in one run: state vectors, shots and local entropy.

    bench/peers/gpu.py --qubits 30 --json bench/baselines/h100_peers.json && bench/report.py
    bench/peers/gpu.py --only shots --codes 11:0.001 31:0.01
    bench/peers/gpu.py --only states --without cudaq --json bench/baselines/h100_gate_peers.json
    bench/peers/gpu.py --only delivered tableau entropy --json bench/baselines/h100_array_peers.json
    bench/peers/gpu.py --only leakage

Peers come from PyPI (`cuda-quantum-cu13`; `cuquantum-python-cu13`, `custabilizer-cu13`, `custatevec-cu13`,
`cupy-cuda13x`, `stim`; `pennylane-lightning-gpu`; `quasarq`; `cucim-cu13`; NumPy), and one that cannot be imported is
left out and named. Before anything is timed, results are compared: amplitudes of every family on a small circuit, up
to one phase, of every code how often each detector fires, outcomes of tableaus that are certain, and entropies to
5e-5 bits.

State vectors, from |0...0>. Tilewave: `tilewave bench`, medians, once before and once after the peer; both are in the
JSON, the table has the slower. CUDA-Q: target nvidia, `get_state` of a kernel that has run before, less what the same
gates take on 14 qubits, which is the time of its host code; the median of the rounds. cuStateVec's Ex interface and
lightning.gpu: gpu_states.py.

Shots, left on the device. Tilewave: `tilewave detect --out_format counts`, whole commands of two sizes; their difference
leaves start-up out. cuStabilizer: FrameSimulator.apply and DEMSampler.sample, synchronised, the median of the rounds, at the
best of several batch sizes.

Shots with leakage, counted by the same commands, beside LeakageFrameSimulator: the surface code of docs/leakage.md in
deltakit's words, which the peer runs as `tilewave convert --to custabilizer` writes it, and in the words of
cuStabilizer, one LEAKAGE_PROPAGATE and one LEAKAGE1 a gate, which the peer gets with probabilities as decimals. Rates
of every record and of every detector are compared before.

Shots delivered: bit-packed NumPy arrays that `CompiledDetectorSampler.sample` of the Python package and QuaSARQ's
sampler fill, medians at the best of several batch sizes. Tableaus: one run of a random Clifford circuit from its text.
Entropy: a CuPy array in, one out (gpu_arrays.py).

--json keeps what an older file of that name holds of other circuits and parts; a row has its date and command.
"""
import argparse
import ctypes
import functools
import importlib.util
import json
import math
import operator
import statistics
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from circuits import gpu_name, read_qasm, today  # noqa: E402
from gpu_arrays import CuCim, QuaSarq, measure_delivered, measure_entropy, measure_tableaus  # noqa: E402
from gpu_states import PEERS as GATE_PEERS, folded  # noqa: E402
from run import geometric_mean, same_up_to_phase  # noqa: E402

FAMILIES = ["qft", "ghz", "random", "supremacy", "quantum_volume", "ising", "qaoa"]
CODES = ["11:0.001", "31:0.001", "11:0.01", "31:0.01"]
PRECISIONS = ["single", "double"]
TABLEAUS = ["200:100", "1000:100", "5000:20"]
PARTS = ["states", "shots", "leakage", "delivered", "tableau", "entropy"]
LEAKS = ["11:1e-4:1", "11:1e-5:1", "11:1e-3:1", "11:1e-4:0.1"]
# Arguments that choose rows: of which parts, and what stands for all.
CHOICES = [("precision", ["states"], PRECISIONS), ("codes", ["shots", "delivered"], CODES), ("leaks", ["leakage"], LEAKS),
           ("tableaus", ["tableau"], TABLEAUS)]
CHECK_QUBITS, HOST_QUBITS, CHECK_SHOTS = 8, 14, 1 << 17


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"default: {' '.join(FAMILIES)}")
    parser.add_argument("--qubits", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=7, help="of which the median counts (default 7)")
    parser.add_argument("--precision", choices=PRECISIONS, nargs="*", default=PRECISIONS)
    parser.add_argument("--codes", nargs="*", default=CODES, help="distance:p, rotated surface codes")
    parser.add_argument("--tableaus", nargs="*", default=TABLEAUS, help="qubits:layers of random Clifford circuits")
    parser.add_argument("--tilewave", default=str(ROOT / "build" / "cuda" / "tilewave"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS, metavar="PART",
                        help=f"of {' '.join(PARTS)} (all)")
    parser.add_argument("--seconds", type=float, default=3.0,
                        help="no further round of a gate-by-gate peer, a tableau or an entropy after so long (default 3)")
    parser.add_argument("--without", nargs="*", default=[], metavar="PEER",
                        help="of cudaq custatevec custatevec_updater lightning_gpu custabilizer quasarq cucim; "
                             "lightning_gpu:single leaves out one precision of one")
    parser.add_argument("--leaks", nargs="*", default=LEAKS, help="distance:p:relax of codes with leakage")
    parser.add_argument("--json", help="write every number to this file (bench/report.py prints the tables)")
    return parser.parse_args()


def output_of(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


# -- state vectors -----------------------------------------------------------------------------------------------------

class CudaQ:
    name = "cudaq"

    def __init__(self):
        import cudaq
        self.cudaq = cudaq

    def use(self, precision):
        self.cudaq.set_target("nvidia", option="fp32" if precision == "single" else "fp64")

    def kernel(self, size, gates):
        kernel = self.cudaq.make_kernel()
        register = kernel.qalloc(size)
        at = [register[size - 1 - k] for k in range(size)]  # its index has the first qubit at the top
        for name, qubits, parameters in gates:
            targets = [at[k] for k in qubits]
            if name == "cp":
                kernel.cr1(parameters[0], *targets)
            else:
                getattr(kernel, name)(*parameters, *targets)
        return kernel

    def amplitudes(self, size, gates):
        state = self.cudaq.get_state(self.kernel(size, gates))
        return [complex(state[k]) for k in range(1 << size)]

    def measure(self, size, gates, small, rounds, budget_s):
        whole = self.seconds(self.kernel(size, gates), rounds)
        host = self.seconds(self.kernel(*small), rounds)
        return {"median_s": statistics.median(whole) - statistics.median(host), "times_s": whole, "host_s": host}

    def seconds(self, kernel, rounds):
        self.cudaq.get_state(kernel)  # compiled here
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            state = self.cudaq.get_state(kernel)
            times.append(time.perf_counter() - start)
            del state
        return times


def tilewave_states(arguments, family):
    text = output_of([arguments.tilewave, "bench", family, "--qubits", arguments.qubits, "--device", arguments.device,
                      "--input", "zeros", "--repeats", arguments.rounds, "--no-limit", "--json", "-"])
    return {r["precision"]: r for r in json.loads(text)["results"]}


def written(arguments, family, qubits, folder):
    output_of([arguments.tilewave, "bench", family, "--qubits", qubits, "--write", folder])
    return Path(folder) / f"{family}_{qubits}.qasm"


def compare_states(arguments, peer, path):
    ours = json.loads(output_of([arguments.tilewave, "run", path, "--device", arguments.device, "--amplitudes",
                                 f"first:{1 << CHECK_QUBITS}", "--json"]))
    if not same_up_to_phase([complex(a["re"], a["im"]) for a in ours["amplitudes"]], peer.amplitudes(*read_qasm(path))):
        sys.exit(f"error: {peer.name} and Tilewave disagree on {path.name}")


def measure_states(arguments, peers, folder):
    """Yields a row a family."""
    for family in arguments.families or FAMILIES:
        row = {"circuit": f"{family}_{arguments.qubits}", "times": {}}
        small_path = written(arguments, family, CHECK_QUBITS, folder)
        size, gates = read_qasm(written(arguments, family, arguments.qubits, folder))
        small = HOST_QUBITS, folded(gates, HOST_QUBITS)
        before = tilewave_states(arguments, family)
        for precision in arguments.precision:
            times = row["times"][precision] = {}
            for peer in peers:
                if f"{peer.name}:{precision}" in arguments.without:
                    continue
                peer.use(precision)
                compare_states(arguments, peer, small_path)
                times[peer.name] = peer.measure(size, gates, small, arguments.rounds, arguments.seconds)
        after = tilewave_states(arguments, family)
        for precision in arguments.precision:
            both = [before[precision]["median_s"], after[precision]["median_s"]]
            times = row["times"][precision]
            times["tilewave"] = {"median_s": max(both), "before_and_after_s": both,
                                 "passes": after[precision]["passes"]}
            times["ratios"] = {p.name: times[p.name]["median_s"] / times["tilewave"]["median_s"]
                               for p in peers if p.name in times}
        print(row["circuit"], {p: {k: round(v["median_s"] * 1e3, 2) for k, v in t.items() if k != "ratios"}
                                  for p, t in row["times"].items()}, flush=True)
        yield row


# -- shots -------------------------------------------------------------------------------------------------------------

class CuStabilizer:
    engines = ("frames", "dem")

    def __init__(self):
        import cupy
        import stim
        from cuquantum import stabilizer
        self.cupy, self.stim, self.stabilizer = cupy, stim, stabilizer

    def simulator(self, engine, text, shots):
        """sample(seed), and what counts how often each detector fired in the last sample."""
        circuit = self.stim.Circuit(text)
        if engine == "dem":
            sampler = self.stabilizer.DEMSampler(circuit.detector_error_model(), shots, package="cupy")

            def count():
                bits = sampler.get_outcomes(bit_packed=False)
                return self.cupy.asnumpy(bits.sum(axis=0, dtype=self.cupy.int64))[:circuit.num_detectors]

            return lambda seed: sampler.sample(shots, seed=seed), count
        plain, detectors, measured = self.stim.Circuit(), [], 0
        for instruction in circuit.flattened():  # coordinates are not in its language
            if instruction.name == "DETECTOR":
                detectors.append([measured + target.value for target in instruction.targets_copy()])
            elif instruction.name not in ("QUBIT_COORDS", "SHIFT_COORDS", "TICK", "OBSERVABLE_INCLUDE"):
                plain.append(instruction)
                measured += instruction.num_measurements
        program = self.stabilizer.Circuit(plain)
        simulator = self.stabilizer.FrameSimulator.from_circuit(program, shots, package="cupy")

        def count():
            bits = simulator.get_measurement_bits(bit_packed=False)
            return [int((bits[rows].sum(axis=0, dtype=self.cupy.int32) & 1).sum()) for rows in detectors]

        return lambda seed: simulator.apply(program, seed=seed), count

    def rate(self, engine, text, rounds, row_bytes):
        best = {"shots_per_s": 0}
        for shots in (1 << 16, 1 << 18, 1 << 20, 1 << 22):
            if shots * row_bytes > 12 << 30:
                continue
            try:
                sample, _ = self.simulator(engine, text, shots)
                sample(1)
                times = []
                for k in range(rounds):
                    self.cupy.cuda.Device().synchronize()
                    start = time.perf_counter()
                    sample(k + 2)
                    self.cupy.cuda.Device().synchronize()
                    times.append(time.perf_counter() - start)
            except (MemoryError, self.cupy.cuda.memory.OutOfMemoryError):
                break
            rate = shots / statistics.median(times)
            if rate > best["shots_per_s"]:
                best = {"shots_per_s": rate, "batch": shots, "times_s": times}
        return best


def tilewave_counts(arguments, path, shots, seed=1, engine="auto"):
    start = time.perf_counter()
    text = output_of([arguments.tilewave, "detect", "--in", path, "--shots", shots, "--seed", seed, "--out_format",
                      "counts", "--device", arguments.device, "--engine", engine, "--quiet"])
    taken_s = time.perf_counter() - start
    counts = [int(line.split()[1]) for line in text.splitlines() if line.startswith("D")]
    return taken_s, counts


def tilewave_shots(arguments, path, rounds, engine="auto"):
    # As many shots as take about a second more.
    tilewave_counts(arguments, path, 1 << 20, engine=engine)
    shots = 1 << 22
    start_s = statistics.median(tilewave_counts(arguments, path, 1 << 16, engine=engine)[0] for _ in range(3))
    while (taken_s := tilewave_counts(arguments, path, shots, engine=engine)[0]) < start_s + 0.25:
        shots *= 4
    shots = int(shots / (taken_s - start_s))
    rates = []
    for k in range(rounds):
        short_s = tilewave_counts(arguments, path, shots // 4, k, engine)[0]
        long_s = tilewave_counts(arguments, path, shots, k, engine)[0]
        rates.append((shots - shots // 4) / (long_s - short_s))
    return {"shots_per_s": statistics.median(rates), "rates": rates, "shots": shots}


def compare_counts(arguments, peer, engine, path, text):
    sample, count = peer.simulator(engine, text, CHECK_SHOTS)
    sample(7)
    theirs = count()
    ours = tilewave_counts(arguments, path, CHECK_SHOTS, 3)[1]
    if len(ours) != len(theirs):
        sys.exit(f"error: {path.name} has {len(ours)} detectors, cuStabilizer ({engine}) counted {len(theirs)}")
    for d, (a, b) in enumerate(zip(ours, theirs)):
        if abs(a - b) > 6 * math.sqrt(a + b + 1):
            sys.exit(f"error: cuStabilizer ({engine}) and Tilewave disagree on {path.name}: detector {d} fires {b} and {a} "
                     f"times in {CHECK_SHOTS} shots")


def code_file(arguments, code, folder):
    """(distance, p, file of the circuit) of a word "distance:p"."""
    distance, p = code.split(":")
    path = Path(folder) / f"surface_{distance}_{p}.stim"
    noise = [word for name in ("after_clifford_depolarization", "before_round_data_depolarization",
                               "before_measure_flip_probability", "after_reset_flip_probability")
             for word in (f"--{name}", p)]
    output_of([arguments.tilewave, "gen", "--code", "surface_code", "--task", "rotated_memory_z",
               "--distance", distance, "--rounds", distance, *noise, "--out", path])
    return int(distance), float(p), path


def measure_shots(arguments, peer, folder):
    for code in arguments.codes:
        distance, p, path = code_file(arguments, code, folder)
        text = path.read_text()
        row = {"distance": distance, "p": p,
               "times": {"tilewave": tilewave_shots(arguments, path, min(3, arguments.rounds))}}
        if peer:
            row_bytes = len(tilewave_counts(arguments, path, 1)[1]) / 4
            for engine in peer.engines:
                try:
                    compare_counts(arguments, peer, engine, path, text)
                    row["times"][engine] = peer.rate(engine, text, arguments.rounds, row_bytes)
                except Exception as problem:  # a peer that cannot do this circuit is said, not hidden
                    row["times"][engine] = {"problem": str(problem)[:300]}
            rates = [t["shots_per_s"] for e, t in row["times"].items() if e in peer.engines and "shots_per_s" in t]
            if rates:
                row["ratio"] = row["times"]["tilewave"]["shots_per_s"] / max(rates)
        print(f"d={distance} p={p}", {e: t.get("problem") or f"{t['shots_per_s']:.4g}" for e, t in row["times"].items()}, f"ratio {row.get('ratio', 0):.2f}", flush=True)
        yield row


# -- shots with leakage ------------------------------------------------------------------------------------------------

RECORDS = {"M", "MX", "MY", "MR", "MRX", "MRY", "HERALD_LEAKAGE_EVENT"}


def flat_lines(lines):
    """The instructions of a circuit's text with its REPEAT blocks written out."""
    out = []
    while lines:
        line = lines.pop(0).strip()
        if line == "}":
            return out
        if line.startswith("REPEAT"):
            out += int(line.split()[1]) * flat_lines(lines)
        elif line and not line.startswith("#"):
            out.append(line)
    return out


class CuStabilizerLeakage:
    """LeakageFrameSimulator through the library's C interface, which needs the package custabilizer-cu13 alone; memory comes from the
    CUDA driver."""

    def __init__(self):
        spec = importlib.util.find_spec("cuquantum")
        folders = spec.submodule_search_locations if spec else []
        found = [path for folder in folders for path in Path(folder).glob("lib/libcustabilizer.so*")]
        if not found:
            raise ImportError("there is no libcustabilizer.so of a package cuquantum")
        self.library = ctypes.CDLL(str(found[0]))
        self.driver = ctypes.CDLL("libcuda.so.1")
        context, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        self.must(self.driver.cuInit(0))
        self.must(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.must(self.driver.cuCtxSetCurrent(context))
        self.must(self.library.custabilizerCreate(ctypes.byref(self.handle)))

    @staticmethod
    def must(status):
        if status:
            raise RuntimeError(f"status {status} of cuStabilizer or CUDA")

    def device(self, size):
        """Cleared device memory; it goes back when the object does."""
        address = ctypes.c_uint64()
        self.must(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        self.must(self.driver.cuMemsetD8_v2(address, 0, ctypes.c_size_t(size)))
        weakref.finalize(address, self.driver.cuMemFree_v2, ctypes.c_uint64(address.value))
        return address

    def simulator(self, text, shots, randomize):
        """sample(seed), and what gives the rows of records as integers, a bit a shot."""
        circuit, size = ctypes.c_void_p(), ctypes.c_int64()
        encoded = ctypes.c_char_p(text.encode())
        self.must(self.library.custabilizerCircuitSizeFromString(self.handle, encoded, ctypes.byref(size)))
        buffer = self.device(max(1, size.value))
        self.must(self.library.custabilizerCreateCircuitFromString(
            self.handle, encoded, buffer, ctypes.c_int64(size.value), ctypes.byref(circuit)))
        numbers = []
        for attribute in (0, 10):  # qubits; records
            number = ctypes.c_int64()
            self.must(self.library.custabilizerCircuitGetAttribute(self.handle, circuit, attribute, ctypes.byref(number),
                                                                   ctypes.c_size_t(8)))
            numbers.append(number.value)
        stride = (shots + 31) // 32 * 4
        tables = [self.device(numbers[k] * stride) for k in (0, 0, 0, 1)]  # x, z, leaked, records
        simulator = ctypes.c_void_p()
        self.must(self.library.custabilizerCreateLeakageFrameSimulator(
            self.handle, *(ctypes.c_int64(n) for n in (numbers[0], shots, numbers[1], stride)), ctypes.byref(simulator)))

        def sample(seed):
            self.must(self.library.custabilizerLeakageFrameSimulatorApplyCircuit(
                self.handle, simulator, circuit, int(randomize), ctypes.c_uint64(seed), *tables, None))
            self.must(self.driver.cuCtxSynchronize())

        def records():
            host = (ctypes.c_uint8 * (numbers[1] * stride))()
            self.must(self.driver.cuMemcpyDtoH_v2(host, tables[3], ctypes.c_size_t(len(host))))
            data = bytes(host)
            return [int.from_bytes(data[k * stride:k * stride + shots // 8], "little") for k in range(numbers[1])]

        weakref.finalize(sample, lambda of=buffer: (self.library.custabilizerDestroyLeakageFrameSimulator(simulator),
                                                    self.library.custabilizerDestroyCircuit(circuit)))
        return sample, records

    def rate(self, texts, rounds):
        """The best of loops kept and written out, frames randomised and not, and batches, larger ones as long as they are faster."""
        best = {"shots_per_s": 0}
        for form, text in texts.items():
            for randomize in (True, False):
                before = 0
                for shots in (1 << 17, 1 << 19, 1 << 21):
                    try:
                        sample, _ = self.simulator(text, shots, randomize)
                        sample(1)
                    except RuntimeError:
                        break  # of memory, or a form that it does not read
                    times = []
                    for k in range(rounds):
                        start = time.perf_counter()
                        sample(k + 2)
                        times.append(time.perf_counter() - start)
                    del sample, _
                    rate = shots / statistics.median(times)
                    if rate > best["shots_per_s"]:
                        best = {"shots_per_s": rate, "batch": shots, "loops": form, "randomize": randomize, "times_s": times}
                    if rate < 1.05 * before:
                        break
                    before = rate
        return best


def spoken_by_custabilizer(lines):
    """Without what its language lacks, and what nobody asks it for; the detectors, as numbers of records."""
    plain, detectors, measured = [], [], 0
    for line in lines:
        name = line.split()[0].split("(")[0]
        if name == "DETECTOR":
            detectors.append([measured + int(word[4:-1]) for word in line.split() if word.startswith("rec[")])
        elif name not in ("QUBIT_COORDS", "SHIFT_COORDS", "TICK", "OBSERVABLE_INCLUDE"):
            plain.append(line)
            if name in RECORDS:
                measured += len(line[line.rfind(")") + 1:].split()) - (")" not in line)
    return "\n".join(plain) + "\n", detectors


def leaky_texts(plain, p, relax):
    """The code of docs/leakage.md in the words of deltakit and of cuStabilizer."""
    spread = {"deltakit": ["CX(0.01, 0.01, 0.01, 0.01){0}", f"LEAKAGE({p}){{0}}"],
              "custabilizer": ["CX{0}", "LEAKAGE_PROPAGATE(0.01, 0.01, 0.0099, 0.0099){0}", f"LEAKAGE1({p}){{0}}"]}
    word = {"deltakit": "RELAX", "custabilizer": "LEAKAGE_RELAX"}
    texts = {}
    for name, lines in spread.items():
        qubits, out = [], []
        for line in plain.splitlines():
            words = line.split()
            if words and words[0].startswith("QUBIT_COORDS"):
                qubits.append(words[-1])
            if words and words[0] == "MR":
                out.append(f"{word[name]}({relax}) {' '.join(qubits)}")
            if words and words[0] == "CX":
                out += [each.format(" " + " ".join(words[1:])) for each in lines]
            else:
                out.append(line)
        texts[name] = "\n".join(out) + "\n"
    return texts


def expect_same_counts(what, ours, theirs):
    if len(ours) != len(theirs):
        sys.exit(f"error: Tilewave has {len(ours)} {what}, cuStabilizer {len(theirs)}")
    for k, (a, b) in enumerate(zip(ours, theirs)):
        if abs(a - b) > 6 * math.sqrt(a + b + 1):
            sys.exit(f"error: cuStabilizer and Tilewave disagree: {what} {k}: {b} and {a} ones in {CHECK_SHOTS} shots")


def compare_leakage(arguments, peer, path, text, detectors):
    sample, records = peer.simulator(text, CHECK_SHOTS, True)
    sample(7)
    rows = records()
    counts = output_of([arguments.tilewave, "sample", "--in", path, "--shots", CHECK_SHOTS, "--seed", 3,
                        "--skip_reference_sample", "--out_format", "counts", "--device", arguments.device, "--quiet"])
    expect_same_counts("record", [int(line.split()[1]) for line in counts.splitlines() if line[0] == "M"],
                       [row.bit_count() for row in rows])
    parities = [functools.reduce(operator.xor, (rows[k] for k in of), 0) for of in detectors]
    expect_same_counts("detector", tilewave_counts(arguments, path, CHECK_SHOTS, 4)[1], [row.bit_count() for row in parities])


def measure_leakage(arguments, peer, folder):
    for of in arguments.leaks:
        distance, p, relax = of.split(":")
        plain = code_file(arguments, f"{distance}:0.001", folder)[2]
        row = {"distance": int(distance), "p": float(p), "relax": float(relax), "times": {}}
        repeats = min(3, arguments.rounds)
        row["times"]["without"] = tilewave_shots(arguments, plain, repeats, "frame")
        for name, text in leaky_texts(plain.read_text(), p, relax).items():
            path = Path(folder) / f"leaky_{name}.stim"
            path.write_text(text)
            row["times"][f"tilewave, {name}"] = tilewave_shots(arguments, path, repeats, "frame")
            if not peer:
                continue
            # its own words too: it reads 1e-4 as two numbers, 1 and -4
            theirs = output_of([arguments.tilewave, "convert", "--in", path, "--to", "custabilizer"])
            lines = [line.strip() for line in theirs.splitlines() if line.strip() and not line.startswith("#")]
            flat, detectors = spoken_by_custabilizer(flat_lines(lines[:]))
            try:
                compare_leakage(arguments, peer, path, flat, detectors)
                row["times"][f"custabilizer, {name}"] = peer.rate(
                    {"written out": flat, "kept": spoken_by_custabilizer(lines)[0]}, arguments.rounds)
            except Exception as problem:  # a peer that cannot do this circuit is said, not hidden
                row["times"][f"custabilizer, {name}"] = {"problem": str(problem)[:300]}
        rate = {name: t["shots_per_s"] for name, t in row["times"].items() if "shots_per_s" in t}
        for name in ("deltakit", "custabilizer"):
            row[f"cost, {name}"] = rate["without"] / rate[f"tilewave, {name}"]
            if f"custabilizer, {name}" in rate:
                row[f"ratio, {name}"] = rate[f"tilewave, {name}"] / rate[f"custabilizer, {name}"]
        print(f"d={distance} leaking={p} relax={relax}",
              {name: t.get("problem") or f"{t['shots_per_s']:.4g}" for name, t in row["times"].items()},
              {name: round(value, 2) for name, value in row.items() if name[:4] in ("cost", "rati")}, flush=True)
        yield row


def peer_or_none(name, make, arguments, report):
    if name in arguments.without:
        return None
    try:
        peer = make()
    except Exception as problem:
        print(f"{name} is left out: {problem}", file=sys.stderr)
        report.setdefault("left_out", {})[name] = str(problem)
        return None
    return peer


def versions():
    from importlib.metadata import PackageNotFoundError, version
    found = {}
    for package in ("cuda-quantum-cu13", "custatevec-cu13", "custabilizer-cu13", "cuquantum-python-cu13",
                    "pennylane-lightning-gpu", "quasarq", "cucim-cu13", "cupy-cuda13x"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found


def means_of(rows):
    """{precision: {peer: geometric mean of its ratios}} over the circuits that have it."""
    means = {}
    for precision in dict.fromkeys(precision for row in rows for precision in row["times"]):
        ratios = [row["times"][precision]["ratios"] for row in rows if precision in row["times"]]
        peers = dict.fromkeys(peer for found in ratios for peer in found)
        means[precision] = {peer: geometric_mean([r[peer] for r in ratios if peer in r]) for peer in peers}
    return means


KEYS = {"circuits": ("circuit",), "codes": ("distance", "p"), "leakage": ("distance", "p", "relax"),
        "delivered": ("distance", "p"), "tableaus": ("qubits", "layers"), "entropy": ("width", "window", "classes")}


def merged(kept, report):
    """The report with the rows of an older one that it does not measure again."""
    for part, names in KEYS.items():
        key = lambda row: tuple(row[name] for name in names)
        now = {key(row) for row in report.get(part, [])}
        if rows := [row for row in kept.get(part, []) if key(row) not in now] + report.get(part, []):
            report[part] = rows
    report["versions"] = {**kept.get("versions", {}), **report.get("versions", {})}
    if report.get("circuits"):
        report["geometric_means"] = means_of(report["circuits"])
    return report


def shown_command(arguments, part):
    """What measures the rows of a part again."""
    words = [*arguments.families] if part == "states" else []
    words += ["--only", part]
    words += ["--without", *arguments.without] if arguments.without else []
    words += ["--qubits", arguments.qubits] if part == "states" else []
    words += ["--rounds", arguments.rounds]
    words += ["--seconds", f"{arguments.seconds:g}"] if part in ("states", "tableau", "entropy") else []
    for name, parts, all_of_them in CHOICES:
        chosen = getattr(arguments, name)
        words += [f"--{name}", *chosen] if part in parts and chosen != all_of_them else []
    return " ".join(map(str, ["bench/peers/gpu.py", *words]))


def main():
    arguments = parse_arguments()
    if not Path(arguments.tilewave).exists():
        sys.exit(f"error: {arguments.tilewave} is not there: build it with cmake --preset cuda")
    name = gpu_name()
    report = {"machine": name, "versions": versions()}
    print(name, report["versions"], flush=True)
    kept = json.loads(Path(arguments.json).read_text()) if arguments.json and Path(arguments.json).exists() else {}
    if kept.get("machine", name) != name:
        sys.exit(f"error: {arguments.json} holds what {kept['machine']} measured: name another file")

    def keep(key, part, rows):
        """Adds rows and writes the file after each: a peer may end the process."""
        for row in rows:
            report.setdefault(key, []).append({**row, "date": today(), "command": shown_command(arguments, part)})
            if arguments.json:
                Path(arguments.json).write_text(json.dumps(merged(kept, dict(report)), indent=1) + "\n")

    with tempfile.TemporaryDirectory() as folder:
        if "states" in arguments.only:
            made = [peer_or_none(kind.name, kind, arguments, report) for kind in [CudaQ, *GATE_PEERS]]
            keep("circuits", "states", measure_states(arguments, [peer for peer in made if peer], folder))
            print("geometric means:", means_of(report["circuits"]), flush=True)
        if "shots" in arguments.only:
            peer = peer_or_none("custabilizer", CuStabilizer, arguments, report)
            keep("codes", "shots", measure_shots(arguments, peer, folder))
        if "leakage" in arguments.only:
            peer = peer_or_none("custabilizer", CuStabilizerLeakage, arguments, report)
            keep("leakage", "leakage", measure_leakage(arguments, peer, folder))
        if {"delivered", "tableau"} & set(arguments.only):
            peer = peer_or_none("quasarq", QuaSarq, arguments, report)
            if "delivered" in arguments.only:
                codes = [code_file(arguments, code, folder) for code in arguments.codes]
                texts = [(distance, p, path.read_text()) for distance, p, path in codes]
                keep("delivered", "delivered", measure_delivered(arguments, peer, texts))
            if "tableau" in arguments.only:
                sizes = [tuple(map(int, word.split(":"))) for word in arguments.tableaus]
                keep("tableaus", "tableau", measure_tableaus(arguments, peer, sizes))
        if "entropy" in arguments.only:
            keep("entropy", "entropy", measure_entropy(arguments, peer_or_none("cucim", CuCim, arguments, report)))


if __name__ == "__main__":
    main()
