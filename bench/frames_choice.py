#!/usr/bin/env python3
"""frames_choice.py TILEWAVE [--device cpu] [--json FILE]: which of the two sampling engines is chosen, and what it costs.

Rotated surface codes over distances and error rates, colour codes, and long repetition codes: the shots a second of both
engines by `tilewave detect --engine frame|sparse --out_format counts`, whole commands of two sizes whose difference leaves
start-up out, the engine that `--engine auto` takes, and how far its rate is from the better one's.
"""
import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

NOISE = ["after_clifford_depolarization", "before_round_data_depolarization", "before_measure_flip_probability",
         "after_reset_flip_probability"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tilewave")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--distances", type=int, nargs="*", default=[3, 5, 11, 21, 31])
    parser.add_argument("--p", type=float, nargs="*", default=[0.0003, 0.001, 0.003, 0.01, 0.02])
    parser.add_argument("--seconds", type=float, default=1, help="of a measurement (default 1; start-up varies)")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main():
    a = parse_arguments()
    circuits = [("surface_code", "rotated_memory_z", d, d, p) for d in a.distances for p in a.p]
    circuits += [("color_code", "memory_xyz", d, d, p) for d in a.distances if 3 <= d <= 11 for p in a.p]
    circuits += [("repetition_code", "memory", 5, 300, p) for p in a.p]
    rows, worst = [], 1.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.stim"
        for code, task, distance, rounds, p in circuits:
            noise = [word for name in NOISE for word in (f"--{name}", str(p))]
            subprocess.run([a.tilewave, "gen", "--code", code, "--task", task, "--distance", str(distance), "--rounds",
                            str(rounds), *noise, "--out", path], check=True)

            def detect(engine, shots, *words):
                start = time.perf_counter()
                done = subprocess.run([a.tilewave, "detect", "--in", path, "--shots", str(shots), "--seed", "1", "--engine",
                                       engine, "--device", a.device, "--threads", str(a.threads), "--out_format", "counts",
                                       "--quiet", *words], capture_output=True, text=True, check=True)
                return time.perf_counter() - start, done.stdout

            rates = {}
            for engine in ("frame", "sparse"):
                start_s = min(detect(engine, 1)[0] for _ in range(3))
                shots = 1 << 14
                while (taken_s := min(detect(engine, shots)[0] for _ in range(2)) - start_s) < a.seconds:
                    shots = int(shots * min(16, 1.2 * a.seconds / max(taken_s, a.seconds / 32) + 1))
                rates[engine] = shots / taken_s
            chosen = detect("auto", 10**9, "--explain")[1].split("engine ")[1].split()[0]
            loss = max(rates.values()) / rates[chosen]
            worst = max(worst, loss)
            rows.append({"code": code, "distance": distance, "rounds": rounds, "p": p, "shots_per_s": rates,
                         "chosen": chosen, "loss": loss})
            print(f"{code} d={distance} rounds={rounds} p={p}: frame {rates['frame']:.4g} sparse {rates['sparse']:.4g}, "
                  f"{chosen} chosen{'' if loss < 1.1 else f', {loss:.2f} times slower than the other'}", flush=True)
    print(f"worst choice: {worst:.2f} times the better engine's time; "
          f"geometric mean {statistics.geometric_mean([r['loss'] for r in rows]):.3f}")
    if a.json:
        a.json.write_text(json.dumps({"device": a.device, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
