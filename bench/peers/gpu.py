#!/usr/bin/env python3
"""Times Tilewave and NVIDIA's simulators on one GPU in one run: CUDA-Q for state vectors, cuStabilizer for shots.

    bench/peers/gpu.py --qubits 30 --json bench/baselines/h100_peers.json && bench/report.py
    bench/peers/gpu.py --only shots --codes 11:0.001 31:0.01
    bench/peers/gpu.py --only leakage

Peers come from PyPI (`cuda-quantum-cu13`; `cuquantum-python-cu13`, `custabilizer-cu13`, `cupy-cuda13x`, `stim`), and one that
cannot be imported is left out and named. Before anything is timed, results are compared: amplitudes of every family on
a small circuit, up to one phase, and of every code how often each detector fires.

State vectors, from |0...0>. Tilewave: `tilewave bench`, medians, once before and once after the peer; both are in the
JSON, the table has the slower. CUDA-Q: target nvidia, `get_state` of a kernel that has run before, less what the same
gates take on 14 qubits, which is the time of its host code; the median of the rounds.

Shots, left on the device. Tilewave: `tilewave detect --out_format counts`, whole commands of two sizes; their difference
leaves start-up out. cuStabilizer: FrameSimulator.apply and DEMSampler.sample, synchronised, the median of the rounds, at the
best of several batch sizes.

Shots with leakage, likewise, beside LeakageFrameSimulator: the surface code of docs/leakage.md in deltakit's words, which the peer
runs as `tilewave convert --to custabilizer` writes it, and in the words of cuStabilizer, one LEAKAGE_PROPAGATE and one LEAKAGE1 a
gate, which both run as it is. Rates of every record and of every detector are compared before.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from circuits import read_qasm, today  # noqa: E402
from run import geometric_mean, same_up_to_phase  # noqa: E402

FAMILIES = ["qft", "ghz", "random", "supremacy", "quantum_volume", "ising", "qaoa"]
CODES = ["11:0.001", "31:0.001", "11:0.01", "31:0.01"]
LEAKS = ["11:1e-5:1", "11:1e-4:1", "11:1e-4:0.1", "11:1e-3:1"]
CHECK_QUBITS, HOST_QUBITS, CHECK_SHOTS = 8, 14, 1 << 17


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"default: {' '.join(FAMILIES)}")
    parser.add_argument("--qubits", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=7, help="of which the median counts (default 7)")
    parser.add_argument("--precision", choices=["single", "double"], nargs="*", default=["single", "double"])
    parser.add_argument("--codes", nargs="*", default=CODES, help="distance:p, rotated surface codes")
    parser.add_argument("--tilewave", default=str(ROOT / "build" / "cuda" / "tilewave"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", choices=["states", "shots", "leakage"], help="one part of the comparison")
    parser.add_argument("--without", nargs="*", default=[], help="peers to leave out: cudaq custabilizer")
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
        sys.exit(f"error: CUDA-Q and Tilewave disagree on {path.name}")


def measure_states(arguments, peer, folder):
    rows = []
    for family in arguments.families or FAMILIES:
        row = {"circuit": f"{family}_{arguments.qubits}", "times": {}}
        if peer:
            small_path = written(arguments, family, CHECK_QUBITS, folder)
            size, gates = read_qasm(written(arguments, family, arguments.qubits, folder))
            small = [(name, [k % HOST_QUBITS for k in at], p) for name, at, p in gates
                     if len({k % HOST_QUBITS for k in at}) == len(at)]
        before = tilewave_states(arguments, family)
        for precision in arguments.precision:
            times = row["times"][precision] = {}
            if peer:
                peer.use(precision)
                compare_states(arguments, peer, small_path)
                whole = peer.seconds(peer.kernel(size, gates), arguments.rounds)
                host = peer.seconds(peer.kernel(HOST_QUBITS, small), arguments.rounds)
                times["cudaq"] = {"median_s": statistics.median(whole) - statistics.median(host), "times_s": whole,
                                  "host_s": host}
        after = tilewave_states(arguments, family)
        for precision in arguments.precision:
            both = [before[precision]["median_s"], after[precision]["median_s"]]
            times = row["times"][precision]
            times["tilewave"] = {"median_s": max(both), "before_and_after_s": both,
                                 "passes": after[precision]["passes"]}
            if peer:
                times["ratio"] = times["cudaq"]["median_s"] / times["tilewave"]["median_s"]
        print(row["circuit"], {p: {k: round(v["median_s"] * 1e3, 2) if isinstance(v, dict) else round(v, 1)
                                   for k, v in t.items()} for p, t in row["times"].items()}, flush=True)
        rows.append(row)
    return rows


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


def measure_shots(arguments, peer, folder):
    rows = []
    for code in arguments.codes:
        distance, p = code.split(":")
        path = Path(folder) / f"surface_{distance}_{p}.stim"
        noise = [word for name in ("after_clifford_depolarization", "before_round_data_depolarization",
                                   "before_measure_flip_probability", "after_reset_flip_probability")
                 for word in (f"--{name}", p)]
        output_of([arguments.tilewave, "gen", "--code", "surface_code", "--task", "rotated_memory_z", "--distance", distance,
                   "--rounds", distance, *noise, "--out", path])
        text = path.read_text()
        row = {"distance": int(distance), "p": float(p),
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
        rows.append(row)
    return rows


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


class CuStabilizerLeakage(CuStabilizer):
    def __init__(self):
        import cupy
        from cuquantum import stabilizer
        self.cupy, self.stabilizer = cupy, stabilizer

    def simulator(self, _, text, shots):
        """sample(seed), and what counts the ones of every record and of every detector of the last sample."""
        plain, detectors, measured = [], [], 0
        for line in flat_lines(text.splitlines()):
            name, targets = line.split()[0].split("(")[0], line[line.find(")") + 1:].split()
            if name == "DETECTOR":
                detectors.append([measured + int(word[4:-1]) for word in line.split() if word.startswith("rec[")])
            elif name not in ("QUBIT_COORDS", "SHIFT_COORDS", "TICK", "OBSERVABLE_INCLUDE"):
                plain.append(line)
                measured += len([word for word in targets if word != name]) if name in RECORDS else 0
        program = self.stabilizer.Circuit("\n".join(plain) + "\n")
        if program.num_measurements != measured:
            sys.exit(f"error: cuStabilizer counts {program.num_measurements} records of {measured}")
        simulator = self.stabilizer.LeakageFrameSimulator.from_circuit(program, shots, package="cupy")

        def apply(seed):
            self.cupy.asarray(simulator.get_leakage_bits(bit_packed=True)).fill(0)
            simulator.apply(program, seed=seed)

        def count():
            bits = self.cupy.asarray(simulator.get_measurement_bits(bit_packed=False))
            records = [int(n) for n in self.cupy.asnumpy(bits.sum(axis=1, dtype=self.cupy.int64))]
            return records, [int((bits[rows].sum(axis=0, dtype=self.cupy.int32) & 1).sum()) for rows in detectors]

        return apply, count


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


def measure_leakage(arguments, peer, folder):
    rows = []
    for of in arguments.leaks:
        distance, p, relax = of.split(":")
        noise = [word for name in ("after_clifford_depolarization", "before_round_data_depolarization",
                                   "before_measure_flip_probability", "after_reset_flip_probability")
                 for word in (f"--{name}", "0.001")]
        plain = Path(folder) / "plain.stim"
        output_of([arguments.tilewave, "gen", "--code", "surface_code", "--task", "rotated_memory_z", "--distance", distance,
                   "--rounds", distance, *noise, "--out", plain])
        row = {"distance": int(distance), "p": float(p), "relax": float(relax), "times": {}}
        repeats = min(3, arguments.rounds)
        row["times"]["without"] = tilewave_shots(arguments, plain, repeats, "frame")
        for name, text in leaky_texts(plain.read_text(), p, relax).items():
            path = Path(folder) / f"leaky_{name}.stim"
            path.write_text(text)
            row["times"][f"tilewave, {name}"] = tilewave_shots(arguments, path, repeats, "frame")
            if not peer:
                continue
            theirs = text
            if name == "deltakit":
                theirs = output_of([arguments.tilewave, "convert", "--in", path, "--to", "custabilizer"])
            try:
                sample, count = peer.simulator(None, theirs, CHECK_SHOTS)
                sample(7)
                records, detectors = count()
                counts = output_of([arguments.tilewave, "sample", "--in", path, "--shots", CHECK_SHOTS, "--seed", 3,
                                    "--skip_reference_sample", "--out_format", "counts", "--device", arguments.device,
                                    "--quiet"])
                expect_same_counts("record", [int(line.split()[1]) for line in counts.splitlines() if line[0] == "M"], records)
                expect_same_counts("detector", tilewave_counts(arguments, path, CHECK_SHOTS, 4)[1], detectors)
                row["times"][f"custabilizer, {name}"] = peer.rate(None, theirs, arguments.rounds, len(records) / 8)
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
        rows.append(row)
    return rows


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
    for package in ("cuda-quantum-cu13", "custatevec-cu13", "custabilizer-cu13", "cuquantum-python-cu13"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found


def main():
    arguments = parse_arguments()
    if not Path(arguments.tilewave).exists():
        sys.exit(f"error: {arguments.tilewave} is not there: build it with cmake --preset cuda")
    name = output_of(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).splitlines()[0]
    report = {"machine": name, "date": today(), "versions": versions(),
              "command": f"bench/peers/gpu.py --qubits {arguments.qubits} --rounds {arguments.rounds}"}
    print(name, report["versions"], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.only in (None, "states"):
            peer = peer_or_none("cudaq", CudaQ, arguments, report)
            report["circuits"] = measure_states(arguments, peer, folder)
            if peer:
                means = {p: geometric_mean([r["times"][p]["ratio"] for r in report["circuits"]]) for p in arguments.precision}
                report["geometric_means"] = means
                print("geometric means:", {p: round(m, 2) for p, m in means.items()}, flush=True)
        if arguments.only in (None, "shots"):
            peer = peer_or_none("custabilizer", CuStabilizer, arguments, report)
            report["codes"] = measure_shots(arguments, peer, folder)
        if arguments.only in (None, "leakage"):
            peer = peer_or_none("custabilizer", CuStabilizerLeakage, arguments, report)
            report["leakage"] = measure_leakage(arguments, peer, folder)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
