#!/usr/bin/env python3
"""Times noisy trajectories against Qiskit Aer's on the same circuits in one run, and compares what both sample.

    bench/noise.py --json docs/noise.json --markdown docs/noise.md


Circuits: layers of random single-qubit rotations and cx gates on neighbours (brickwork). Noise: depolarizing on every
qubit of a gate and on the pair after cx; or amplitude damping on every qubit after every gate. Both engines get the
same number of threads and of shots and their own default fusion; a time is planning plus execution plus sampling: Aer's own time_taken
of the experiment, Tilewave's plan, execute and observe. They take turns, the median of the rounds counts. Shots of
Aer cost the same each, Tilewave's share states, so it is timed with --more shots too. Before anything is timed, the
counts of both on a small circuit are compared by chi-square. With --cases some rows of --json are renewed.

Peers: pip install qiskit qiskit-aer.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))
from circuits import brickwork  # noqa: E402
from counts import deviation  # noqa: E402

CASES = [("depolarizing 0.1%", 0.001, 0.001, 0), ("depolarizing 0.1%, pairs 1%", 0.001, 0.01, 0),
         ("depolarizing 1%", 0.01, 0.01, 0), ("amplitude damping 0.3%", 0, 0, 0.003),
         ("amplitude damping 1%", 0, 0, 0.01)]


def tilewave_noise(single, pair, damping):
    rules = []
    if single:
        rules.append({"after": "u3", "channel": "depolarizing", "p": single})
    if pair:
        rules.append({"after": "cx", "channel": "depolarizing2", "p": pair})
    if damping:
        rules.append({"after": "all", "channel": "amplitude_damping", "gamma": damping})
    return {"channels": rules}


def aer_noise(single, pair, damping):
    from qiskit_aer.noise import NoiseModel, amplitude_damping_error, depolarizing_error
    model = NoiseModel()
    if single:
        model.add_all_qubit_quantum_error(depolarizing_error(single * 4 / 3, 1), "u3")
    if pair:
        model.add_all_qubit_quantum_error(depolarizing_error(pair * 16 / 15, 2), "cx")
    if damping:
        error = amplitude_damping_error(damping)
        model.add_all_qubit_quantum_error(error, "u3")
        model.add_all_qubit_quantum_error(error.tensor(error), "cx")
    return model


def run_tilewave(arguments, qasm, noise, shots, seed):
    with tempfile.TemporaryDirectory() as folder:
        circuit, model = Path(folder, "circuit.qasm"), Path(folder, "noise.json")
        circuit.write_text(qasm)
        model.write_text(json.dumps(noise))
        out = subprocess.run([arguments.tilewave, "run", circuit, "--noise", model, "--shots", str(shots), "--seed",
                              str(seed), "--engine", "trajectories", "--device", "cpu", "--threads",
                              str(arguments.threads), "--json"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr)
    result = json.loads(out.stdout)
    times = result["timings_s"]
    return times["plan"] + times["execute"] + times["observe"], result


def run_aer(arguments, qasm, noise, shots, seed, method="statevector"):
    from qiskit import qasm2
    from qiskit_aer import AerSimulator
    circuit = qasm2.loads(qasm, custom_instructions=qasm2.LEGACY_CUSTOM_INSTRUCTIONS)
    simulator = AerSimulator(method=method, noise_model=noise, max_parallel_threads=arguments.threads,
                             max_parallel_experiments=1)
    for attempt in range(5):  # its eigensolver fails now and then on Kraus operators
        result = simulator.run(circuit, shots=shots, seed_simulator=seed + 1000 * attempt).result()
        if result.success:
            break
    else:
        sys.exit(f"Aer: {result.status}")
    return result.results[0].time_taken, result.get_counts()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--qubits", type=int, default=20)
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument("--shots", type=int, default=6)
    parser.add_argument("--more", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--tilewave", default=str(ROOT / "build" / "release" / "tilewave"))
    parser.add_argument("--cases", nargs="*", type=int, default=range(len(CASES)), help="indices; default all")
    parser.add_argument("--json")
    parser.add_argument("--markdown", help="put the table into this document")
    arguments = parser.parse_args()

    rows = []
    for index in arguments.cases:
        name, *strengths = CASES[index]
        ours, theirs = tilewave_noise(*strengths), aer_noise(*strengths)
        small = brickwork(5, 6, 1, measured=True)
        sigmas = deviation(run_tilewave(arguments, small, ours, 20000, 1)[1]["counts"],
                           run_aer(arguments, small, theirs, 20000, 2, "density_matrix")[1])
        if abs(sigmas) > 5:
            sys.exit(f"{name}: the counts differ by {sigmas:.1f} standard deviations")
        qasm = brickwork(arguments.qubits, arguments.layers, 7, measured=True)
        times, other, last = [], [], None
        for seed in range(arguments.rounds):
            seconds, last = run_tilewave(arguments, qasm, ours, arguments.shots, seed)
            times.append(seconds)
            other.append(run_aer(arguments, qasm, theirs, arguments.shots, seed)[0])
        more_s, more = run_tilewave(arguments, qasm, ours, arguments.more, 0)
        rows.append({"noise": name, "tilewave_s": statistics.median(times), "aer_s": statistics.median(other),
                     "chi_square_sigmas": sigmas, "branches": last["plan"]["branches"], "more_s": more_s,
                     "more_branches": more["plan"]["branches"]})
        print(json.dumps(rows[-1]), flush=True)
    if arguments.json and Path(arguments.json).exists():
        old = {row["noise"]: row for row in json.loads(Path(arguments.json).read_text())["rows"]}
        old.update({row["noise"]: row for row in rows})
        rows = [old[name] for name, *_ in CASES if name in old]
    result = {"qubits": arguments.qubits, "layers": arguments.layers, "shots": arguments.shots,
              "threads": arguments.threads, "rounds": arguments.rounds,
              "more": arguments.more, "rows": rows}
    lines = [f"{arguments.qubits} qubits, {arguments.layers} layers, {arguments.threads} threads, median of "
             f"{arguments.rounds} round(s), seconds for {arguments.shots} shots:", "",
             f"| noise | Tilewave | Aer | ratio | states simulated | {arguments.more} shots, ms a shot | states |",
             "|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['noise']} | {r['tilewave_s']:.2f} | {r['aer_s']:.2f} | "
                     f"**{r['aer_s'] / r['tilewave_s']:.1f}x** | {r['branches']} | "
                     f"{1e3 * r['more_s'] / arguments.more:.1f} | {r['more_branches']} |")
    print("\n".join(lines))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")
    if arguments.markdown:
        path = Path(arguments.markdown)
        begin, end = "<!-- noise table -->\n", "<!-- end of noise table -->\n"
        head, rest = path.read_text().split(begin)
        path.write_text(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
