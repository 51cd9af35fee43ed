#!/usr/bin/env python3
"""noise_choice.py TILEWAVE [--json FILE]: what the choice between the noisy engines predicts, against what they take.

Brickwork circuits of rotations (or of Clifford gates) and cx with a channel after every gate, over a grid of sizes, error
rates and shots: the predictions of `--dry-run`, the seconds of every engine that can run it, median of three, and whether
the one chosen is the fastest. All on one thread unless --threads says otherwise.
"""
import argparse
import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from circuits import brickwork

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
NAMES = {"a density matrix": "density", "the stabilizer engine": "stabilizer"}


def predictions(choice):
    """{engine: seconds} out of the sentence that says what was chosen."""
    out = {}
    for name, number, unit in re.findall(r"(a density matrix|\d+ trajectories|the stabilizer engine) \(([\d.]+) (\w+) predicted\)",
                                         choice):
        out[NAMES.get(name, "trajectories")] = float(number) * UNITS[unit]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilewave")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most", type=float, default=3, help="seconds: engines predicted beyond are not run")
    a = parser.parse_args()
    grid = [(n, layers, clifford, channel, p, shots)
            for n, layers in ((2, 4), (4, 8), (6, 8), (8, 8), (10, 8), (11, 8))
            for clifford, channel in ((False, "depolarizing"), (False, "amplitude_damping"), (True, "depolarizing"))
            for p, shots in ((0.0003, 1000), (0.01, 100), (0.01, 3000))]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        circuit, model = Path(folder) / "c.qasm", Path(folder) / "m.json"
        for n, layers, clifford, channel, p, shots in grid:
            circuit.write_text(brickwork(n, layers, n * 1000 + layers, clifford))
            model.write_text(json.dumps({"channels": [
                {"after": "all", "channel": channel, "gamma" if channel == "amplitude_damping" else "p": p}]}))

            def run(*words):
                done = subprocess.run([a.tilewave, "run", circuit, "--noise", model, "--shots", str(shots), "--seed", "1",
                                       "--threads", str(a.threads), "--json", *words], capture_output=True, text=True, check=True)
                return json.loads(done.stdout)

            auto = run("--dry-run")
            expected = predictions(auto["engine_choice"])
            measured = {}
            for engine, seconds in expected.items():
                if seconds > a.most:
                    continue
                taken = []
                for _ in range(3):
                    times = run("--engine", engine)["timings_s"]
                    taken.append(sum(times[key] for key in ("plan", "execute", "observe")))
                measured[engine] = statistics.median(taken)
            chosen = auto["engine"]
            if chosen not in measured:  # all of them take too long here
                continue
            loss = measured[chosen] / min(measured.values())
            rows.append({"qubits": n, "layers": layers, "clifford": clifford, "channel": channel, "p": p, "shots": shots,
                         "predicted_s": expected, "measured_s": measured, "chosen": chosen, "loss": loss})
            print(f"{n:3} qubits {layers} layers {'clifford' if clifford else 'general ':8} {channel:17} p={p:<6} {shots:5} shots: "
                  + ", ".join(f"{e} {1e3 * expected[e]:.3g} ms predicted, {1e3 * s:.3g} measured ({expected[e] / s:.2f})"
                              for e, s in measured.items()) + f"; {chosen}" + ("" if loss < 1.05 else f", {loss:.2f} x the best"),
                  flush=True)
    ratios = sorted(row["predicted_s"][e] / s for row in rows for e, s in row["measured_s"].items() if s > 2e-4)
    print(f"predicted / measured (of those above 0.2 ms): median {statistics.median(ratios):.2f}, 10% to 90%: "
          f"{ratios[len(ratios) // 10]:.2f} to {ratios[-1 - len(ratios) // 10]:.2f}; the choice took "
          f"{sum(row['measured_s'][row['chosen']] for row in rows) / sum(min(row['measured_s'].values()) for row in rows):.2f} x "
          f"the best engine's time, at worst {max(row['loss'] for row in rows):.2f} x")
    if a.json:
        a.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
