"""Part of gpu.py: shots of surface codes with leakage, beside cuStabilizer's LeakageFrameSimulator.

Rates of every record and of every detector are compared before anything is timed, and the program ends where they differ.
"""
import ctypes
import functools
import importlib.util
import math
import operator
import statistics
import sys
import time
import weakref
from pathlib import Path

from gpu_shots import CHECK_SHOTS, code_file, output_of, tilewave_counts, tilewave_shots

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
