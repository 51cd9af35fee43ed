"""Part of gpu.py: shots of surface codes that stay on the device, beside cuStabilizer's frames and error models.

How often each detector fires is compared before anything is timed, and the program ends where the two differ.
"""
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

CHECK_SHOTS = 1 << 17


def output_of(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


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
